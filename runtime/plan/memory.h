#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/planner.h"

namespace pet::plan {

/// A block of memory that is needed from step `first` to step `last`, both included.
struct Block {
  int64_t elements = 0;
  int first = 0, last = -1;  ///< first > last: never
  int64_t offset = 0;        ///< where planBlocks() puts it
};

/// Gives each block an offset such that blocks that are needed at the same time do not overlap: the largest first, each
/// at the lowest place that is free. Returns the number of elements in all; offsets are multiples of `alignment`.
int64_t planBlocks(std::vector<Block>& blocks, int64_t alignment);

/// The steps, both included, that may run while a step does.
struct During {
  int first = 0, last = 0;
};

/// Where the buffers of a plan lie: those of intermediate values in one arena, used again as values die.
class Memory {
 public:
  /// `alignment`: of blocks in the arena, in elements. `during`: per step; none: each runs by itself.
  Memory(const Planner& planner, int64_t elementBytes, int64_t alignment, const std::vector<During>& during = {});

  int64_t arenaElements() const { return arenaElements_; }
  /// The steps that see the caller's tensors, which move.
  const std::vector<Step*>& moving() const { return moving_; }

  /// Inputs, outputs and placed constants by their index. No step writes to inputs or constants.
  struct Bases {
    char* arena;
    std::span<char*const> inputs, outputs, constants;
  };
  /// Of every buffer; null where its base is.
  const Pointers& bind(const Bases& bases);

 private:
  void planArena(int64_t alignment, const std::vector<During>& during);

  const Planner& planner_;
  int64_t elementBytes_;
  int64_t arenaElements_ = 0;
  std::vector<Block> blocks_;  ///< per buffer; used for those that have no parent and are in the arena
  std::vector<Step*> moving_;
  Pointers pointers_;
};

}  // namespace pet::plan
