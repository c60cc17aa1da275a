#include "ir/value_kinds.h"

#include "ir/ops/op.h"

namespace pet {

bool isTruth(const Program& program, Value value) {
  const Node& n = program.node(value);
  if (n.is(ops::kNot) || (n.op->layout && n.operands.size() == 1)) return isTruth(program, n.operands[0]);
  return n.is(ops::kGreater) || n.is(ops::kOneHot);
}

bool computesWithTruth(const Program& program) {
  for (const Node& n : program.nodes()) {
    if (n.op->layout || n.is(ops::kNot) || n.is(ops::kIdentity)) continue;
    for (size_t i = n.is(ops::kWhere) ? 1 : 0; i < n.operands.size(); ++i) {
      if (isTruth(program, n.operands[i])) return true;
    }
  }
  return false;
}

std::optional<Expr> positionsChosenBy(const Program& program, Value input) {
  for (const Node& n : program.nodes()) {
    const bool isLookup = n.is(ops::kLookup);
    if (!isLookup && !n.is(ops::kOneHot)) continue;
    Value index = n.operands[0];
    auto passesOn = [](const Node& m) { return (m.op->layout || m.is(ops::kClip)) && m.operands.size() == 1; };
    while (passesOn(program.node(index)))
      index = program.node(index).operands[0];
    if (index == input) return isLookup ? program.shape(n.operands[1])[0].affine() : n.scalar("depth");
  }
  return std::nullopt;
}

}  // namespace pet
