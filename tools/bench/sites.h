#pragma once

#include <string>
#include <utility>
#include <vector>

#include "applier/measure/changes.h"
#include "applier/measure/extract.h"

namespace pet::bench {

/// The first names, and how many more there are.
std::string brief(const std::vector<std::string>& names);

/// The places where two models differ, cut out of both so that they can be timed.
class Sites {
 public:
  Sites(const Model& before, const Model& after);

  const std::vector<Change>& changes() const { return changes_.changes; }
  /// What people call it: where rules were applied, or else the old nodes. "conv1, conv2, 3 more".
  std::string nameOf(const Change& change) const;
  /// The names of the old nodes.
  std::vector<std::string> nodesOf(const Change& change) const;
  /// Whether nodes next to it stayed as they were.
  bool hasContext(const Change& change) const { return !neighbours(change).empty(); }
  /// The change in both models, with equal inputs and outputs; with those of its neighbours that stayed, or alone.
  /// kUnsupported: extents that are not known.
  Expected<std::pair<Model, Model>> cut(const Change& change, bool inContext) const;

 private:
  /// Old positions.
  std::vector<int> neighbours(const Change& change) const;

  const Model &before_, &after_;
  ValueTypes types_;  ///< of both
  Changes changes_;
};

}  // namespace pet::bench
