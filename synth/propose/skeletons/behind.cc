#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/analysis/operators.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

std::optional<Behind> split(const PatternFacts& facts) {
  std::vector<Shape> shapes;
  std::vector<Expr> parts;
  for (size_t o = 0; o < facts.program.outputs().size(); ++o)
    shapes.push_back(facts.output(o));
  auto channels = joinedChannels(shapes);
  if (!channels) return std::nullopt;
  size_t axis = channelAxis(shapes[0]);
  for (const Shape& s : shapes)
    parts.push_back(s[axis].affine());
  Shape wanted = shapes[0];
  wanted[axis] = *channels;
  auto make = [axis, parts](ProgramBuilder& b, const Values& v) -> Expected<Values> {
    auto s = b.add("Split", {v[0]}, {{"axis", Expr(static_cast<int64_t>(axis))}, {"split", parts}});
    if (!s) return tl::unexpected(s.error());
    Values outputs;
    for (size_t i = 0; i < parts.size(); ++i)
      outputs.push_back({s->node, static_cast<int>(i)});
    return outputs;
  };
  return Behind{"split", {std::move(wanted)}, make};
}

/// The pattern's last operator, if it has no weights and keeps the channels.
std::optional<Behind> last(const PatternFacts& facts) {
  const Node& n = facts.root();
  if (n.is(ops::kInput) || !isWeightless(facts.program, n)) return std::nullopt;
  const Shape &inside = facts.program.shape(n.operands[0]), &y = facts.output();
  if (inside.size() != y.size() || inside[channelAxis(inside)] != y[channelAxis(y)]) return std::nullopt;
  auto make = [op = n.op, attributes = n.attributes](ProgramBuilder& b, const Values& v) {
    return only(b.add(*op, {v[0]}, attributes));
  };
  return Behind{std::string(n.op->name), {inside}, make};
}

/// The pattern's operators without weights that one after the other compute with this input alone.
std::vector<const Node*> ownOperators(const PatternFacts& facts, Value input) {
  std::vector<const Node*> chain;
  const auto& nodes = facts.program.nodes();
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[static_cast<size_t>(i)];
    if (!isWeightless(facts.program, n) || n.operands[0] != input) continue;
    chain.push_back(&n);
    input = {i, 0};
  }
  return chain;
}

/// Each value through its input's own operators, then the sum. Nullopt: no input has any, or values are no images.
std::optional<Behind> sumBehindOwn(const PatternFacts& facts) {
  Behind result{"sum", {}, {}};
  std::vector<std::vector<const Node*>> chains;
  for (Value v : facts.activations) {
    Shape wanted = facts.program.shape(v);
    if (!isImage(wanted) || !isImage(facts.output())) return std::nullopt;
    wanted[1] = facts.output()[1];
    result.wanted.push_back(std::move(wanted));
    chains.push_back(ownOperators(facts, v));
    for (const Node* n : chains.back())
      if (result.name.find(n->op->name) == std::string::npos) result.name += fmt::format("-{}", n->op->name);
  }
  if (result.name == "sum") return std::nullopt;
  result.make = [chains](ProgramBuilder& b, Values values) -> Expected<Values> {
    for (size_t i = 0; i < values.size(); ++i) {
      for (const Node* n : chains[i]) {
        auto y = b.add(*n->op, {values[i]}, onOperand(*n->op, n->attributes, b.shape(values[i])));
        if (!y) return tl::unexpected(y.error());
        values[i] = *y;
      }
    }
    return sumOf(b, values);
  };
  return result;
}

}  // namespace

std::vector<Behind> endingsOf(const PatternFacts& facts) {
  std::vector<Behind> result;
  if (facts.program.outputs().size() > 1) {
    if (auto b = split(facts)) result.push_back(std::move(*b));
    return result;
  }
  auto nothing = [](ProgramBuilder&, const Values& v) -> Expected<Values> { return v; };
  if (!facts.single) result.push_back({"", {facts.output()}, nothing});
  for (auto make : {last, depthToSpace}) {
    if (auto b = make(facts)) result.push_back(std::move(*b));
  }
  return result;
}

Expected<Values> sumOf(ProgramBuilder& b, const Values& values) {
  Expected<Value> total = values[0];
  for (size_t i = 1; i < values.size() && total; ++i)
    total = b.add("Add", {*total, values[i]});
  return only(total);
}

std::vector<Arrangement> sumsOverInputs(const PatternFacts& facts) {
  size_t n = facts.activations.size();
  if (n < 2 || facts.program.outputs().size() > 1) return {};
  auto operands = operandsBefore(facts);
  operands.resize(n);  // the inputs come first
  std::vector<Arrangement> result;
  if (auto sum = sumBehindOwn(facts)) result.push_back({"", operands, std::move(*sum), "exchanged"});
  Behind sum{"sum", std::vector<Shape>(n, facts.output()), sumOf};
  result.push_back({"", std::move(operands), std::move(sum), "split-inputs"});
  return result;
}

}  // namespace pet
