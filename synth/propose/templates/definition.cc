#include <algorithm>
#include <string>
#include <utility>

#include "ir/ops/einsum.h"
#include "ir/ops/op.h"
#include "ir/ops/operator_writer.h"
#include "rules/rewrite/normal_form.h"
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

/// The operator by its row's definition.
std::optional<Program> defined(const Program& p) {
  const Node& node = p.node(p.outputs()[0]);
  const Shape operand = p.shape(node.operands[0]);
  ProgramBuilder builder(p);
  auto value = node.op->definition(builder, {node.attributes, {&operand, 1}, node.shapes}, node.operands);
  if (!value) return std::nullopt;
  auto program = withQuotients(std::move(builder).finish({*value}).withoutDeadNodes());
  return program ? std::optional(std::move(*program)) : std::nullopt;
}

/// A PRelu by a number: a LeakyRelu, which has it as an attribute.
std::optional<Program> leaky(const Program& p) {
  const Node& last = p.node(p.outputs()[0]);
  if (!last.is(ops::kPRelu) || !p.node(last.operands[1]).is(ops::kConstant)) return std::nullopt;
  ProgramBuilder builder(p);
  auto y = builder.add("LeakyRelu", {last.operands[0]}, {{"alpha", p.node(last.operands[1]).number("value")}});
  return y ? std::optional(std::move(builder).finish({*y}).withoutDeadNodes()) : std::nullopt;
}

/// Of an ArgMax over two values the number of the larger one: 1 where the second is, by one comparison.
std::optional<Program> whichOfTwo(const Program& p) {
  const Node& node = p.node(p.outputs()[0]);
  const Value x = node.operands[0];
  const auto axis = node.scalar("axis").asConstant();
  const bool ofEqual = node.scalar("select_last_index") != Expr(0), keeps = node.scalar("keepdims") != Expr(0);
  if (!axis || p.shape(x).at(static_cast<size_t>(*axis)) != Dim(2)) return std::nullopt;
  const std::vector<Expr> axes{Expr(*axis)};
  ProgramBuilder builder(p);
  OperatorWriter step(builder);
  auto at = [&](int64_t i) {
    return step("Slice", {x}, {{"axes", axes}, {"starts", std::vector<Expr>{i}}, {"ends", std::vector<Expr>{i + 1}}});
  };
  const Value first = at(0), second = at(1);
  const Value one = step("Constant", {}, {{"value", 1.0}}), zero = step("Constant", {}, {{"value", 0.0}});
  const Value is = ofEqual ? step("Where", {step("Greater", {first, second}), zero, one})
                           : step("Where", {step("Greater", {second, first}), one, zero});
  auto y = step.result(keeps ? is : step("Squeeze", {is}, {{"axes", axes}}));
  if (!y) return std::nullopt;
  return std::move(builder).finish({*y}).withoutDeadNodes();
}

/// Pieces that are one operator: that operator.
std::optional<Program> asOneOperator(const Program& p) {
  Program whole = rewrite::inNormalForm(p);
  const bool isOne = whole.nodes().size() == whole.inputs().size() + 1;
  const bool wasOne = rewrite::inNormalForm(p, rewrite::Idioms::kAsTheyStand).nodes().size() == whole.nodes().size();
  return isOne && !wasOne ? std::optional(std::move(whole)) : std::nullopt;
}

/// An Einsum of matrices where they lie, times others that some of their outer dimensions have not: one MatMul, which
/// broadcasts; nullopt of others.
std::optional<Program> broadcast(const Program& p, const EinsumEquation& e) {
  const std::string &x = e.operands[0], &y = e.operands[1];
  if (x.size() < 3 || e.result.size() != x.size() || x.compare(0, x.size() - 1, e.result, 0, x.size() - 1) != 0)
    return std::nullopt;
  const char summed = x.back(), column = e.result.back();
  const std::string outer = x.substr(0, x.size() - 2);
  if (y.size() < 2 || y.size() - 2 >= outer.size()) return std::nullopt;
  const std::string wanted = outer.substr(outer.size() + 2 - y.size()) + summed + column;
  if (x.find(column) != std::string::npos || !std::is_permutation(y.begin(), y.end(), wanted.begin(), wanted.end()))
    return std::nullopt;
  const Node& node = p.node(p.outputs()[0]);
  std::vector<Expr> perm;
  for (char label : wanted)
    perm.emplace_back(static_cast<int64_t>(y.find(label)));
  ProgramBuilder builder(p);
  OperatorWriter step(builder);
  const Value matrices = step("Transpose", {node.operands[1]}, {{"perm", perm}});
  auto product = step.result(step("MatMul", {node.operands[0], matrices}));
  if (!product) return std::nullopt;
  return rewrite::inNormalForm(std::move(builder).finish({*product}).withoutDeadNodes());
}

/// Of an Einsum of two operands, in products and sums of other operators, the other ways: with the operands exchanged,
/// so that their matrices are multiplied the other way round; where both have all labels, so that each product is of
/// one row and one column, element by element before what is summed is summed; and by broadcast().
std::vector<std::pair<std::string, Program>> otherWays(const Program& p) {
  const Node& node = p.node(p.outputs()[0]);
  if (!node.is(ops::kEinsum) || node.operands.size() != 2) return {};
  const EinsumEquation e = readEinsum(node.text("equation"));
  const std::string &x = e.operands[0], &y = e.operands[1];
  auto made = [&](const std::string& first, std::vector<Value> operands, const std::string& then) {
    ProgramBuilder builder(p);
    auto value = builder.add(*node.op, std::move(operands), {{"equation", first}});
    if (value && !then.empty()) value = builder.add(*node.op, {*value}, {{"equation", then}});
    return rewrite::inNormalForm(std::move(builder).finish({value.value()}).withoutDeadNodes());
  };
  std::vector<std::pair<std::string, Program>> ways{
      {"by-definition-exchanged", made(y + "," + x + "->" + e.result, {node.operands[1], node.operands[0]}, "")}};
  if (std::is_permutation(x.begin(), x.end(), y.begin(), y.end()))
    ways.emplace_back("by-definition-summed", made(x + "," + y + "->" + x, node.operands, x + "->" + e.result));
  if (auto product = broadcast(p, e)) ways.emplace_back("by-definition-broadcast", std::move(*product));
  return ways;
}

}  // namespace

std::vector<Template> definitionTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1) return {};
  if (auto whole = asOneOperator(p)) {
    ShapeClass shapes = classOf(pattern, {}, *whole);
    return {{"one-operator", "definition", {}, std::move(shapes), std::move(*whole)}};
  }
  const Node& last = p.node(p.outputs()[0]);
  const OpName ofFewFunctions[] = {ops::kElu, ops::kMish, ops::kMod, ops::kSelu, ops::kSoftplus};
  const bool isOfFewFunctions = std::any_of(std::begin(ofFewFunctions), std::end(ofFewFunctions),
                                            [&](const OpName& name) { return last.is(name); });
  const bool isRead = last.is(ops::kEinsum) || last.is(ops::kExponential);
  auto program = isOfFewFunctions      ? defined(p)
               : isRead                ? std::optional(rewrite::inNormalForm(p))
               : last.is(ops::kPRelu)  ? leaky(p)
               : last.is(ops::kArgMax) ? whichOfTwo(p)
                                       : inPieces(p);
  if (!program) return {};
  std::vector<Template> templates{{"by-definition", "definition", {}, classOf(pattern, {}, *program), *program}};
  for (auto& [name, other] : otherWays(p))
    templates.push_back({name, "definition", {}, classOf(pattern, {}, other), other});
  return templates;
}

}  // namespace pet
