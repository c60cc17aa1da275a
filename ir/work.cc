#include "ir/work.h"

#include "ir/ops/einsum.h"
#include "ir/ops/op.h"
#include "ir/ops/resize.h"

namespace pet {
namespace {

std::optional<double> over(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *b > 0 ? *a / *b : 0;
}

std::optional<double> times(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a * *b;
}

/// Of a label, in the first operand that has it.
const Dim& extentOf(char label, const EinsumEquation& e, const Program& program, const Node& node) {
  size_t operand = 0;
  while (e.operands[operand].find(label) == std::string::npos)
    ++operand;
  return program.shape(node.operands[operand])[e.operands[operand].find(label)];
}

/// How many neighbours each element of a Resize is made of.
double tapsOf(const OpView& resize) {
  const std::string& mode = resize.text("mode");
  const double each = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  double taps = 1;
  for (size_t d = 0; d < resize.outputs[0].size(); ++d)
    taps *= keeps(resize, d) ? 1 : each;
  return taps;
}

}  // namespace

std::optional<double> elementsOf(const Shape& shape, const Bindings& symbols) {
  double product = 1;
  for (const Dim& dim : shape) {
    auto extent = dim.evaluate(symbols);
    if (!extent || *extent < 0) return std::nullopt;
    product *= static_cast<double>(*extent);
  }
  return product;
}

std::optional<double> workOf(const Program& program, const Node& node, const Bindings& symbols) {
  auto operand = [&](size_t i) -> const Shape& { return program.shape(node.operands[i]); };
  std::optional<double> made = 0;
  for (const Shape& s : node.shapes) {
    auto each = elementsOf(s, symbols);
    made = each ? std::optional(*made + *each) : std::nullopt;
    if (!made) return std::nullopt;
  }
  switch (node.op->work) {
    case Work::kElement:
      return made;
    case Work::kFilters:
      return times(made, over(elementsOf(operand(1), symbols), elementsOf({operand(1)[0]}, symbols)));
    case Work::kWeights:
      return times(made, elementsOf(operand(1), symbols));
    case Work::kSignal: {
      const auto axis = static_cast<size_t>(node.scalar("axis").asConstant().value());
      return times(made, elementsOf({operand(0)[axis], operand(0).back()}, symbols));
    }
    case Work::kTransposed:
      return times(elementsOf(operand(0), symbols),
                   over(elementsOf(operand(1), symbols), elementsOf({operand(1)[0]}, symbols)));
    case Work::kColumns: {
      bool transposed = node.is(ops::kGemm) && node.scalar("transA").asConstant() != 0;
      return times(made, elementsOf({transposed ? operand(0).front() : operand(0).back()}, symbols));
    }
    case Work::kLabels: {
      const EinsumEquation e = readEinsum(node.text("equation"));
      Shape labels;
      for (char label : labelsOf(e))
        labels.push_back(extentOf(label, e, program, node));
      return elementsOf(labels, symbols);
    }
    case Work::kWindow: {
      double window = 1;
      for (const Expr& e : node.list("kernel_shape")) {
        auto extent = e.evaluate(symbols);
        if (!extent) return std::nullopt;
        window *= static_cast<double>(*extent);
      }
      return times(made, window);
    }
    case Work::kWholeInput:
      return elementsOf(operand(0), symbols);
    case Work::kTaps:
      return times(made, tapsOf({node.attributes, {&operand(0), 1}, node.shapes}));
  }
  return std::nullopt;
}

std::optional<double> workOf(const Program& program, const Bindings& symbols) {
  double total = 0;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.is(ops::kInput) || isConstant(program, {static_cast<int>(i), 0})) continue;
    auto work = workOf(program, node, symbols);
    if (!work) return std::nullopt;
    total += *work;
  }
  return total;
}

}  // namespace pet
