#include "synth/analysis/in_pieces.h"

#include <algorithm>

#include "ir/ops/op.h"
#include "ir/ops/operator_writer.h"

namespace pet {
namespace {

/// e = exp(x - max x), e / Σ e
Expected<Value> softmaxInPieces(ProgramBuilder& builder, const Node& node) {
  OperatorWriter step(builder);
  const Value x = node.operands[0];
  const Attributes along{{"axes", std::vector<Expr>{node.scalar("axis")}}, {"keepdims", Expr(1)}};
  const Value e = step("Exp", {step("Sub", {x, step("ReduceMax", {x}, along)})});
  return step.result(step("Div", {e, step("ReduceSum", {e}, along)}));
}

}  // namespace

std::optional<Program> inPieces(const Program& program) {
  const auto& nodes = program.nodes();
  const auto inputs =
      static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.is(ops::kInput); }));
  if (program.outputs().size() != 1 || inputs + 1 != nodes.size()) return std::nullopt;
  const Node& node = program.node(program.outputs()[0]);
  if (!node.op->lower || node.operands.size() != 1) return std::nullopt;
  std::vector<Shape> operands;
  for (Value v : node.operands)
    operands.push_back(program.shape(v));
  ProgramBuilder builder(program);
  const bool isSoftmax = node.is(ops::kSoftmax);
  auto value = isSoftmax ? softmaxInPieces(builder, node)
                         : node.op->lower(builder, {node.attributes, operands, node.shapes}, node.operands);
  if (!value) return std::nullopt;
  Program pieces = std::move(builder).finish({*value}).withoutDeadNodes();
  const bool mayOverflow = !isSoftmax && std::any_of(pieces.nodes().begin(), pieces.nodes().end(),
                                                     [](const Node& n) { return n.op->facts.exponential; });
  return mayOverflow ? std::nullopt : std::optional(std::move(pieces));
}

}  // namespace pet
