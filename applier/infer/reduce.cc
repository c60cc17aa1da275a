// Reductions over axes or over all spatial dimensions.

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// The opset from which on the axes are an operand.
int64_t axesOperandSince(const NodeInference& n) {
  return n.node().type == "ReduceSum" ? 13 : 18;
}

Shape reduced(const Shape& shape, const std::set<size_t>& axes, bool keep) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!axes.contains(i)) {
      result.push_back(shape[i]);
    } else if (keep) {
      result.emplace_back(1);
    }
  }
  return result;
}

std::set<size_t> allAxes(size_t rank) {
  std::set<size_t> axes;
  for (size_t i = 0; i < rank; ++i)
    axes.insert(i);
  return axes;
}

// Without axes, or with none: over all dimensions, or with noop_with_empty_axes over none.
void inferReduce(NodeInference& n) {
  bool keep = n.flag("keepdims", true);
  GivenList axes = n.givenList("axes", 1, axesOperandSince(n));
  const Shape& x = n.shape(0);
  if (x.empty()) return n.setShape(0, {});  // engines take axes of a scalar
  if (axes.given && !axes.values) {
    if (keep) n.setShape(0, n.open(x.size()));
    return;
  }
  bool none = !axes.given || axes.values->empty();
  if (none && n.flag("noop_with_empty_axes", false)) return n.setShape(0, x);
  n.setShape(0, reduced(x, none ? allAxes(x.size()) : n.axes(*axes.values, x.size()), keep));
}

void inferArg(NodeInference& n) {
  const Shape& x = n.shape(0);
  if (x.empty()) return n.setShape(0, {});
  size_t axis = n.axisOf("axis", 0, x.size());
  if (x[axis] == Dim(0)) NodeInference::nothing();  // there is no greatest of none
  n.setShape(0, reduced(x, {axis}, n.flag("keepdims", true)));
}

void inferGlobalPool(NodeInference& n) {
  Shape y = n.shape(0);
  if (y.size() < 2) NodeInference::invalid(fmt::format("pools a tensor of {} dimensions", y.size()));
  for (size_t i = 2; i < y.size(); ++i)
    y[i] = 1;
  n.setShape(0, std::move(y));
}

constexpr InferRule kReduceRules[] = {
    {"ArgMax", inferArg},
    {"ArgMin", inferArg},
    {"GlobalAveragePool", inferGlobalPool},
    {"GlobalLpPool", inferGlobalPool},
    {"GlobalMaxPool", inferGlobalPool},
    {"ReduceL1", inferReduce},
    {"ReduceL2", inferReduce},
    {"ReduceLogSum", inferReduce},
    {"ReduceLogSumExp", inferReduce},
    {"ReduceMax", inferReduce},
    {"ReduceMean", inferReduce},
    {"ReduceMin", inferReduce},
    {"ReduceProd", inferReduce},
    {"ReduceSum", inferReduce},
    {"ReduceSumSquare", inferReduce},
};

}  // namespace

std::span<const InferRule> reduceRules() {
  return kReduceRules;
}

}  // namespace pet
