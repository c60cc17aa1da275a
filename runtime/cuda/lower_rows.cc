// What reads rows: reductions, Softmax, normalisations by what rows hold.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "runtime/cuda/call_kernels.h"
#include "runtime/cuda/points.h"

namespace pet::cuda {
namespace {

std::vector<size_t> dimensions(size_t first, size_t last) {
  std::vector<size_t> list(last - first);
  std::iota(list.begin(), list.end(), first);
  return list;
}

/// A RowKernel from one place to another, which grows operand by operand.
class Rows final : public Operands {
 public:
  Rows(Planner& planner, const Place& from, Place to, std::vector<size_t> reduced, std::vector<RowKernel::Pass> passes)
      : Operands(planner, std::move(to)),
        kernel_{from.access, std::move(reduced), std::move(passes), to_.access, "", {}},
        arguments_{{to_.buffer}, {from.buffer}} {}

  using Operands::add;
  std::string add(const Place& operand) override {
    const Extents extents = kernel_.to.extents();
    // A result without the reduced dimensions has all the elements that one with them has.
    const Extents given = operand.access.extents();
    const bool lacks = given.size() < extents.size() && elementCount(given) == elementCount(extents);
    kernel_.from.push_back(lacks ? *reshaped(operand.access, extents) : broadcast(operand.access, extents));
    arguments_.push_back({operand.buffer});
    return fmt::format("e{}", kernel_.from.size() - 1);
  }
  void emit(std::string result) {
    kernel_.result = std::move(result);
    planner_.emitCall(planner_.device().kernel(generate(kernel_)), to_, std::move(arguments_));
  }

 private:
  RowKernel kernel_;
  std::vector<CallStep::Argument> arguments_;
};

/// Over the operand, if nobody needs that any more and what is added lies there only where it is added; else like it,
/// or dense.
Place placeOver(Planner& p, const Place& from, const Epilogue& e) {
  const bool clashes = std::any_of(e.post.begin(), e.post.end(), [&](const auto& post) {
    const auto* added = std::get_if<Value>(&post);
    return added && p.root(p.place(*added).buffer) == p.root(from.buffer) && !liesAt(p.place(*added), from);
  });
  return clashes ? p.create(compacted(from.access)) : p.overOrDense(from);
}

/// The last dimension of a result that has more than one position.
size_t lastLongDimension(const plan::Planner& p, int n) {
  const Extents y = p.extents({n, 0});
  const auto found = std::find_if(y.rbegin(), y.rend(), [](int64_t extent) { return extent > 1; });
  return found == y.rend() ? 0 : static_cast<size_t>(y.rend() - found) - 1;
}

/// Which dimension of what is reduced becomes this one of the result.
size_t dimensionBefore(size_t dimension, const std::vector<size_t>& reduced, bool keeps) {
  std::vector<size_t> gone = keeps ? std::vector<size_t>() : reduced;
  std::sort(gone.begin(), gone.end());
  for (size_t d : gone)
    dimension += d <= dimension ? 1 : 0;
  return dimension;
}

bool lowerReduce(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const Value x = node.operands[0];
  const Extents extents = p.extents(x);
  std::vector<size_t> reduced;
  for (int64_t axis : p.list(n, "axes"))
    reduced.push_back(static_cast<size_t>(axis));
  if (reduced.empty()) reduced = dimensions(0, extents.size());
  Extents kept = extents;
  for (size_t d : reduced)
    kept[d] = 1;
  const int64_t count = elementCount(extents) / elementCount(kept);
  RowKernel::Pass pass{node.is(ops::kReduceMax), "x", "r"};
  if (node.is(ops::kReduceMean)) pass = meanPass("x", count);
  if (node.is(ops::kReduceL2)) pass = {false, "x * x", "sqrtf(r)"};
  const Place to = p.create(rowMajor(kept));
  Rows rows(p, p.place(x), to, reduced, {pass});
  const size_t channel = dimensionBefore(lastLongDimension(p, n), reduced, p.scalar(n, "keepdims") != 0);
  rows.emit(rows.after("r0", e, channel));
  p.define(e.result, {to.buffer, *reshaped(to.access, p.extents({n, 0}))});
  p.note(n, kOwnKernel);
  return true;
}

bool lowerGlobalPool(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const Place from = p.place(node.operands[0]);
  const Extents extents = from.access.extents();
  Place to = p.create(rowMajor(p.extents({n, 0})));
  const int64_t count = elementCount({extents.begin() + 2, extents.end()});
  const bool isMax = node.is(ops::kGlobalMaxPool);
  const RowKernel::Pass pass = isMax ? RowKernel::Pass{true, "x", "r"} : meanPass("x", count);
  Rows rows(p, from, to, dimensions(2, extents.size()), {pass});
  rows.emit(rows.after("r0", e, channelDimension(p, n)));
  p.define(e.result, std::move(to));
  p.note(n, kOwnKernel);
  return true;
}

/// exp(x - max) / Σ exp(x - max); of LogSoftmax its logarithm.
bool lowerSoftmax(Planner& p, int n, const Epilogue& e) {
  const bool isLog = p.node(n).is(ops::kLogSoftmax);
  const Place from = p.place(p.node(n).operands[0]);
  Place to = placeOver(p, from, e);
  const auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  Rows rows(p, from, to, {axis}, {{true, "x", "r"}, {false, "expf(x - r0)", isLog ? "logf(r)" : "1.0f / r"}});
  rows.emit(rows.after(isLog ? "(x - r0 - r1)" : "(expf(x - r0) * r1)", e, lastDimension(p, n)));
  p.define(e.result, std::move(to));
  p.note(n, kOwnKernel + p.whyInPieces(n));
  return true;
}

const Tensor<float>& constantOf(Planner& p, Value v) {
  const Tensor<float>* numbers = p.constant(v);
  if (!numbers) throw NotLowered{"a scale that is not constant"};
  return *numbers;
}

/// A normalisation of the rows that the dimensions from `axis` on are, with scale and shift as ONNX has them.
struct Normalisation {
  NormCall::Kind kind;
  size_t axis;
  std::vector<Tensor<float>> scales;  ///< one or two
  float epsilon;
};

/// As libraries have it; nothing: the operand lies otherwise, or a scale is not one number for each position.
std::optional<NormCall> normCall(const Normalisation& norm, const Place& from) {
  const Extents extents = from.access.extents();
  const auto axis = extents.begin() + static_cast<std::ptrdiff_t>(norm.axis);
  const bool ofImages = norm.kind == NormCall::Kind::kInstance;
  const int64_t channels = ofImages ? extents[1] : elementCount({axis, extents.end()});
  const bool isWhole = std::all_of(norm.scales.begin(), norm.scales.end(),
                                   [&](const Tensor<float>& scale) { return scale.size() == channels; });
  const bool lies =
      ofImages ? isDense(from.access) && stridesOf(from.access) : sameForm(from.access, rowMajor(extents));
  if (!isWhole || !lies) return std::nullopt;
  const int64_t rows = elementCount({extents.begin(), axis});
  const TensorForm form =
      ofImages ? formOf(from.access) : TensorForm{{rows, channels, 1, 1}, {channels, 1, channels, channels}};
  return NormCall{norm.kind, form, form, norm.epsilon, norm.scales.size() > 1};
}

/// By the fastest of cuDNN's plans and our kernel. False: libraries have no such call, or a kernel shall compute what
/// follows in the same pass over memory.
bool emitAsCall(Planner& p, int n, const Epilogue& e, const Normalisation& norm) {
  const Place from = p.place(p.node(n).operands[0]);
  const bool isOnBorder = from.access.offset % p.alignment() == 0;
  const auto call = e.isEmpty() && isOnBorder ? normCall(norm, from) : std::nullopt;
  if (!call) return false;
  auto made = p.device().norm(*call);
  if (!made) return false;
  // A library may read a row again that it has written in part.
  Place to = (*made)->isOwn ? placeOver(p, from, e) : p.create(compacted(from.access));
  std::vector<CallStep::Argument> arguments{{to.buffer, to.access.offset}, {from.buffer, from.access.offset}};
  for (const Tensor<float>& numbers : norm.scales)
    arguments.push_back({p.constantPlace(numbers).buffer});
  p.note(n, noteOf(**made));
  p.emitCall(std::move(*made), to, std::move(arguments));
  p.define(e.result, std::move(to));
  return true;
}

/// With the epilogue, of which `channel` is the dimension of scale and shift.
bool lowerNormalization(Planner& p, int n, const Epilogue& e, Normalisation norm, size_t channel) {
  if (emitAsCall(p, n, e, norm)) return true;
  const Place from = p.place(p.node(n).operands[0]);
  Place to = placeOver(p, from, e);
  const Extents extents = from.access.extents();
  const int64_t count = elementCount({extents.begin() + static_cast<std::ptrdiff_t>(norm.axis), extents.end()});
  Rows rows(p, from, to, dimensions(norm.axis, extents.size()), normPasses(norm.kind, count, norm.epsilon));
  std::vector<std::string> by;
  for (Tensor<float>& numbers : norm.scales)
    by.push_back(rows.add(p.constantPlace(std::move(numbers))));
  rows.emit(rows.after(normResult(norm.kind, by[0], by.size() > 1 ? by[1] : ""), e, channel));
  p.define(e.result, std::move(to));
  p.note(n, kOwnKernel);
  return true;
}

Normalisation normalisationOf(Planner& p, int n, NormCall::Kind kind, size_t axis) {
  Normalisation norm{kind, axis, {}, static_cast<float>(p.node(n).number("epsilon"))};
  for (size_t i = 1; i < p.node(n).operands.size(); ++i)
    norm.scales.push_back(constantOf(p, p.node(n).operands[i]));
  return norm;
}

bool lowerLayerNormalization(Planner& p, int n, const Epilogue& e) {
  const auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  return lowerNormalization(p, n, e, normalisationOf(p, n, NormCall::Kind::kLayer, axis), lastDimension(p, n));
}

bool lowerRmsNormalization(Planner& p, int n, const Epilogue& e) {
  const auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  return lowerNormalization(p, n, e, normalisationOf(p, n, NormCall::Kind::kRms, axis), lastDimension(p, n));
}

bool lowerInstanceNormalization(Planner& p, int n, const Epilogue& e) {
  Normalisation norm = normalisationOf(p, n, NormCall::Kind::kInstance, 2);
  for (Tensor<float>& perChannel : norm.scales) {
    Extents channels(p.extents({n, 0}).size(), 1);
    channels[1] = perChannel.size();
    perChannel.extents = std::move(channels);
  }
  return lowerNormalization(p, n, e, std::move(norm), 1);
}

constexpr LowerRow kRowRows[] = {
    {"ReduceSum", lowerReduce, lastLongDimension},
    {"ReduceMean", lowerReduce, lastLongDimension},
    {"ReduceMax", lowerReduce, lastLongDimension},
    {"ReduceL2", lowerReduce, lastLongDimension},
    {"GlobalMaxPool", lowerGlobalPool, channelDimension},
    {"GlobalAveragePool", lowerGlobalPool, channelDimension},
    {"Softmax", lowerSoftmax, lastDimension},
    {"LogSoftmax", lowerSoftmax, lastDimension},
    {"LayerNormalization", lowerLayerNormalization, lastDimension},
    {"RMSNormalization", lowerRmsNormalization, lastDimension},
    {"InstanceNormalization", lowerInstanceNormalization, channelDimension},
};

}  // namespace

std::span<const LowerRow> rowLowerings() {
  return kRowRows;
}

}  // namespace pet::cuda
