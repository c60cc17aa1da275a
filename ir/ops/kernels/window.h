#pragma once

#include <algorithm>

#include "ir/ops/op.h"

namespace pet::kernels {

/// The spatial part of Conv, pools and the like: output position o reads, through tap r, the input position
/// o · stride + r · dilation - pad of each dimension, where that exists.
struct Window {
  Extents in, out, kernel, strides, dilations, pads;  ///< pads: those at the beginning

  /// From the attributes strides, dilations and pads of a node; the extents are those from dimension 2 on.
  static Window of(const ConcreteNode& node, const Extents& x, const Extents& y, Extents kernel) {
    return {Extents(x.begin() + 2, x.end()),
            Extents(y.begin() + 2, y.end()),
            std::move(kernel),
            node.list("strides"),
            node.list("dilations"),
            node.list("pads")};
  }

  int64_t taps() const { return elementCount(kernel); }
  int64_t inputs() const { return elementCount(in); }
  int64_t outputs() const { return elementCount(out); }

  /// Calls run(o, i, count) for stretches of the last dimension: the row-major output positions o, o + 1, … read,
  /// through `tap`, the input positions i, i + strides.back(), …. Only outputs in [begin, end); those in no stretch
  /// read outside.
  template <class F>
  void eachRun(int64_t tap, int64_t begin, int64_t end, F&& run) const {
    size_t last = out.size() - 1;
    Extents shift(out.size());
    for (size_t d = out.size(); d-- > 0; tap /= kernel[d])
      shift[d] = tap % kernel[d] * dilations[d] - pads[d];
    int64_t width = out[last], stride = strides[last];
    // 0 <= w · stride + shift < in
    int64_t first = ceilDivide(std::max<int64_t>(0, -shift[last]), stride);
    int64_t stop = std::clamp<int64_t>(ceilDivide(std::max<int64_t>(0, in[last] - shift[last]), stride), 0, width);
    for (int64_t o = begin; o < end;) {
      int64_t row = o / width, rowStart = row * width, rowEnd = std::min(end, rowStart + width);
      int64_t from = std::max(o - rowStart, first), to = std::min(rowEnd - rowStart, stop);
      if (from < to) {
        if (int64_t source = inputRow(row, shift); source >= 0) {
          run(rowStart + from, source * in[last] + from * stride + shift[last], to - from);
        }
      }
      o = rowEnd;
    }
  }

 private:
  static int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

  /// The row-major number of the input row that an output row reads, or -1.
  int64_t inputRow(int64_t row, const Extents& shift) const {
    int64_t source = 0, weight = 1;
    for (size_t d = out.size() - 1; d-- > 0; row /= out[d]) {
      int64_t i = row % out[d] * strides[d] + shift[d];
      if (i < 0 || i >= in[d]) return -1;
      source += i * weight;
      weight *= in[d];
    }
    return source;
  }
};

}  // namespace pet::kernels
