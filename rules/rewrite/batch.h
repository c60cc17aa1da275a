#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace pet::rewrite {

/// A program that computes the same function for each position of a batch, at another rank: tensors that had the extent
/// `batch` in front have `dims` there, and `batch` is their product, in this order. Reshaping what comes in and what
/// goes out makes one program of the other.
struct Batched {
  Program program;
  std::string batch;              ///< a symbol of the original program that is not one of this
  std::vector<std::string> dims;  ///< symbols of this program that are none of the original
};

/// What stands for a batch: nothing, or several dimensions.
struct BatchDimensions {
  std::string symbol;             ///< `batch`
  std::vector<std::string> dims;  ///< what stands for it
  Shape extents = {};             ///< and the extents of these
};

/// The program with `count` dimensions in place of the one in front (count 1: the same program with another symbol);
/// with 0, the batch is 1. Nullopt where that one is not a batch: it is another extent as well, or an operator looks
/// across it, or is not known not to.
std::optional<Batched> withBatchDimensions(const Program& program, size_t count);

}  // namespace pet::rewrite
