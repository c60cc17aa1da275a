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
///
/// or a transposed one, which reads x at (v_d + before_d − t_d·dilation_d) / stride_d, where that is whole.
struct DepthwiseKernel {
  /// How far neighbours along a dimension lie apart, in elements.
  struct Steps {
    int64_t x = 0, w = 0, y = 0, added = 0;
  };
  struct Axis {
    int64_t extent = 1, positions = 1;  ///< of x, and of y
    int64_t taps = 1, stride = 1, dilation = 1, before = 0;
    Steps steps;
    bool transposed = false;
    int64_t tile = 1;  ///< positions that a block computes; a multiple of period()

    /// After so many positions the same taps read the next elements.
    int64_t period() const { return transposed ? stride : 1; }
    /// Positions in front of y's first one: tiles begin where the first tap reads.
    int64_t lead() const { return transposed ? before % stride : 0; }
    int64_t tiles() const { return ceilDiv(positions + lead(), tile); }
    /// How many elements further the same taps of a position read that is so many, whole periods, further.
    int64_t ahead(int64_t neighbours) const { return transposed ? neighbours / stride : neighbours * stride; }
    /// Transposed: how many elements further back the last one of so many taps reads, at most.
    int64_t back(int64_t count) const { return (count - 1) * dilation / stride; }
    /// Of the first element that the first tile reads, outside x, how far it is from x's first one.
    int64_t outside() const { return transposed ? back(taps) - before / stride : before; }
    /// What so many neighbours read by so many taps, from the first element to the last.
    int64_t reach(int64_t neighbours, int64_t count) const {
      return transposed ? neighbours / stride + back(count) : (neighbours - 1) * stride + (count - 1) * dilation + 1;
    }
  };
  std::array<Axis, 3> axes;  ///< the last one is the innermost; one that is not there has a single position
  int64_t images = 1, channels = 1, perChannel = 1;  ///< results for each channel of x
  Steps imageSteps, channelSteps;
  int64_t groupStep = 0;       ///< from the taps of x's channel to those of the next one
  bool channelsInner = false;  ///< neighbours in memory are channels, else positions
  int64_t channelTile = 1;     ///< channels that a block computes
  size_t runAxis = 1;
  int64_t run = 1;  ///< neighbours along that axis that a thread computes, whole periods; divides its tile

  bool bias = false, added = false;
  std::string value = "r";  ///< of the sum r

  int64_t threads() const;  ///< of a block
  int64_t sharedBytes() const;
};

/// A block reads what its tile of results needs into shared memory, and all taps of its channels. A thread computes
/// neighbours along one axis: an element of x that it reads is used for all of them. Transposed: each of these by the
/// taps that reach it, which are known where the kernel is written; along other axes they follow from the position in
/// its period. Pointers: y, x, w, then bias and added where they are.
KernelSource generate(const DepthwiseKernel& kernel);

}  // namespace pet::cuda
