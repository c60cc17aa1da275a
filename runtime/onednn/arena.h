#pragma once

#include <cstdint>
#include <vector>

namespace pet::onednn {

/// A block of memory that is needed from step `first` to step `last`, both included.
struct Block {
  int64_t floats = 0;
  int first = 0, last = -1;  ///< first > last: never
  int64_t offset = 0;        ///< where planBlocks() puts it
};

/// Gives each block an offset such that blocks that are needed at the same time do not overlap: the largest first, each
/// at the lowest place that is free. Returns the number of floats in all; offsets are multiples of a cache line.
int64_t planBlocks(std::vector<Block>& blocks);

}  // namespace pet::onednn
