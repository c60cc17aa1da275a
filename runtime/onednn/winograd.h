#pragma once

#include <cstdint>
#include <vector>

#include "ir/tensor.h"
#include "runtime/plan/epilogue.h"

namespace pet::onednn {

/// Convolutions of 3 x 3 taps by Winograd's F(4 x 4, 3 x 3) (Lavin, Gray: Fast Algorithms for Convolutional Neural
/// Networks, 2016): 36 products of matrices in the place of 9 with four times as many rows.
///
///     y(t) = A^T ((Σ_c (G g_fc G^T) ⊙ (B^T x_c(t) B)) A    for each tile t of 4 x 4 positions
///
/// Operand and result have their channels innermost; a group's counts of both are multiples of kLanes. A kernel of
/// three dimensions has `taps` along the first one: products with as many planes of the operand are summed.
struct WinogradConvolution {
  static constexpr int64_t kTile = 4, kPatch = 6, kProducts = kPatch * kPatch;

  int64_t images = 1, planes = 1, height = 0, width = 0, inner = 0;  ///< of the operand
  int64_t layers = 1, rows = 0, columns = 0, outer = 0;              ///< of the result
  int64_t groups = 1;                                                ///< of channels, as ONNX has them
  int64_t taps = 1, front = 0;                                       ///< along planes, and pads; fewer than taps
  int64_t top = 0, left = 0;                                         ///< pads
  int64_t dilation = 1;     ///< in both directions; a tile's positions are as far apart
  int64_t block = 0;        ///< tiles that are done together
  std::vector<float> bias;  ///< of `outer` numbers
  bool adds = false;        ///< to what stands in the result's place
  plan::Bounds bounds;      ///< of the result

  /// Of one layer of all images.
  int64_t tiles() const { return images * tilesAlong(rows) * tilesAlong(columns); }

  /// Of an operand's channel and a result's that are multiplied, with each tap.
  int64_t pairs() const { return inner / groups * outer * taps; }

  /// [36, groups, inner / groups, outer / groups] of one tap of a kernel [outer, inner / groups, taps, 3, 3], of which
  /// each channel f is scale[f] times what it is.
  Tensor<float> kernel(const std::vector<float>& numbers, int64_t tap, const std::vector<float>& scale) const;
  /// v[k, t, c], [36, block, inner], of one plane of a block of tiles from `first` on: B^T x B.
  void takeApart(const float* x, int64_t first, int64_t plane, float* v, int threads) const;
  /// One layer from m[k, t, f] = Σ_tap Σ_c v[k, t, c] kernel[k, c, f]: A^T m A and the rest.
  void putTogether(const float* m, int64_t first, int64_t layer, float* y, int threads) const;

 private:
  /// Of all phases, each with as many as the first.
  int64_t tilesAlong(int64_t extent) const {
    const int64_t apart = kTile * dilation;
    return (extent + apart - 1) / apart * dilation;
  }
  /// The first position of tile `t` along one direction.
  int64_t start(int64_t t) const { return t / dilation * dilation * kTile + t % dilation; }
  /// A tile's image, and the row and the column of its first position.
  struct Origin {
    int64_t image, row, column;
  };
  Origin origin(int64_t tile) const;
};

}  // namespace pet::onednn
