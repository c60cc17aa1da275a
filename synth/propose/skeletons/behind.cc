#include "ir/ops/op.h"
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
  return {{"", std::move(operands), {"sum", std::vector<Shape>(n, facts.output()), sumOf}, "split-inputs"}};
}

}  // namespace pet
