#include "rules/numbers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// The program with its nodes but inputs written anew: `write` gives the first output.
template <class Write>
Program rebuilt(const Program& program, ProgramBuilder builder, Write write) {
  std::map<Value, Value> moved;
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(moved.at(v));
    const Value first = n.is(ops::kInput) ? builder.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1))
                                          : write(builder, n, std::move(operands));
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
      moved[{i, o}] = {first.node, first.output + o};
  }
  std::vector<Value> outputs;
  for (Value v : program.outputs())
    outputs.push_back(moved.at(v));
  return std::move(builder).finish(std::move(outputs));
}

/// The operator is a constant, a function that is told from others by its attributes, or is made of constants.
bool isKnownByName(const Node& n) {
  return n.is(ops::kConstant) || n.op->lower || (n.op->meaning == Meaning::kFunction && !n.is(ops::kClip));
}

}  // namespace

Program withNumbers(const Program& program, const Numbers& values) {
  if (values.empty()) return program;
  return rebuilt(program, {}, [&](ProgramBuilder& builder, const Node& n, std::vector<Value> operands) {
    Attributes attributes = n.attributes;
    for (auto& [name, value] : attributes) {
      const auto* number = std::get_if<double>(&value);
      auto other = number ? values.find(*number) : values.end();
      if (other != values.end()) value = other->second;
    }
    return *builder.add(*n.op, std::move(operands), std::move(attributes), n.names);
  });
}

std::optional<std::string> whyNotAny(double number, const Program& program, NumberPlace place) {
  if (!(number > 0) || !std::isfinite(number)) return fmt::format("{} is not a number > 0", number);
  if (asRational(number)) return fmt::format("{} is a fraction that proofs may calculate with", number);
  bool occurs = false;
  for (const Node& n : program.nodes()) {
    const bool has = std::any_of(n.attributes.begin(), n.attributes.end(),
                                 [&](const auto& a) { return a.second == Attribute(number); });
    if (has && !isKnownByName(n)) return fmt::format("the value {} of {} may matter", number, n.op->name);
    occurs = occurs || has;
  }
  if (!occurs && place == NumberPlace::kPattern) return fmt::format("{} is no attribute in the pattern", number);
  return std::nullopt;
}

Program withWeightsFor(const std::vector<double>& numbers, const Program& program) {
  if (numbers.empty()) return program;
  ProgramBuilder builder;
  std::map<double, Value> weights;
  for (double number : numbers)
    weights.emplace(number, builder.input(fmt::format("any {}", number), {}, true));
  return rebuilt(program, std::move(builder), [&](ProgramBuilder& b, const Node& n, std::vector<Value> operands) {
    auto weight = n.is(ops::kConstant) ? weights.find(n.number("value")) : weights.end();
    if (weight == weights.end()) return *b.add(*n.op, std::move(operands), n.attributes, n.names);
    return *b.add("Expand", {weight->second}, {{"shape", n.list("shape")}}, n.names[0]);
  });
}

}  // namespace pet
