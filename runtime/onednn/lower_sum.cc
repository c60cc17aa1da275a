// Sums of many values, and what is a product followed by one: OffsetReduce, Col2Im, transposed convolutions,
// convolutions into few channels.

#include "runtime/onednn/lower_sum.h"

#include <algorithm>

#include "runtime/onednn/sum_kernel.h"

namespace pet::onednn {
namespace {

using dnnl::memory;
bool isRelu(const std::variant<Activation, Value>& post) {
  const auto* a = std::get_if<Activation>(&post);
  return a && a->algorithm == dnnl::algorithm::eltwise_relu && a->alpha == 0;
}

constexpr auto kMostTaps = static_cast<int64_t>(SumKernel::kMostAddends);

/// The taps of a kernel, each as its digits.
std::vector<Extents> tapsOf(const Extents& kernel) {
  std::vector<Extents> taps{{}};
  for (int64_t k : kernel) {
    std::vector<Extents> next;
    for (const Extents& t : taps) {
      for (int64_t i = 0; i < k; ++i) {
        next.push_back(t);
        next.back().push_back(i);
      }
    }
    taps = std::move(next);
  }
  return taps;
}

/// Where each position of an output dimension reads its operand through one tap; -1: nowhere.
std::vector<int64_t> readAt(const Window& w, size_t d, int64_t extent, int64_t tap) {
  std::vector<int64_t> positions;
  int64_t shift = tap * (w.dilations[d] + 1) - w.before[d];
  for (int64_t i = 0; i < w.y[2 + d]; ++i) {
    int64_t p = w.transposed ? i - shift : i * w.strides[d] + shift;
    if (w.transposed) p = p % w.strides[d] == 0 ? p / w.strides[d] : -1;
    positions.push_back(p < 0 || p >= extent ? -1 : p);
  }
  return positions;
}

/// t has channels (tap, f), or (f, tap): the addend of each tap.
std::vector<Access> addendsOf(const Window& w, const Access& t, bool tapOuter) {
  std::vector<Extents> taps = tapsOf(w.kernel);
  auto count = static_cast<int64_t>(taps.size()), channels = w.y[1];
  std::vector<Access> addends;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<int64_t> slots;
    for (int64_t f = 0; f < channels; ++f)
      slots.push_back(tapOuter ? k * channels + f : f * count + k);
    Access addend = selected(t, 1, slots);
    for (size_t d = 0; d < w.kernel.size(); ++d) {
      auto extent = static_cast<int64_t>(t.tables[2 + d].size());
      addend = selected(addend, 2 + d, readAt(w, d, extent, taps[static_cast<size_t>(k)][d]));
    }
    addends.push_back(std::move(addend));
  }
  return addends;
}

void emitSum(Planner& p, const Place& to, const std::vector<Place>& from, std::vector<float> bias, bool rectify) {
  if (from.size() > SumKernel::kMostAddends || to.access.rank() > SumKernel::kMostDimensions)
    throw NotLowered{"a sum of too many"};
  std::vector<Access> addends;
  std::vector<int> buffers{to.buffer};
  for (const Place& f : from) {
    addends.push_back(f.access);
    buffers.push_back(f.buffer);
  }
  SumKernel kernel(to.access, addends, std::move(bias), rectify);
  p.emit(std::make_unique<KernelStep>(buffers, [kernel, threads = p.options().threads](float* const* pointers) {
    kernel.run(pointers[0], pointers + 1, threads);
  }));
}

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
  bool rectify = !e.post.empty() && isRelu(e.post[0]);
  emitSum(p, y, addends, e.shift, rectify);
  for (size_t i = rectify ? 1 : 0; i < e.post.size(); ++i)
    emitFunction(p, std::get<Activation>(e.post[i]), y, y);
  y.access = w.resultForm(std::move(y.access));
  p.define(e.result, std::move(y));
  p.note(n, std::string(how.impl_info_str()) + " and a sum over taps");
  return true;
}

bool lowerSum(Planner& p, Value result, const std::vector<Value>& addends, bool rectify) {
  std::vector<Place> from;
  for (Value v : addends) {
    Place there = p.place(v);
    if (there.access.fills() && there.access.fill != 0) there = p.as(v, compacted(there.access));
    from.push_back(std::move(there));
  }
  Place y = p.create(compacted(from[0].access));
  emitSum(p, y, from, {}, rectify);
  p.define(result, std::move(y));
  return true;
}

namespace {

/// y[n, f, v] = Σ_k t[n, (f k), v·stride + k·dilation - pad].
bool lowerOffsetReduce(Planner& p, int n, const Epilogue&) {
  Value x = p.node(n).operands[0];
  Place there = p.place(x);
  if (there.access.fills()) there = p.as(x, compacted(there.access));
  Extents pads = p.list(n, "pads");
  Window w;
  w.y = p.extents({n, 0});
  w.kernel = p.list(n, "kernel_shape");
  w.strides = p.list(n, "strides");
  w.dilations = p.list(n, "dilations");
  for (int64_t& d : w.dilations)
    --d;
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(w.kernel.size()));
  std::vector<Place> addends;
  for (Access& a : addendsOf(w, there.access, false))
    addends.push_back({there.buffer, std::move(a)});
  Place y = p.create(inOrder(w.y, memoryOrder(there.access)));
  emitSum(p, y, addends, {}, false);
  p.define({n, 0}, std::move(y));
  p.note(n, "a kernel of our own: one sum");
  return true;
}

/// The transposed: y[n, f, i·stride + k·dilation - pad] += t[n, (f k), (i)].
bool lowerCol2Im(Planner& p, int n, const Epilogue&) {
  Value x = p.node(n).operands[0];
  Window w;
  w.y = p.extents({n, 0});
  w.kernel = p.list(n, "block_shape");
  size_t spatial = w.kernel.size();
  Extents pads = p.list(n, "pads");
  w.strides = p.list(n, "strides");
  w.dilations = p.list(n, "dilations");
  if (w.strides.empty()) w.strides.assign(spatial, 1);
  if (w.dilations.empty()) w.dilations.assign(spatial, 1);
  if (pads.empty()) pads.assign(2 * spatial, 0);
  Extents t = p.extents(x);
  t.pop_back();
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = (w.kernel[d] - 1) * w.dilations[d]--;
    w.before.push_back(pads[d]);
    t.push_back((w.y[2 + d] + pads[d] + pads[spatial + d] - reach - 1) / w.strides[d] + 1);
  }
  w.transposed = true;
  Place there = p.as(x, rowMajor(p.extents(x)));
  Access columns = *reshaped(there.access, t);
  std::vector<Place> addends;
  for (Access& a : addendsOf(w, columns, false))
    addends.push_back({there.buffer, std::move(a)});
  Place y = p.create(rowMajor(w.y));
  emitSum(p, y, addends, {}, false);
  p.define({n, 0}, std::move(y));
  p.note(n, "a kernel of our own: one sum");
  return true;
}

constexpr LowerRow kSumRows[] = {{"OffsetReduce", lowerOffsetReduce}, {"Col2Im", lowerCol2Im}};

}  // namespace

std::span<const LowerRow> sumLowerings() {
  return kSumRows;
}

}  // namespace pet::onednn
