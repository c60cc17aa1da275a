// A product with all taps at once, and a sum of its columns: transposed convolutions, convolutions into few channels.

#include "runtime/onednn/lower_product.h"

#include <algorithm>

#include "runtime/onednn/sum_kernel.h"

namespace pet::onednn {
namespace {

using dnnl::memory;
constexpr auto kMostTaps = static_cast<int64_t>(SumKernel::kMostAddends);

/// The kernel as a matrix: a row per channel in, a column per (tap, channel out).
Tensor<float> matrixOf(const Window& w, const Tensor<float>& kernel, const std::vector<float>& scale) {
  int64_t taps = elementCount(w.kernel), in = w.inner, out = w.outer;
  Tensor<float> matrix({in, taps * out});
  for (int64_t c = 0; c < in; ++c) {
    for (int64_t f = 0; f < out; ++f) {
      for (int64_t k = 0; k < taps; ++k) {
        int64_t at = w.transposed ? (c * out + f) * taps + k : (f * in + c) * taps + k;
        float by = scale.empty() ? 1 : scale[static_cast<size_t>(f)];
        matrix.data[static_cast<size_t>((c * taps + k) * out + f)] = kernel.data[static_cast<size_t>(at)] * by;
      }
    }
  }
  return matrix;
}

/// Of few channels, a row per (tap, channel), so that sums run along rows of pixels; else a column for each, and sums
/// run along channels.
struct Columns {
  Access t, y;
  memory::desc left, right, product;
  Tensor<float> matrix;
  bool weightsLeft;
};

Columns columnsOf(const Window& w, const Tensor<float>& kernel, const std::vector<float>& scale) {
  Extents x = w.x.access.extents(), t = x;
  int64_t rows = elementCount(x) / x[1];
  Tensor<float> matrix = matrixOf(w, kernel, scale);
  int64_t columns = t[1] = matrix.extents[1];
  constexpr auto ab = memory::format_tag::ab, ba = memory::format_tag::ba;
  if (w.outer >= 16) {
    return {channelsLast(t),
            channelsLast(w.y),
            {{rows, x[1]}, kF32, ab},
            {matrix.extents, kF32, ab},
            {{rows, columns}, kF32, ab},
            std::move(matrix),
            false};
  }
  std::vector<size_t> order{1, 0};
  for (size_t d = 2; d < t.size(); ++d)
    order.push_back(d);
  Tensor<float> turned({columns, x[1]});
  for (int64_t c = 0; c < x[1]; ++c) {
    for (int64_t k = 0; k < columns; ++k)
      turned.data[static_cast<size_t>(k * x[1] + c)] = matrix.data[static_cast<size_t>(c * columns + k)];
  }
  return {inOrder(t, order),
          rowMajor(w.y),
          {turned.extents, kF32, ab},
          {{x[1], rows}, kF32, ba},
          {{columns, rows}, kF32, ab},
          std::move(turned),
          true};
}

}  // namespace

bool lowerAsProduct(Planner& p, int n, const Window& w, const Epilogue& e) {
  if (w.group != 1 || e.sum() || elementCount(w.kernel) > kMostTaps) return false;
  Columns c = columnsOf(w, *p.constant(p.node(n).operands[1]), e.scale);
  memory::desc right = c.weightsLeft ? c.right : anyForm(c.matrix.extents);
  dnnl::matmul::primitive_desc how(dnnl::matmul::desc(c.left, right, c.product), attributesOf(Epilogue{}, nullptr),
                                   p.engine());
  if (!isOptimised(how.impl_info_str())) return false;
  Place x = p.windowOperand(p.node(n).operands[0], w.x, channelsLast(w.x.access.extents()));
  Place columns = p.create(c.t), y = p.create(c.y);
  auto step = p.primitive(dnnl::matmul(how), how.scratchpad_desc());
  step->add(c.weightsLeft ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, c.weightsLeft ? c.right : c.left, p.engine(), x.buffer,
            x.access.offset);
  if (c.weightsLeft) {
    step->add(DNNL_ARG_SRC, p.prepared(c.matrix, c.left, c.left));
  } else {
    step->add(DNNL_ARG_WEIGHTS, p.prepared(c.matrix, c.right, how.weights_desc()));
  }
  step->add(DNNL_ARG_DST, c.product, p.engine(), columns.buffer, 0);
  p.emit(std::move(step));
  std::vector<Place> addends;
  for (Access& a : addendsOf(w, columns.access, true))
    addends.push_back({columns.buffer, std::move(a)});
  const bool rectify = isRelu(e, 0);
  p.emitSum(y, addends, e.shift, rectify);
  for (size_t i = rectify ? 1 : 0; i < e.post.size(); ++i)
    emitFunction(p, std::get<Activation>(e.post[i]), y, y);
  y.access = w.resultForm(std::move(y.access));
  p.define(e.result, std::move(y));
  p.note(n, std::string(how.impl_info_str()) + " and a sum over taps");
  return true;
}

}  // namespace pet::onednn
