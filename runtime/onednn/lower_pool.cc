// Pools and reductions.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/onednn/lowerings.h"
#include "runtime/onednn/max_pool.h"

namespace pet::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
/// The operand in the form it has, if that is one that pools like; else with its channels last.
std::pair<Place, Form> pooled(Planner& p, Value x) {
  const Place& there = p.place(x);
  Extents extents = there.access.extents();
  for (const Form& form : {channelsLastForm(extents), rowMajorForm(extents)}) {
    if (sameForm(there.access, form.access)) return {there, form};
  }
  if (extents[1] % 16 == 0 && sameForm(there.access, channelsBlocked(extents, 16)))
    return {there, {channelsBlocked(extents, 16), *descOf(there.access)}};
  Form last = channelsLastForm(extents);
  return {p.as(x, last.access), last};
}

struct Pool {
  algorithm how;
  Extents kernel, strides, dilations, before, after;
};

/// Row by row, where that is how the operand lies: oneDNN 2.6 takes one position after another of few channels. False:
/// rows are short, or they lie otherwise.
bool emitMaxPoolHere(Planner& p, int n, const Pool& pool, const Place& x) {
  constexpr int64_t kShortRow = 8;
  const Extents from = x.access.extents(), to = p.extents({n, 0});
  if (to.back() < kShortRow || !sameForm(x.access, rowMajor(from))) return false;
  std::vector<PoolAxis> axes;
  for (size_t d = 0; d < pool.kernel.size(); ++d)
    axes.push_back({from[2 + d], to[2 + d], pool.kernel[d], pool.strides[d], pool.dilations[d] + 1, pool.before[d]});
  Place y = p.create(rowMajor(to));
  p.emit(std::make_unique<KernelStep>(
      std::vector<int>{x.buffer, y.buffer},
      [axes, images = from[0] * from[1], offset = x.access.offset, threads = p.options().threads](float* const* q) {
        maxPool(axes, images, q[0] + offset, q[1], threads);
      }));
  p.define({n, 0}, std::move(y));
  p.note(n, "a kernel of our own: row by row");
  return true;
}

void emitPool(Planner& p, int n, const Pool& pool) {
  const auto operand = pooled(p, p.node(n).operands[0]);
  const Place& x = operand.first;
  const Form& from = operand.second;
  Extents y = p.extents({n, 0});
  memory::desc any = anyForm(y);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  bool dilated = std::any_of(pool.dilations.begin(), pool.dilations.end(), [](int64_t d) { return d > 0; });
  auto emit = [&](const auto& how, const auto& primitive) {
    const bool isJit = std::string_view(how.impl_info_str()).starts_with("jit");
    if (pool.how == algorithm::pooling_max && !isJit && emitMaxPoolHere(p, n, pool, x)) return;
    auto to = formOf(how.dst_desc());
    if (!to) throw NotLowered{"an output that oneDNN pads"};
    Place result = p.create(to->access);
    auto step = p.primitive(primitive, how.scratchpad_desc());
    step->add(DNNL_ARG_SRC, from.desc, p.engine(), x.buffer, x.access.offset);
    step->add(DNNL_ARG_DST, to->desc, p.engine(), result.buffer, result.access.offset);
    p.emit(std::move(step));
    p.define({n, 0}, std::move(result));
    p.note(n, how.impl_info_str());
  };
  if (dilated) {
    dnnl::pooling_v2_forward::desc desc(kInference, pool.how, from.desc, any, pool.strides, pool.kernel, pool.dilations,
                                        pool.before, pool.after);
    dnnl::pooling_v2_forward::primitive_desc how(desc, attributes, p.engine());
    emit(how, dnnl::pooling_v2_forward(how));
  } else {
    dnnl::pooling_forward::desc desc(kInference, pool.how, from.desc, any, pool.strides, pool.kernel, pool.before,
                                     pool.after);
    dnnl::pooling_forward::primitive_desc how(desc, attributes, p.engine());
    emit(how, dnnl::pooling_forward(how));
  }
}

bool lowerPool(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  Extents pads = p.list(n, "pads"), x = p.extents(node.operands[0]), y = p.extents({n, 0});
  size_t spatial = x.size() - 2;
  Pool pool{algorithm::pooling_max, p.list(n, "kernel_shape"), p.list(n, "strides"), p.list(n, "dilations"), {}, {}};
  bool overhangs = false;
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = (pool.kernel[d] - 1) * pool.dilations[d] + 1;
    pool.before.push_back(pads[d]);
    pool.after.push_back((y[2 + d] - 1) * pool.strides[d] + reach - x[2 + d] - pads[d]);
    overhangs |= pool.after[d] > pads[spatial + d];
    --pool.dilations[d];
  }
  if (node.is(ops::kAveragePool)) {
    bool include = p.scalar(n, "count_include_pad") != 0;
    if (include && overhangs) throw NotLowered{"a last window that counts only its pads"};
    pool.how = include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
    for (int64_t d : pool.dilations) {
      if (d > 0) throw NotLowered{"an average of positions apart"};
    }
  }
  emitPool(p, n, pool);
  return true;
}

bool lowerGlobalPool(Planner& p, int n, const Epilogue&) {
  Extents x = p.extents(p.node(n).operands[0]);
  Extents ones(x.size() - 2, 1), zeros(x.size() - 2, 0);
  bool max = p.node(n).is(ops::kGlobalMaxPool);
  emitPool(p, n,
           {max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
            {x.begin() + 2, x.end()},
            ones,
            zeros,
            zeros,
            zeros});
  return true;
}

/// The larger one, or NaN where one is.
struct Larger {
  static constexpr float kFirst = -std::numeric_limits<float>::infinity();
  float operator()(float a, float b) const { return b > a || b != b ? b : a; }
  float of(float x) const { return x; }
};
struct Sum {
  static constexpr float kFirst = 0;
  float operator()(float a, float b) const { return a + b; }
  float of(float x) const { return x; }
};
struct SumOfSquares : Sum {
  float of(float x) const { return x * x; }
};

/// All of x[count] as one, in lanes, so that they become vectors.
template <class Join>
float joined(const float* x, int64_t count, Join join) {
  constexpr int64_t kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, Join::kFirst);
  for (int64_t v = 0; v < count; v += kLanes) {
    const int64_t part = std::min(kLanes, count - v);
    for (int64_t i = 0; i < part; ++i)
      lanes[i] = join(lanes[i], join.of(x[v + i]));
  }
  return std::accumulate(lanes, lanes + kLanes, Join::kFirst, join);
}

/// y[kept] = x[extents] joined over the dimensions that are 1 in `kept`, both row-major.
template <class Join>
void reduce(const float* x, const Extents& extents, const Extents& kept, float* y, Join join) {
  const size_t last = extents.size() - 1;
  const std::vector<int64_t> strides = rowMajorStrides(kept);
  const int64_t row = extents[last], rows = elementCount(extents) / row;
  std::fill_n(y, elementCount(kept), Join::kFirst);
  for (int64_t r = 0; r < rows; ++r, x += row) {
    int64_t to = 0;
    for (int64_t d = static_cast<int64_t>(last) - 1, rest = r; d >= 0; --d) {
      const auto at = static_cast<size_t>(d);
      if (kept[at] > 1) to += rest % extents[at] * strides[at];
      rest /= extents[at];
    }
    if (kept[last] == 1) y[to] = join(y[to], joined(x, row, join));
    for (int64_t i = 0; kept[last] > 1 && i < row; ++i)
      y[to + i] = join(y[to + i], join.of(x[i]));
  }
}

/// By a kernel of our own, which reads the operand once, in whatever order its dimensions lie.
bool lowerReduceHere(Planner& p, int n, const Extents& kept) {
  const Node& node = p.node(n);
  const Value x = node.operands[0];
  Place from = p.place(x);
  if (!orderOf(from.access)) from = p.as(x, compacted(from.access));
  const std::vector<size_t> order = *orderOf(from.access);
  const Place to = p.create(inOrder(kept, order));
  const Extents extents = permuted(from.access, order).extents(), left = permuted(to.access, order).extents();
  const int64_t offset = from.access.offset;
  const bool isMaximum = node.is(ops::kReduceMax), isNorm = node.is(ops::kReduceL2);
  const float divisor = node.is(ops::kReduceMean) ? static_cast<float>(elementCount(extents) / elementCount(kept)) : 1;
  p.emit(std::make_unique<KernelStep>(std::vector<int>{from.buffer, to.buffer}, [=](float* const* pointers) {
    if (isMaximum) return reduce(pointers[0] + offset, extents, left, pointers[1], Larger());
    if (isNorm) {
      reduce(pointers[0] + offset, extents, left, pointers[1], SumOfSquares());
      std::for_each_n(pointers[1], elementCount(left), [](float& y) { y = std::sqrt(y); });
      return;
    }
    reduce(pointers[0] + offset, extents, left, pointers[1], Sum());
    if (divisor != 1) std::for_each_n(pointers[1], elementCount(left), [=](float& y) { y /= divisor; });
  }));
  p.define({n, 0}, {to.buffer, *reshaped(to.access, p.extents({n, 0}))});
  p.note(n, "a kernel of our own");
  return true;
}

/// The operand at each choice of positions in the dimensions that are reduced, as tensors of the extents that are kept.
std::vector<Place> slicesOf(const Place& x, const Extents& kept) {
  std::vector<Place> slices{x};
  for (size_t d = 0; d < kept.size(); ++d) {
    const auto extent = static_cast<int64_t>(x.access.tables[d].size());
    if (kept[d] == extent) continue;
    std::vector<Place> next;
    for (const Place& slice : slices) {
      for (int64_t i = 0; i < extent; ++i)
        next.push_back({slice.buffer, selected(slice.access, d, {i})});
    }
    slices = std::move(next);
  }
  return slices;
}

/// A sum or mean of few positions as a sum of so many tensors, read where they lie: oneDNN 2.6 starts anew for each
/// result, and wants them in a row.
bool lowerReduceFew(Planner& p, int n, const Extents& kept) {
  const Node& node = p.node(n);
  const Value x = node.operands[0];
  Place from = p.place(x);
  if (from.access.fills()) from = p.as(x, compacted(from.access));
  const std::vector<Place> slices = slicesOf(from, kept);
  Place y = p.create(compacted(slices[0].access));
  p.emitSum(y, slices, {});
  if (!node.is(ops::kReduceSum)) emitFunction(p, {Function::kLinear, 1 / static_cast<float>(slices.size()), 0}, y, y);
  y.access = *reshaped(y.access, p.extents({n, 0}));
  p.define({n, 0}, std::move(y));
  p.note(n, "a kernel of our own: one sum");
  return true;
}

bool lowerReduce(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  Value x = node.operands[0];
  Extents extents = p.extents(x), kept = extents;
  Extents axes = p.list(n, "axes");
  for (size_t d = 0; d < kept.size(); ++d) {
    if (axes.empty() || std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end()) kept[d] = 1;
  }
  Form to = rowMajorForm(kept);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (kept == extents && node.is(ops::kReduceL2)) throw NotLowered{"a norm of single elements"};
  if (kept == extents)
    return p.define({n, 0}, {p.place(x).buffer, *reshaped(p.place(x).access, p.extents({n, 0}))}), true;
  // oneDNN 2.6 has norms in its reference alone, and says of nothing but -inf that the largest is the least finite
  // number.
  if (node.is(ops::kReduceMax) || node.is(ops::kReduceL2)) return lowerReduceHere(p, n, kept);
  constexpr int64_t kFew = 16;
  const int64_t reduced = elementCount(extents) / elementCount(kept);
  if (reduced <= kFew && reduced < elementCount(kept)) return lowerReduceFew(p, n, kept);
  Form from = rowMajorForm(extents);
  const algorithm how = node.is(ops::kReduceSum) ? algorithm::reduction_sum : algorithm::reduction_mean;
  dnnl::reduction::primitive_desc primitive(dnnl::reduction::desc(how, from.desc, to.desc, 0, 0), attributes,
                                            p.engine());
  if (!isOptimised(primitive.impl_info_str())) return lowerReduceHere(p, n, kept);
  Place source = p.as(x, from.access), result = p.create(to.access);
  auto step = p.primitive(dnnl::reduction(primitive), primitive.scratchpad_desc());
  step->add(DNNL_ARG_SRC, from.desc, p.engine(), source.buffer, source.access.offset);
  step->add(DNNL_ARG_DST, to.desc, p.engine(), result.buffer, 0);
  p.emit(std::move(step));
  p.define({n, 0}, {result.buffer, *reshaped(result.access, p.extents({n, 0}))});
  p.note(n, primitive.impl_info_str());
  return true;
}

constexpr LowerRow kPoolRows[] = {
    {"MaxPool", lowerPool},
    {"AveragePool", lowerPool},
    {"GlobalMaxPool", lowerGlobalPool},
    {"GlobalAveragePool", lowerGlobalPool},
    {"ReduceSum", lowerReduce},
    {"ReduceMean", lowerReduce},
    {"ReduceMax", lowerReduce},
    {"ReduceL2", lowerReduce},
};

}  // namespace

std::span<const LowerRow> poolLowerings() {
  return kPoolRows;
}

}  // namespace pet::onednn
