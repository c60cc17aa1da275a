#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/digits.h"
#include "ir/ops/op.h"
#include "synth/analysis/operators.h"
#include "synth/propose/skeletons/arrange.h"
#include "synth/propose/skeletons/linear_part.h"

namespace pet {
namespace {

/// How many of the pattern's operators may stand in a row before the hole.
constexpr size_t kMostInARow = 2;

Operand input(const PatternFacts& facts, Value v) {
  std::string name = facts.program.name(v);
  auto make = [name](ProgramBuilder& b) -> Expected<Value> { return *b.peek().find(name); };
  return {name, facts.program.shape(v), make, v};
}

std::optional<Operand> applied(const PatternFacts& facts, const Node& n, const Operand& to) {
  Attributes attributes = onOperand(*n.op, n.attributes, to.shape);
  ProgramBuilder probe;
  auto shaped = probe.add(*n.op, {probe.input("x", to.shape)}, attributes);
  if (!shaped) return std::nullopt;
  auto make = [op = n.op, attributes, inner = to.make](ProgramBuilder& b) -> Expected<Value> {
    auto x = inner(b);
    if (!x) return x;
    return b.add(*op, {*x}, attributes);
  };
  std::optional<Value> own;
  if (to.own == n.operands[0]) own = Value{static_cast<int>(&n - facts.program.nodes().data()), 0};
  return Operand{fmt::format("{}({})", n.op->name, to.name), probe.shape(*shaped), std::move(make), own};
}

/// Convs one after the other, and biases: where one of them goes first, the other's weights are open.
bool isChainOfConvs(const PatternFacts& facts) {
  const Program& p = facts.program;
  return std::all_of(p.nodes().begin(), p.nodes().end(), [&](const Node& n) {
    const bool isOnConstant = n.operands.size() == 2 && isConstant(p, n.operands[1]) && !isConstant(p, n.operands[0]);
    return n.is(ops::kInput) || (isOnConstant && (n.is(ops::kConv) || n.is(ops::kAdd)));
  });
}

/// One of the pattern's Convs with its own weights, on an input that it does not stand on: in as many groups as fit.
std::optional<Operand> convolved(const PatternFacts& facts, const Node& n, const Operand& to) {
  if (!n.is(ops::kConv) || n.operands[0] == to.own) return std::nullopt;
  const Value w = n.operands[1];
  const Dim& perGroup = facts.program.shape(w)[1];
  const bool fits = to.shape.size() == n.shapes[0].size() && perGroup.isAffine();
  auto groups = fits ? divideByInner(to.shape[1], perGroup.affine()) : std::nullopt;
  if (!groups || !groups->isAffine()) return std::nullopt;
  Attributes attributes = n.attributes;
  attributes["group"] = groups->affine();
  const std::string weights = facts.program.name(w);
  ProgramBuilder probe;
  const Value x = probe.input("x", to.shape), own = probe.input("w", facts.program.shape(w), true);
  auto shaped = probe.add(*n.op, {x, own}, attributes);
  if (!shaped) return std::nullopt;
  auto make = [op = n.op, attributes, weights, inner = to.make](ProgramBuilder& b) -> Expected<Value> {
    auto on = inner(b);
    return on ? b.add(*op, {*on, *b.peek().find(weights)}, attributes) : on;
  };
  return Operand{fmt::format("own-conv({})", to.name), probe.shape(*shaped), std::move(make)};
}

}  // namespace

std::optional<Operand> joinedInputs(const PatternFacts& facts) {
  std::vector<Shape> shapes;
  std::vector<std::string> names;
  for (Value v : facts.activations) {
    shapes.push_back(facts.program.shape(v));
    names.push_back(facts.program.name(v));
  }
  auto channels = joinedChannels(shapes);
  if (!channels) return std::nullopt;
  Shape shape = shapes[0];
  size_t axis = channelAxis(shape);
  shape[axis] = *channels;
  auto make = [names, axis](ProgramBuilder& b) {
    std::vector<Value> parts;
    for (const std::string& name : names)
      parts.push_back(*b.peek().find(name));
    return b.add("Concat", std::move(parts), {{"axis", Expr(static_cast<int64_t>(axis))}});
  };
  return Operand{"concat", std::move(shape), make};
}

std::vector<Operand> operandsBefore(const PatternFacts& facts) {
  std::vector<Operand> result;
  for (Value v : facts.activations)
    result.push_back(input(facts, v));
  if (facts.activations.size() > 1) {
    if (auto o = joinedInputs(facts)) result.push_back(std::move(*o));
  }
  for (size_t i = 0, inputs = isChainOfConvs(facts) ? facts.activations.size() : 0; i < inputs; ++i) {
    for (const Node& n : facts.program.nodes()) {
      if (auto o = convolved(facts, n, result[i])) result.push_back(std::move(*o));
    }
  }
  // The pattern's own operators, on whatever has the shape of their operand but for the channels.
  for (size_t from = 0, round = 0; round < kMostInARow; ++round) {
    for (size_t to = result.size(); from < to; ++from) {
      for (const Node& n : facts.program.nodes()) {
        if (!isWeightless(facts.program, n)) continue;
        if (!alike(facts.program.shape(n.operands[0]), result[from].shape)) continue;
        if (auto o = applied(facts, n, result[from])) result.push_back(std::move(*o));
      }
    }
  }
  return result;
}

}  // namespace pet
