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
  if (row.type == "ReduceSumSquare") x = l.add("Square", {x});
  if (row.type == "ReduceL1") x = l.add("Abs", {x});
  return {l.add(row.op, {x}, {{"axes", exprs(*axes)}, {"keepdims", Expr(keep ? 1 : 0)}})};
}

const OnnxRow kOnnxPoolRows[] = {
    {.op = "MaxPool", .read = readPool},
    {.op = "AveragePool", .read = readPool},
    {.op = "ReduceSum", .read = readReduce},
    {.op = "ReduceMean", .read = readReduce},
    {.op = "ReduceMax", .read = readReduce},
    {.op = "ReduceL2", .read = readReduce},
    {.op = "ReduceSum", .type = "ReduceSumSquare", .read = readReduce, .write = nullptr},
    {.op = "ReduceSum", .type = "ReduceL1", .read = readReduce, .write = nullptr},
};

}  // namespace

std::span<const OnnxRow> onnxPoolRows() {
  return kOnnxPoolRows;
}

}  // namespace pet
