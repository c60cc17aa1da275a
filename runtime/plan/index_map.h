#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/access.h"

namespace pet::plan {

/// By what a tensor's offset advances at each position of a loop, from 0 on; kFill stands for the tensor's fill. Where
/// that is by one step each, as along most loops, nothing is kept for the positions.
class AxisTable {
 public:
  explicit AxisTable(std::vector<int64_t> entries);
  AxisTable(size_t extent, int64_t step) : extent_(extent), step_(step) {}

  size_t size() const { return extent_; }
  int64_t operator[](size_t i) const { return entries_.empty() ? static_cast<int64_t>(i) * step_ : entries_[i]; }
  /// One step each, of more than one position.
  bool isLinear() const { return entries_.empty(); }
  std::vector<int64_t> entries() const;

 private:
  size_t extent_;
  int64_t step_ = 0;
  std::vector<int64_t> entries_;  ///< empty: all are multiples of the step
};

/// A loop over positions of several tensors.
struct MapAxis {
  std::vector<AxisTable> tables;  ///< per tensor

  int64_t extent() const { return static_cast<int64_t>(tables[0].size()); }
  /// All advance by one step each.
  bool isLinear() const;
  bool isLinear(size_t tensor) const { return tables[tensor].isLinear(); }
  /// Of a tensor that advances by one.
  int64_t step(size_t tensor) const { return tables[tensor][1] - tables[tensor][0]; }
};

/// The loops over all positions of tensors of equal extents, the first of which has no fill; offsets are relative to
/// the accesses'. Dimensions are cut where blocks repeat, those of extent 1 are gone, neighbours that go on in one
/// another are one; the one with the longest step in the first tensor comes first.
std::vector<MapAxis> mapAxes(const std::vector<const Access*>& tensors);

}  // namespace pet::plan
