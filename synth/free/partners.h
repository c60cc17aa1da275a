#pragma once

#include <unordered_map>

#include "synth/free/classes.h"

namespace pet::freemode {

/// Which classes make graphs of one operator more with a class: all operators of both together are as many as the
/// table's largest graphs have.
class PartnerIndex {
 public:
  explicit PartnerIndex(const ClassTable& table);

  /// The other operands of operators with two, each pair {a, b} at one of the two alone: b is smaller, or as large and
  /// not behind a. Sorted. Only pairs whose types some operator takes.
  void partnersOf(ClassId a, std::vector<ClassId>& partners) const;

 private:
  void addContained(ClassId a, std::vector<ClassId>& partners) const;
  void addOverlapping(ClassId a, size_t size, std::vector<ClassId>& partners) const;
  bool fits(ClassId a, ClassId b) const { return fits_[t_.classes[a].type * t_.types.size() + t_.classes[b].type]; }

  const ClassTable& t_;
  std::vector<bool> fits_;                      ///< by types: some operator takes the two, in some order
  std::unordered_map<ClassId, ClassId> twins_;  ///< by node: the other class that is computed there, for a Split
  /// By size and node: the classes of that size of which a member contains the node. Sizes that are not needed are
  /// empty.
  std::vector<std::vector<std::vector<ClassId>>> containing_;
};

}  // namespace pet::freemode
