// A product with all taps at once, and a sum of its columns: transposed convolutions, convolutions into few channels.
// And a product of windows.

#include "runtime/onednn/lower_product.h"

#include <algorithm>
#include <array>

#include "ir/wide_loops.h"
#include "runtime/onednn/index_copy.h"
#include "runtime/onednn/sum_kernel.h"

namespace pet::onednn {
namespace {

using dnnl::memory;
constexpr auto kMostAddends = static_cast<int64_t>(SumKernel::kMostAddends);

/// A kernel's axes: channels in and out, and taps as one.
struct KernelAxis {
  int64_t extent, step;
};
struct KernelAxes {
  KernelAxis in, out, taps;
};

KernelAxes axesOf(const Extents& kernel, bool transposed) {
  const int64_t first = kernel[0], second = kernel[1], taps = elementCount(kernel) / first / second;
  const KernelAxis outer{first, second * taps}, inner{second, taps};
  return {transposed ? outer : inner, transposed ? inner : outer, {taps, 1}};
}

/// Numbers by factors, of which there is a whole number of times as many.
PET_WIDE_LOOPS void multiply(std::vector<float>& numbers, const std::vector<float>& factors) {
  for (auto row = numbers.begin(); row != numbers.end(); row += std::ssize(factors)) {
    for (size_t i = 0; i < factors.size(); ++i)
      row[static_cast<std::ptrdiff_t>(i)] *= factors[i];
  }
}

/// A kernel in another order of its axes, as a matrix of so many rows; order[out], its channels out, by the epilogue's
/// scale.
Tensor<float> matrixOf(const StoredFloats& kernel,
                       const std::array<KernelAxis, 3>& order,
                       int64_t rows,
                       size_t out,
                       const std::vector<float>& scale) {
  Tensor<float> matrix({rows, elementCount(kernel.extents) / rows});
  const Extents extents{order[0].extent, order[1].extent, order[2].extent};
  const Access from = strided(extents, {order[0].step, order[1].step, order[2].step});
  IndexCopy(from, rowMajor(extents)).run(kernel.floats(), matrix.data.data(), 1);
  if (scale.empty()) return matrix;
  int64_t inner = 1;  // elements of a channel that lie beside each other
  for (size_t d = out + 1; d < extents.size(); ++d)
    inner *= extents[d];
  std::vector<float> factors;  // of neighbouring elements, which repeat
  for (const float by : scale)
    factors.insert(factors.end(), static_cast<size_t>(inner), by);
  multiply(matrix.data, factors);
  return matrix;
}

/// Of few channels, a row per (tap, channel), so that sums run along rows of pixels; else a column for each, and sums
/// run along channels.
struct Columns {
  Access t, y;
  memory::desc left, right, product;
  Planner::Change matrix;  ///< of the kernel
  bool weightsLeft;
};

Columns columnsOf(const Window& w, const Extents& kernel, const std::vector<float>& scale) {
  Extents x = w.x.access.extents(), t = x;
  const KernelAxes k = axesOf(kernel, w.transposed);
  const int64_t rows = elementCount(x) / x[1], columns = t[1] = k.taps.extent * k.out.extent;
  constexpr auto ab = memory::format_tag::ab, ba = memory::format_tag::ba;
  if (w.outer >= 16) {
    return {channelsLast(t),
            channelsLast(w.y),
            {{rows, x[1]}, kF32, ab},
            {{x[1], columns}, kF32, ab},
            {{rows, columns}, kF32, ab},
            [=, count = x[1]](const StoredFloats& of) {
              return matrixOf(of, {k.in, k.taps, k.out}, count, 2, scale);
            },
            false};
  }
  std::vector<size_t> order{1, 0};
  for (size_t d = 2; d < t.size(); ++d)
    order.push_back(d);
  return {inOrder(t, order),
          rowMajor(w.y),
          {{columns, x[1]}, kF32, ab},
          {{x[1], rows}, kF32, ba},
          {{columns, rows}, kF32, ab},
          [=](const StoredFloats& of) {
            return matrixOf(of, {k.taps, k.out, k.in}, columns, 1, scale);
          },
          true};
}

}  // namespace

bool lowerAsProduct(Planner& p, int n, const Window& w, const Epilogue& e) {
  if (w.group != 1 || elementCount(w.kernel) + (e.sum() ? 1 : 0) > kMostAddends || !behindOf(e)) return false;
  const Value kernel = p.node(n).operands[1];
  const Columns c = columnsOf(w, p.extents(kernel), e.scale);
  const memory::desc right = c.weightsLeft || p.options().once ? c.right : anyForm(c.right.dims());
  const dnnl::matmul::primitive_desc how(dnnl::matmul::desc(c.left, right, c.product),
                                         attributesOf(Epilogue{}, nullptr), p.engine());
  if (!isOptimised(how.impl_info_str())) return false;
  Place x = p.windowOperand(p.node(n).operands[0], w.x, channelsLast(w.x.access.extents()));
  Place columns = p.create(c.t), y = p.create(c.y);
  auto step = p.primitive(dnnl::matmul(how), how.scratchpad_desc());
  step->add(c.weightsLeft ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, c.weightsLeft ? c.right : c.left, p.engine(), x.buffer,
            x.access.offset);
  if (c.weightsLeft) {
    p.addConstant(*step, DNNL_ARG_SRC, kernel, c.matrix, c.left, c.left);
  } else {
    p.addConstant(*step, DNNL_ARG_WEIGHTS, kernel, c.matrix, c.right, how.weights_desc());
  }
  step->add(DNNL_ARG_DST, c.product, p.engine(), columns.buffer, 0);
  p.emit(std::move(step));
  std::vector<Place> addends;
  for (Access& a : addendsOf(w, columns.access, true))
    addends.push_back({columns.buffer, w.resultForm(std::move(a))});
  y.access = w.resultForm(std::move(y.access));
  Epilogue behind = e;
  behind.scale.clear();  // in the kernel
  if (!p.emitSum(y, addends, behind)) return false;
  p.define(e.result, std::move(y));
  p.note(n, std::string(how.impl_info_str()) + " and a sum over taps");
  return true;
}

namespace {

/// What each position of the result reads: [images, rows, columns, taps down, taps along, channels], row-major.
Place windows(Planner& p, int n, const Window& w) {
  Place x = withPads(p, n, w, 0);
  const Extents extents = x.access.extents();
  const int64_t column = extents[1], row = column * extents[3], image = row * extents[2];
  const int64_t offset = x.access.offset;
  x.access = strided(
      {extents[0], w.y[2], w.y[3], w.kernel[0], w.kernel[1], extents[1]},
      {image, w.strides[0] * row, w.strides[1] * column, (w.dilations[0] + 1) * row, (w.dilations[1] + 1) * column, 1});
  x.access.offset = offset;
  return p.as(x, rowMajor(x.access.extents()));
}

}  // namespace

bool lowerAsProductOfWindows(Planner& p, int n, const Window& w, const Epilogue& e) {
  // oneDNN 2.6 reads the kernel for each row where there are strides; 8 MB of it took 1.4 times a product's time on an
  // EPYC (Zen 5), 4 MB as long as a product. Of windows of one row, 2 MB and more took 1.2 times that on one (Zen 4).
  constexpr int64_t kLarge = 1 << 21, kLargeOfRow = 1 << 19;
  if (w.kernel.size() != 2 || w.group != 1) return false;
  const bool isStrided = std::any_of(w.strides.begin(), w.strides.end(), [](int64_t s) { return s > 1; });
  const bool isRow = w.kernel[0] == 1 && (w.y[2] == 1 || w.kernel[1] == 1);
  if (!isStrided || w.inner * w.outer * elementCount(w.kernel) < (isRow ? kLargeOfRow : kLarge)) return false;
  const int64_t rows = elementCount(w.y) / w.outer, depth = w.inner * elementCount(w.kernel);
  constexpr auto ab = memory::format_tag::ab;
  memory::desc left({rows, depth}, kF32, ab), result({rows, w.outer}, kF32, ab), right({depth, w.outer}, kF32, ab);
  memory::desc bias({1, w.outer}, kF32, ab), any = anyForm({depth, w.outer});
  auto desc = e.shift.empty() ? dnnl::matmul::desc(left, any, result) : dnnl::matmul::desc(left, any, bias, result);
  dnnl::matmul::primitive_desc how(desc, attributesOf(e, nullptr), p.engine());
  if (!isOptimised(how.impl_info_str())) return false;
  const Place x = windows(p, n, w);
  const Access form = w.resultForm(channelsLast(w.y));
  Place y = e.sum() ? p.accumulator(*e.sum(), form, {x.buffer}) : p.create(form);
  auto step = p.primitive(dnnl::matmul(how), how.scratchpad_desc());
  step->add(DNNL_ARG_SRC, left, p.engine(), x.buffer, x.access.offset);
  p.addConstant(
      *step, DNNL_ARG_WEIGHTS, p.node(n).operands[1],
      [scale = e.scale](const StoredFloats& kernel) {
        const KernelAxes k = axesOf(kernel.extents, false);
        return matrixOf(kernel, {k.taps, k.in, k.out}, k.taps.extent * k.in.extent, 2, scale);
      },
      right, how.weights_desc());
  if (!e.shift.empty()) step->add(DNNL_ARG_BIAS, p.prepared(Tensor<float>({1, w.outer}, e.shift), bias, bias));
  step->add(DNNL_ARG_DST, result, p.engine(), y.buffer, y.access.offset);
  p.emit(std::move(step));
  p.define(e.result, std::move(y));
  p.note(n, std::string(how.impl_info_str()) + ", of windows");
  return true;
}

}  // namespace pet::onednn
