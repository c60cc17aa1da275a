#pragma once

#include <optional>

#include "runtime/cuda/planner.h"
#include "runtime/plan/window.h"

namespace pet::cuda {

/// A transposed convolution as one that is not. With a stride of s, every s-th result along a dimension reads the same
/// taps: the results of each of these phases are channels of the convolution, and lie between each other.
struct ConvPhases {
  Window conv;
  Tensor<float> weights;          ///< per result's channel, operand's channel of a group, tap
  std::vector<int64_t> channels;  ///< of which channel of the result each of the convolution's is a part
  std::vector<int64_t> first;     ///< per channel of the result: its part in the first phase
  std::vector<std::vector<int64_t>> from, where;  ///< per dimension and result: its phase's first channel; the position

  /// The result, in the form that calls have, in what the convolution leaves in this one.
  Access resultIn(const Access& whole) const;
};

/// `weights`: of the transposed convolution, row-major. Nothing: it is dilated.
std::optional<ConvPhases> phasesOf(const Window& transposed, const Tensor<float>& weights);

}  // namespace pet::cuda
