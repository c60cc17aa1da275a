// What reads rows: reductions, Softmax, normalisations by what rows hold.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "runtime/cuda/generate/row_kernel.h"
#include "runtime/cuda/planner.h"

namespace pet::cuda {
namespace {

std::vector<size_t> dimensions(size_t first, size_t last) {
  std::vector<size_t> list(last - first);
  std::iota(list.begin(), list.end(), first);
  return list;
}

void emitRows(
    Planner& p, const RowKernel& kernel, const Place& from, const Place& to, const std::vector<Place>& further) {
  std::vector<CallStep::Argument> arguments{{to.buffer}, {from.buffer}};
  for (const Place& f : further)
    arguments.push_back({f.buffer});
  p.emitCall(p.device().kernel(generate(kernel)), std::move(arguments));
}

const RowKernel::Pass kSum{false, "x", "r"};

RowKernel::Pass meanOf(std::string term, int64_t count) {
  return {false, std::move(term), fmt::format("r * {}", number(static_cast<float>(1.0 / static_cast<double>(count))))};
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
  const Place from = p.place(x);
  RowKernel kernel{from.access, reduced, {kSum}, {}, "r0", {}};
  if (node.is(ops::kReduceMax)) kernel.passes[0].isMax = true;
  if (node.is(ops::kReduceMean)) kernel.passes[0] = meanOf("x", count);
  if (node.is(ops::kReduceL2)) kernel.passes[0] = {false, "x * x", "sqrtf(r)"};
  const Place to = p.create(rowMajor(kept));
  kernel.to = to.access;
  emitRows(p, kernel, from, to, {});
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
  emitRows(p, {from.access, dimensions(2, extents.size()), {pass}, to.access, "r0", {}}, from, to, {});
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

/// exp(x - max) / Σ exp(x - max); of LogSoftmax its logarithm.
bool lowerSoftmax(Planner& p, int n, const Epilogue& e) {
  const bool isLog = p.node(n).is(ops::kLogSoftmax);
  const Place from = p.dense(p.node(n).operands[0]);
  Place to = p.overOrLike(from);
  const auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  const RowKernel kernel{from.access,
                         {axis},
                         {{true, "x", "r"}, {false, "expf(x - r0)", isLog ? "logf(r)" : "1.0f / r"}},
                         to.access,
                         isLog ? "x - r0 - r1" : "expf(x - r0) * r1",
                         {}};
  emitRows(p, kernel, from, to, {});
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own" + p.whyInPieces(n));
  return true;
}

/// A constant of the extents of a row, as a further operand.
void addScale(Planner& p, RowKernel& kernel, std::vector<Place>& further, Tensor<float> numbers) {
  Place there = p.constantPlace(std::move(numbers));
  kernel.from.push_back(broadcast(there.access, kernel.to.extents()));
  further.push_back(std::move(there));
}

const Tensor<float>& constantOf(Planner& p, Value v) {
  const Tensor<float>* numbers = p.constant(v);
  if (!numbers) throw NotLowered{"a scale that is not constant"};
  return *numbers;
}

/// Rows over the dimensions from `axis` on, divided by the root of the mean of their squares; `centred`: their mean is
/// taken off first. Then e0, and e1 where there are two scales, as ONNX has them.
bool lowerNormalization(
    Planner& p, int n, const Epilogue& e, size_t axis, bool centred, std::vector<Tensor<float>> scales) {
  const Place from = p.dense(p.node(n).operands[0]);
  Place to = p.overOrLike(from);
  const Extents extents = from.access.extents();
  const int64_t count = elementCount({extents.begin() + static_cast<std::ptrdiff_t>(axis), extents.end()});
  RowKernel kernel{from.access, dimensions(axis, extents.size()), {}, to.access, "", {}};
  if (centred) kernel.passes.push_back(meanOf("x", count));
  kernel.passes.push_back(meanOf(centred ? "(x - r0) * (x - r0)" : "x * x", count));
  std::string& finish = kernel.passes.back().finish;
  finish = fmt::format("rsqrtf({} + {})", finish, number(static_cast<float>(p.node(n).number("epsilon"))));
  kernel.result = centred ? "(x - r0) * r1 * e0" : "x * r0 * e0";
  if (scales.size() > 1) kernel.result += " + e1";
  std::vector<Place> further;
  for (Tensor<float>& numbers : scales)
    addScale(p, kernel, further, std::move(numbers));
  emitRows(p, kernel, from, to, further);
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
  return lowerNormalization(p, n, e, static_cast<size_t>(p.scalar(n, "axis")), true, scalesOf(p, n));
}

bool lowerRmsNormalization(Planner& p, int n, const Epilogue& e) {
  return lowerNormalization(p, n, e, static_cast<size_t>(p.scalar(n, "axis")), false, scalesOf(p, n));
}

bool lowerInstanceNormalization(Planner& p, int n, const Epilogue& e) {
  std::vector<Tensor<float>> scales = scalesOf(p, n);
  for (Tensor<float>& perChannel : scales) {
    Extents channels(p.extents({n, 0}).size(), 1);
    channels[1] = perChannel.size();
    perChannel.extents = std::move(channels);
  }
  return lowerNormalization(p, n, e, 2, true, std::move(scales));
}

constexpr LowerRow kRowRows[] = {
    {"ReduceSum", lowerReduce},
    {"ReduceMean", lowerReduce},
    {"ReduceMax", lowerReduce},
    {"ReduceL2", lowerReduce},
    {"GlobalMaxPool", lowerGlobalPool},
    {"GlobalAveragePool", lowerGlobalPool},
    {"Softmax", lowerSoftmax},
    {"LogSoftmax", lowerSoftmax},
    {"LayerNormalization", lowerLayerNormalization},
    {"RMSNormalization", lowerRmsNormalization},
    {"InstanceNormalization", lowerInstanceNormalization},
};

}  // namespace

std::span<const LowerRow> rowLowerings() {
  return kRowRows;
}

}  // namespace pet::cuda
