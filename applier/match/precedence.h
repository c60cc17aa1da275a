#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "applier/view/view.h"

namespace pet {

/// What must be computed before what in a model: along the values of a view, and along the paths that leave it, through
/// nodes that pet does not know.
class Precedence {
 public:
  /// `graph` and `view` belong together.
  Precedence(const Graph& graph, const View& view);

  /// Each group of the view's nodes can be computed as one step, all of them in one order. A path that leaves a group
  /// and comes back forbids it; so do two groups of which each waits for a part of the other.
  bool allows(const std::vector<std::vector<int>>& groups) const;

 private:
  friend class Steps;
  bool comesBack(const std::vector<int>& group) const;
  std::vector<int> order(const std::vector<std::vector<int>>& groups) const;

  /// By node: those that wait for it. First the view's nodes, then the graph's that are not part of the view.
  std::vector<std::vector<int>> later_;
  std::vector<int> rank_;  ///< by node: later than all that it waits for
};

/// Groups of nodes that become one step each, one after the other: the same as allows() of all of them, at a cost that
/// goes with how far the groups reach and not with the size of the model. No node is in two groups.
class Steps {
 public:
  /// The precedence outlives it.
  explicit Steps(const Precedence& precedence) : precedence_(precedence) {}
  /// False, and nothing changes, if the group cannot be one step besides those before it.
  bool add(const std::vector<int>& group);

 private:
  bool comesBack(const std::vector<int>& group, int last) const;

  const Precedence& precedence_;
  std::vector<std::vector<int>> groups_;
  std::unordered_map<int, size_t> groupOf_;  ///< by node
  std::map<int, int> reach_;                 ///< ranks, from and to, that groups reach over; what overlaps is joined
};

}  // namespace pet
