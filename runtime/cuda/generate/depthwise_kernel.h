#pragma once

#include <array>
#include <string>

#include "runtime/cuda/generate/kernel_source.h"

namespace pet::cuda {

inline int64_t ceilDiv(int64_t number, int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

/// A convolution of each channel by itself, of up to three dimensions d:
///
///     y[n, c, v] = value(bias[c] + added[n, c, v] + Σ_t w[c, t] · x[n, c / perChannel, v_d·stride_d + t_d·dilation_d −
///     before_d])
struct DepthwiseKernel {
  /// How far neighbours along a dimension lie apart, in elements.
  struct Steps {
    int64_t x = 0, w = 0, y = 0, added = 0;
  };
  struct Axis {
    int64_t extent = 1, positions = 1;  ///< of x, and of y
    int64_t taps = 1, stride = 1, dilation = 1, before = 0;
    Steps steps;
    int64_t tile = 1;  ///< positions that a block computes

    /// What so many neighbours read, from the first element to the last.
    int64_t reach(int64_t neighbours) const { return (neighbours - 1) * stride + (taps - 1) * dilation + 1; }
  };
  std::array<Axis, 3> axes;  ///< the last one is the innermost; one that is not there has a single position
  int64_t images = 1, channels = 1, perChannel = 1;  ///< results for each channel of x
  Steps imageSteps, channelSteps;
  bool channelsInner = false;  ///< neighbours in memory are channels, else positions
  int64_t channelTile = 1;     ///< channels that a block computes
  size_t runAxis = 1;
  int64_t run = 1;  ///< neighbours along that axis that a thread computes; divides its tile

  bool bias = false, added = false;
  std::string value = "r";  ///< of the sum r

  int64_t threads() const;  ///< of a block
  int64_t sharedBytes() const;
};

/// A block reads what its tile of results needs into shared memory, and all taps of its channels. A thread computes
/// neighbours along one axis: an element of x that it reads is used for all of them. Pointers: y, x, w, then bias and
/// added where they are.
KernelSource generate(const DepthwiseKernel& kernel);

}  // namespace pet::cuda
