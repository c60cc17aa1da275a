#pragma once

#include <span>

#include "synth/free/tensor.h"

namespace pet::freemode {

/// An operator of the vocabulary with one of its outputs: what makes one value.
struct Step {
  Operator op;
  int output = 0;
  int operands = 1;
  bool commutative = false;
};
/// In the vocabulary's order; an operator with two outputs is two steps, one behind the other.
std::vector<Step> stepsOf(const Vocabulary& vocabulary);

/// The type of what a step makes; nullopt where it does not take such operands. Of a Split: where the most recent
/// Concat along its axis joined, if one did. Element-wise operators keep what both operands, or one of them, was joined
/// from.
std::optional<TensorType> resultType(const Step& step, std::span<const TensorType* const> operands, const Joins& joins);
/// The join that a Concat makes.
Joins::Join joinOf(const Step& step, const TensorType& left, const TensorType& right);

}  // namespace pet::freemode
