#include "synth/select.h"

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "ir/text.h"
#include "synth/enumerate/parts.h"

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

std::vector<std::optional<size_t>> smallerPlans(const std::vector<Plan>& plans) {
  std::vector<std::optional<size_t>> smaller(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    bool derived = plans[i].target == Target::kConvTranspose || offsets(plans[i].target);
    for (size_t j = 0; derived && j < plans.size(); ++j) {
      bool sameMoves = plans[j].target == Target::kConv && plans[j].exchanged == plans[i].exchanged &&
                       plans[j].moves == plans[i].moves;
      if (sameMoves) smaller[i] = j;
    }
  }
  return smaller;
}

void Duplicates::drop(const std::vector<size_t>& which, std::vector<Candidate>& candidates) {
  for (size_t i : which) {
    Candidate& c = candidates[i];
    if (c.fate == Fate::kKept && !seen_.insert(canonicalText(c.rule.replacement)).second) c.fate = Fate::kDuplicate;
  }
}

}  // namespace pet
