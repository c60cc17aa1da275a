#include <algorithm>

#include "ir/denote.h"
#include "ir/ops/operator_writer.h"

namespace pet {
namespace {

bool isPrimitive(const Program& program) {
  return std::all_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.op->lower == nullptr; });
}

/// The program with each node but inputs written anew by `write`.
template <class Write>
Expected<Program> replaced(const Program& program, Write write) {
  ProgramBuilder builder;
  std::map<Value, Value> moved;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    std::vector<Value> operands;
    std::vector<Shape> shapes;
    for (Value v : n.operands) {
      operands.push_back(moved.at(v));
      shapes.push_back(program.shape(v));
    }
    Value result;
    if (n.is(ops::kInput)) {
      result = builder.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
    } else {
      Expected<Value> added = write(builder, n, OpView{n.attributes, shapes, n.shapes}, operands);
      if (!added) return tl::unexpected(added.error());
      result = *added;
    }
    for (int o = 0; o < static_cast<int>(n.shapes.size()); ++o)
      moved[{static_cast<int>(i), o}] = {result.node, result.output + o};
  }
  std::vector<Value> outputs;
  for (Value v : program.outputs())
    outputs.push_back(moved.at(v));
  return std::move(builder).finish(outputs);
}

/// Replaces each composite operator once.
Expected<Program> lowerOnce(const Program& program) {
  return replaced(program,
                  [](ProgramBuilder& builder, const Node& n, const OpView& view,
                     const std::vector<Value>& operands) -> Expected<Value> {
                    return n.op->lower ? n.op->lower(builder, view, operands)
                                       : builder.add(*n.op, operands, n.attributes);
                  });
}

/// A definition looks at the node: that of a Tanh at the Softplus that it is of.
bool isLookedAt(const Program& program, const Node& node, const Unfold& unfold) {
  constexpr OpName kTanh{"Tanh"};
  return node.is(ops::kSoftplus) && unfold.contains(kTanh.text) &&
         std::any_of(program.nodes().begin(), program.nodes().end(), [&](const Node& reader) {
           return reader.is(kTanh) && &program.node(reader.operands[0]) == &node;
         });
}

/// Replaces each operator in `unfold` by its definition, where its attributes have one, and those of that likewise.
Expected<Program> definedBy(const Program& program, const Unfold& unfold) {
  bool isComplete = true;
  auto defined = replaced(program,
                          [&](ProgramBuilder& builder, const Node& n, const OpView& view,
                              const std::vector<Value>& operands) -> Expected<Value> {
                            const bool isUnfolded = n.op->definition && unfold.contains(n.op->name);
                            const bool comesLater = isUnfolded && isLookedAt(program, n, unfold);
                            if (comesLater) isComplete = false;
                            if (isUnfolded && !comesLater) {
                              auto value = n.op->definition(builder, view, operands);
                              isComplete = isComplete && !value;
                              if (value || value.error().kind != ErrorKind::kUnsupported) return value;
                            }
                            return builder.add(*n.op, operands, n.attributes);
                          });
  return isComplete || !defined ? defined : definedBy(*defined, unfold);
}

/// Relu(z) is z where z > 0, and Relu(-z) is -z where it is not: by [z > 0] = Not(Not(Relu(z))), or with kNegative by
/// [z < 0] = Not(Not(Relu(-z))). What Not takes stays.
Expected<Program> byConditions(const Program& program, bool negative) {
  return replaced(program,
                  [&](ProgramBuilder& builder, const Node& n, const OpView&,
                      const std::vector<Value>& operands) -> Expected<Value> {
                    OperatorWriter step(builder);
                    if (n.is(ops::kNot) && program.node(n.operands[0]).is(ops::kRelu)) {
                      const Value z = builder.peek().node(operands[0]).operands[0];
                      return step.result(step("Not", {step("Relu", {z})}));
                    }
                    if (!n.is(ops::kRelu)) return builder.add(*n.op, operands, n.attributes);
                    const Value z = operands[0];
                    const Node& of = builder.peek().node(z);
                    const bool isNegated = of.is(ops::kNeg);
                    Value compared = z;
                    if (isNegated && !negative) compared = of.operands[0];
                    if (!isNegated && negative) compared = step("Neg", {z});
                    Value holds = step("Not", {step("Relu", {compared})});
                    if (compared == z) holds = step("Not", {holds});
                    return step.result(step("Mul", {z, holds}));
                  });
}

}  // namespace

Expected<Program> lower(const Program& program, const Unfold& unfold) {
  Expected<Program> result = program;
  while (result && !isPrimitive(*result))
    result = lowerOnce(*result);
  if (result && !unfold.empty()) result = definedBy(*result, unfold);
  for (std::string_view sign : {kPositive, kNegative}) {
    if (result && unfold.contains(sign)) result = byConditions(*result, sign == kNegative);
  }
  return result;
}

Expected<Unfoldable> unfoldable(const Program& program) {
  auto primitive = lower(program);
  if (!primitive) return tl::unexpected(primitive.error());
  Unfoldable result;
  for (const Node& n : primitive->nodes()) {
    const Facts& facts = n.op->facts;
    const bool hasLaw = facts.odd || facts.exponential || facts.positivePart || facts.domain == Facts::Domain::kNotZero;
    if (hasLaw) result.laws.emplace(n.op->name);
    if (n.op->definition) result.definitions.emplace(n.op->name);
  }
  return result;
}

}  // namespace pet
