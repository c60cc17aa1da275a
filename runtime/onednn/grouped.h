#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/onednn/element_program.h"

namespace pet::onednn {

/// A convolution of few channels with as many, or of each by itself (width 1), where operand and result have their
/// channels innermost:
///
///     y[n, d, h, w, c] = f(bias[c] + a[n, d, h, w, c] + Σ_itrs kernel[c, i, t, r, s]
///                              x[n, d·stride + t·dilation - before, h·stride + …, w·stride + …, e])
///     e = c / width · width + i, 0 <= i < width
///
/// There are at most kMostRows rows of taps and at least kLanes channels, which come in vectors of kLanes, called
/// groups below; where the last one is not whole, it has some of the one before, too. Tile by tile: some columns of the
/// result and some groups, row after row, with the rows of the operand that they read in a buffer that fits the
/// first-level cache, between their pads, each channel in all lanes that read it. Rows follow each other along the one
/// of the other two axes that has more taps; a row is copied once for each tap of the third.
class GroupedConvolution {
 public:
  static constexpr int64_t kMostRows = 64;
  /// Of one direction; as it is, of none.
  struct Axis {
    int64_t extent = 1;     ///< of the operand
    int64_t positions = 1;  ///< of the result
    int64_t taps = 1, stride = 1, dilation = 1, before = 0;

    /// How many positions of the operand lie between the first and the last that so many neighbours read, with these.
    int64_t reach(int64_t neighbours) const { return (neighbours - 1) * stride + (taps - 1) * dilation + 1; }
  };
  using Axes = std::array<Axis, 3>;  ///< through, down, along
  /// What happens to the sums: they are kept between two bounds, then functions, in this order.
  struct Behind {
    plan::Bounds bounds;
    std::vector<ElementOp> functions;
  };
  /// What `width` may be.
  static bool takes(int64_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }
  /// `kernel`: [channels, width, taps through, down, along]; each channel c is scale[c] times what it is, or, where
  /// `scale` is empty, that; `bias` of each channel.
  GroupedConvolution(int64_t images,
                     int64_t width,
                     const Axes& axes,
                     const std::vector<float>& kernel,
                     const std::vector<float>& scale,
                     const std::vector<float>& bias,
                     Behind behind);

  /// Floats that run() needs for what is between, for each thread.
  int64_t scratch() const;
  /// Without an addend a where that is null.
  void run(const float* x, const float* addend, float* y, float* scratch, int threads) const;

 private:
  struct Tile {
    int64_t column, columns, group, groups;
  };
  /// An axis across rows: how far its next position is in the operand and in the result, and its next tap in rows of
  /// taps.
  struct Across : Axis {
    int64_t xStep, yStep, tapStep;
  };
  Tile tile(int64_t number) const;
  int64_t tiles() const;
  int64_t rows() const;
  int64_t firstChannel(int64_t group) const;
  template <class Body>
  void forWholeGroups(const Tile& tile, const Body& body) const;
  void takeRow(const Tile& tile, const float* x, float* to, int64_t groupStep) const;
  void putRow(const Tile& tile, const float* from, float* y) const;
  void runTile(const Tile& tile, const float* x, const float* addend, float* y, float* scratch) const;

  int64_t images_, channels_, width_, groups_;
  Axis along_;
  Across outer_, inner_;             ///< rows follow each other along the inner one
  int64_t xImage_ = 0, yImage_ = 0;  ///< elements
  std::vector<float> kernel_;        ///< [groups, taps, width, lanes]
  std::vector<float> bias_;          ///< [groups, lanes]
  Behind behind_;
  int64_t tileColumns_, tileGroups_;  ///< at most
};

}  // namespace pet::onednn
