#include "ir/ops/op.h"
#include "synth/analysis/in_pieces.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// What remains to be computed of a node: a product with an inverse is a quotient.
std::vector<Value> quotient(const Program& program, const Node& node) {
  if (!node.is(ops::kMul)) return {};
  const Node& inverse = program.node(node.operands[1]);
  return inverse.is(ops::kReciprocal) ? std::vector{node.operands[0], inverse.operands[0]} : std::vector<Value>();
}

Expected<Program> withQuotients(const Program& program) {
  ProgramBuilder builder;
  std::map<Value, Value> now;
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    if (n.is(ops::kInput)) {
      now[{i, 0}] = builder.input(n.names[0], n.shapes[0], isConstant(program, {i, 0}));
      continue;
    }
    const std::vector<Value> divided = quotient(program, n);
    std::vector<Value> operands;
    for (Value v : divided.empty() ? n.operands : divided)
      operands.push_back(now.at(v));
    auto added = builder.add(divided.empty() ? *n.op : *findOp(ops::kDiv.text), std::move(operands), n.attributes);
    if (!added) return tl::unexpected(added.error());
    now[{i, 0}] = *added;
  }
  return std::move(builder).finish({now.at(program.outputs()[0])}).withoutDeadNodes();
}

std::optional<Program> mish(const Program& p) {
  const Node& node = p.node(p.outputs()[0]);
  const Shape operand = p.shape(node.operands[0]);
  ProgramBuilder builder(p);
  auto value = node.op->definition(builder, {node.attributes, {&operand, 1}, node.shapes}, node.operands);
  if (!value) return std::nullopt;
  auto program = withQuotients(std::move(builder).finish({*value}).withoutDeadNodes());
  return program ? std::optional(std::move(*program)) : std::nullopt;
}

}  // namespace

std::vector<Template> definitionTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1) return {};
  auto program = p.node(p.outputs()[0]).is(ops::kMish) ? mish(p) : inPieces(p);
  if (!program) return {};
  return {{"by-definition", "definition", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
