#include "synth/select.h"

#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "ir/text.h"

namespace pet {

std::string canonicalText(const Program& program) {
  ProgramBuilder b;
  std::vector<Value> moved;
  for (const Node& n : program.nodes()) {
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(moved[static_cast<size_t>(v.node)]);
    std::string name = fmt::format("v{}", moved.size());
    moved.push_back(n.op->name == "Input" ? b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1))
                                          : *b.add(*n.op, operands, n.attributes, {name}));
  }
  Value out = moved[static_cast<size_t>(program.outputs()[0].node)];
  return printStatements(std::move(b).finish({out}));
}

void select(const std::vector<Plan>& plans, std::vector<Candidate>& candidates) {
  std::set<std::string> seen;
  auto kept = [&](size_t i) { return candidates[i].fate == Fate::kKept; };
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!kept(i)) continue;
    if (!seen.insert(canonicalText(candidates[i].rule.replacement)).second) {
      candidates[i].fate = Fate::kDuplicate;
      continue;
    }
    bool derived = plans[i].target == Target::kConvTranspose || plans[i].target == Target::kConvOffset ||
                   plans[i].target == Target::kMatMulOffset;
    for (size_t j = 0; derived && kept(i) && j < plans.size(); ++j) {
      bool sameMoves = j != i && plans[j].target == Target::kConv && plans[j].moves == plans[i].moves &&
                       plans[j].exchanged == plans[i].exchanged;
      if (sameMoves && kept(j)) candidates[i].fate = Fate::kComposition;
    }
  }
}

}  // namespace pet
