// What reads rows: reductions, Softmax, normalisations by what rows hold.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "runtime/cuda/generate/row_kernel.h"
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

RowKernel::Pass meanOf(std::string term, int64_t count) {
  return {false, std::move(term), fmt::format("r * {}", number(static_cast<float>(1.0 / static_cast<double>(count))))};
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
  if (node.is(ops::kReduceMean)) pass = meanOf("x", count);
  if (node.is(ops::kReduceL2)) pass = {false, "x * x", "sqrtf(r)"};
  const Place to = p.create(rowMajor(kept));
  Rows rows(p, p.place(x), to, reduced, {pass});
  const size_t channel = dimensionBefore(lastLongDimension(p, n), reduced, p.scalar(n, "keepdims") != 0);
  rows.emit(rows.after("r0", e, channel));
  p.define(e.result, {to.buffer, *reshaped(to.access, p.extents({n, 0}))});
  p.note(n, "a kernel of our own");
  return true;
}

bool lowerGlobalPool(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const Place from = p.place(node.operands[0]);
  const Extents extents = from.access.extents();
  Place to = p.create(rowMajor(p.extents({n, 0})));
  const int64_t count = elementCount({extents.begin() + 2, extents.end()});
  const bool isMax = node.is(ops::kGlobalMaxPool);
  const RowKernel::Pass pass = isMax ? RowKernel::Pass{true, "x", "r"} : meanOf("x", count);
  Rows rows(p, from, to, dimensions(2, extents.size()), {pass});
  rows.emit(rows.after("r0", e, channelDimension(p, n)));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
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
  p.note(n, "a kernel of our own" + p.whyInPieces(n));
  return true;
}

const Tensor<float>& constantOf(Planner& p, Value v) {
  const Tensor<float>* numbers = p.constant(v);
  if (!numbers) throw NotLowered{"a scale that is not constant"};
  return *numbers;
}

/// Rows over the dimensions from `axis` on, divided by the root of the mean of their squares; `centred`: their mean is
/// taken off first. Then scaled, and shifted where there are two scales, as ONNX has them; then the epilogue.
bool lowerNormalization(Planner& p,
                        int n,
                        const Epilogue& e,
                        size_t axis,
                        bool centred,
                        std::vector<Tensor<float>> scales,
                        size_t channel) {
  const Place from = p.place(p.node(n).operands[0]);
  Place to = placeOver(p, from, e);
  const Extents extents = from.access.extents();
  const int64_t count = elementCount({extents.begin() + static_cast<std::ptrdiff_t>(axis), extents.end()});
  std::vector<RowKernel::Pass> passes;
  if (centred) passes.push_back(meanOf("x", count));
  passes.push_back(meanOf(centred ? "(x - r0) * (x - r0)" : "x * x", count));
  std::string& finish = passes.back().finish;
  finish = fmt::format("rsqrtf({} + {})", finish, number(static_cast<float>(p.node(n).number("epsilon"))));
  Rows rows(p, from, to, dimensions(axis, extents.size()), std::move(passes));
  std::vector<std::string> by;
  for (Tensor<float>& numbers : scales)
    by.push_back(rows.add(p.constantPlace(std::move(numbers))));
  std::string result = fmt::format("{} * {}", centred ? "(x - r0) * r1" : "x * r0", by[0]);
  if (by.size() > 1) result += " + " + by[1];
  rows.emit(rows.after("(" + result + ")", e, channel));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

std::vector<Tensor<float>> scalesOf(Planner& p, int n) {
  std::vector<Tensor<float>> scales;
  for (size_t i = 1; i < p.node(n).operands.size(); ++i)
    scales.push_back(constantOf(p, p.node(n).operands[i]));
  return scales;
}

bool lowerLayerNormalization(Planner& p, int n, const Epilogue& e) {
  return lowerNormalization(p, n, e, static_cast<size_t>(p.scalar(n, "axis")), true, scalesOf(p, n),
                            lastDimension(p, n));
}

bool lowerRmsNormalization(Planner& p, int n, const Epilogue& e) {
  return lowerNormalization(p, n, e, static_cast<size_t>(p.scalar(n, "axis")), false, scalesOf(p, n),
                            lastDimension(p, n));
}

bool lowerInstanceNormalization(Planner& p, int n, const Epilogue& e) {
  std::vector<Tensor<float>> scales = scalesOf(p, n);
  for (Tensor<float>& perChannel : scales) {
    Extents channels(p.extents({n, 0}).size(), 1);
    channels[1] = perChannel.size();
    perChannel.extents = std::move(channels);
  }
  return lowerNormalization(p, n, e, 2, true, std::move(scales), 1);
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
