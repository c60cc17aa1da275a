#pragma once

#include <cstdint>
#include <vector>

#include "runtime/onednn/element_program.h"

namespace pet::onednn {

/// A convolution of few channels with as many, or of each by itself (width 1), where operand and result have their
/// channels innermost:
///
///     y[n, h, w, c] = f(bias[c] + Σ_irs kernel[c, i, r, s] x[n, h·stride + r·dilation - before, w·stride + …, d])
///     d = c / width · width + i, 0 <= i < width
///
/// There are at most kMostTaps taps down and at least kLanes channels, which come in vectors of kLanes, called groups
/// below; where the last one is not whole, it has some of the one before, too. Tile by tile: some columns of the result
/// and some groups, row after row, with the rows of the operand that they read in a buffer that fits the first-level
/// cache, between their pads, each channel in all lanes that read it.
class GroupedConvolution {
 public:
  static constexpr int64_t kMostTaps = 64;
  /// Of one direction.
  struct Axis {
    int64_t extent = 0;     ///< of the operand
    int64_t positions = 0;  ///< of the result
    int64_t taps = 1, stride = 1, dilation = 1, before = 0;

    /// How many positions of the operand lie between the first and the last that so many neighbours read, with these.
    int64_t reach(int64_t neighbours) const { return (neighbours - 1) * stride + (taps - 1) * dilation + 1; }
  };
  /// What happens to the sums: they are kept between two bounds, then functions, in this order.
  struct Behind {
    float least = 0, most = 0;
    std::vector<ElementOp> functions;
  };
  /// What `width` may be.
  static bool takes(int64_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }
  /// `kernel`: [channels, width, taps down, taps along]; each channel c is scale[c] times what it is, or, where `scale`
  /// is empty, that; `bias` of each channel.
  GroupedConvolution(int64_t images,
                     int64_t width,
                     const Axis& down,
                     const Axis& along,
                     const std::vector<float>& kernel,
                     const std::vector<float>& scale,
                     const std::vector<float>& bias,
                     Behind behind);

  /// Floats that run() needs for what is between, for each thread.
  int64_t scratch() const;
  void run(const float* x, float* y, float* scratch, int threads) const;

 private:
  struct Tile {
    int64_t column, columns, group, groups;
  };
  Tile tile(int64_t number) const;
  int64_t tiles() const;
  int64_t firstChannel(int64_t group) const;
  template <class Body>
  void forWholeGroups(const Tile& tile, const Body& body) const;
  void takeRow(const Tile& tile, const float* x, float* to, int64_t groupStep) const;
  void putRow(const Tile& tile, const float* from, float* y) const;
  void runTile(const Tile& tile, const float* x, float* y, float* scratch) const;

  int64_t images_, channels_, width_, groups_;
  Axis down_, along_;
  std::vector<float> kernel_;  ///< [groups, taps, width, lanes]
  std::vector<float> bias_;    ///< [groups, lanes]
  Behind behind_;
  int64_t tileColumns_, tileGroups_;  ///< at most
};

}  // namespace pet::onednn
