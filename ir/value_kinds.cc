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

bool readsIndices(const OpRow& op) {
  return op.is(ops::kOneHot) || op.is(ops::kLookup);
}

std::optional<Expr> positionsChosenBy(const Program& program, Value input) {
  for (const Node& n : program.nodes()) {
    if (!readsIndices(*n.op)) continue;
    Value index = n.operands[0];
    auto passesOn = [](const Node& m) { return (m.op->layout || m.is(ops::kClip)) && m.operands.size() == 1; };
    while (passesOn(program.node(index)))
      index = program.node(index).operands[0];
    if (index == input) return n.is(ops::kOneHot) ? n.scalar("depth") : program.shape(n.operands[1])[0].affine();
  }
  return std::nullopt;
}

}  // namespace pet
