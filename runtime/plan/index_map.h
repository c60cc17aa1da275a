#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/access.h"

namespace pet::plan {

/// A loop over positions of several tensors: by what each tensor's offset advances at each of them; kFill stands for a
/// tensor's fill.
struct MapAxis {
  std::vector<std::vector<int64_t>> tables;  ///< per tensor

  int64_t extent() const { return static_cast<int64_t>(tables[0].size()); }
  /// All advance by one step each.
  bool isLinear() const;
  bool isLinear(size_t tensor) const;
  /// Of a tensor that advances by one.
  int64_t step(size_t tensor) const { return tables[tensor][1] - tables[tensor][0]; }
};

/// The loops over all positions of tensors of equal extents, the first of which has no fill; offsets are relative to
/// the accesses'. Dimensions are cut where blocks repeat, those of extent 1 are gone, neighbours that go on in one
/// another are one; the one with the longest step in the first tensor comes first.
std::vector<MapAxis> mapAxes(const std::vector<const Access*>& tensors);

}  // namespace pet::plan
