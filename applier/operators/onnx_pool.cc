// Pools and reductions.

#include <algorithm>
#include <numeric>

#include "applier/operators/onnx_rows.h"
#include "applier/operators/read_window.h"

namespace pet {
namespace {

std::vector<Value> readPool(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  auto kernel = l.given(row["kernel_shape"]);
  if (!kernel || l.rank(x) != kernel->size() + 2) Lifting::refuse("no kernel_shape of the images' rank");
  if (l.node().outputs.size() > 1) Lifting::refuse("its indices are asked for");
  Attributes attributes = readWindow(l, row, x);
  const auto& pads = windowList(attributes, "pads");
  bool negative = std::any_of(pads.begin(), pads.end(), [](const Expr& p) { return p.constant() < 0; });
  if (pads.size() != 2 * kernel->size() || negative) Lifting::refuse("pads of the wrong length or below 0");
  auto counts = attributes.find("count_include_pad");
  if (counts != attributes.end() && counts->second != Attribute(Expr(0)) && l.integer(row["ceil_mode"]) != 0)
    Lifting::refuse("ceil_mode with count_include_pad, on which engines disagree");
  return {l.add(row.op, {x}, std::move(attributes))};
}

std::vector<Value> readReduce(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0);
  size_t rank = l.rank(x);
  auto axes = l.given(row["axes"]);
  if ((!axes || axes->empty()) && l.integer("noop_with_empty_axes", 0) != 0) Lifting::refuse("nothing is reduced");
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  if (!axes || axes->empty()) axes = all;
  for (int64_t& a : *axes)
    a = static_cast<int64_t>(l.axis(a, rank));
  std::sort(axes->begin(), axes->end());
  bool keep = l.integer(row["keepdims"]) != 0;
  std::vector<int64_t> spatial(all.begin() + std::min<std::ptrdiff_t>(2, std::ssize(all)), all.end());
  if (row.op == "ReduceMean" && keep && rank > 2 && *axes == spatial) return {l.add("GlobalAveragePool", {x})};
  return {l.add(row.op, {x}, {{"axes", exprs(*axes)}, {"keepdims", Expr(keep ? 1 : 0)}})};
}

using A = OnnxAttribute;

/// The attributes of a pool that has dilations from this opset on.
std::vector<OnnxAttribute> poolSince(int64_t dilations, std::initializer_list<OnnxAttribute> others = {}) {
  std::vector<OnnxAttribute> attributes{A::givenList("kernel_shape"), A::list("strides", {1}), A::list("pads", {0, 2}),
                                        A::list("dilations", {1}).since(dilations, "a pool with dilations").sparse(),
                                        A::integer("ceil_mode", 0).since(10, "a pool with ceil_mode").sparse()};
  attributes.insert(attributes.end(), others);
  return attributes;
}

/// Axes are an attribute before `opset`, an operand from then on.
std::vector<OnnxAttribute> reductionSince(int64_t opset) {
  return {A::optionalList("axes").sparse().operandSince(opset, 1), A::integer("keepdims", 1)};
}

const OnnxRow kOnnxPoolRows[] = {
    {.op = "MaxPool", .attributes = poolSince(10), .read = readPool},
    {.op = "AveragePool",
     .attributes = poolSince(19, {A::integer("count_include_pad", 0).since(7, "count_include_pad").sparse()}),
     .read = readPool},
    {.op = "GlobalMaxPool"},
    {.op = "GlobalAveragePool"},
    {.op = "ReduceSum", .attributes = reductionSince(13), .read = readReduce},
    {.op = "ReduceMean", .attributes = reductionSince(18), .read = readReduce},
    {.op = "ReduceMax", .attributes = reductionSince(18), .read = readReduce},
};

}  // namespace

std::span<const OnnxRow> onnxPoolRows() {
  return kOnnxPoolRows;
}

}  // namespace pet
