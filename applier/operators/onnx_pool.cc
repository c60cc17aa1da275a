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
  bool padded = std::any_of(pads.begin(), pads.end(), [](const Expr& p) { return p != Expr(0); });
  if (counts != attributes.end() && !padded && !attributes.contains("auto_pad")) counts->second = Expr(0);
  if (counts != attributes.end() && counts->second != Attribute(Expr(0)) && l.integer(row["ceil_mode"]) != 0)
    Lifting::refuse("ceil_mode with count_include_pad, on which engines disagree");
  return {l.add(row.op, {x}, std::move(attributes))};
}

/// The operator on `x`, along the axes that the node has by such a row.
std::vector<Value> reduced(const Lifting& l, const OnnxRow& row, std::string_view op, Value x) {
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
  return {l.add(op, {x}, {{"axes", exprs(*axes)}, {"keepdims", Expr(keep ? 1 : 0)}})};
}

std::vector<Value> readReduce(const Lifting& l, const OnnxRow& row) {
  return reduced(l, row, row.op, l.operand(0));
}

/// A sum of squares or magnitudes: ONNX gives it its axes as it does ReduceL2, an operand from opset 18 on.
std::vector<Value> readSumOfSizes(const Lifting& l, const OnnxRow& row) {
  const Value sizes = l.add(row.type == "ReduceL1" ? "Abs" : "Square", {l.operand(0)});
  return reduced(l, *findReader("ReduceL2"), "ReduceSum", sizes);
}

const OnnxRow kOnnxPoolRows[] = {
    {.op = "MaxPool", .read = readPool},
    {.op = "AveragePool", .read = readPool},
    {.op = "ReduceSum", .read = readReduce},
    {.op = "ReduceMean", .read = readReduce},
    {.op = "ReduceMax", .read = readReduce},
    {.op = "ReduceL2", .read = readReduce},
    {.type = "ReduceSumSquare", .read = readSumOfSizes, .write = nullptr},
    {.type = "ReduceL1", .read = readSumOfSizes, .write = nullptr},
};

}  // namespace

std::span<const OnnxRow> onnxPoolRows() {
  return kOnnxPoolRows;
}

}  // namespace pet
