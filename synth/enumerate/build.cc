#include <algorithm>

#include "ir/denote.h"
#include "synth/enumerate/assemble.h"
#include "synth/enumerate/failure.h"
#include "synth/enumerate/slots.h"

namespace pet {
namespace {

Mutant build(const Pattern& pattern, const MainOperator& analysed, const Plan& plan, VoteTable& votes) {
  Specialised special = specialise(pattern, analysed, plan);
  Parts parts = deriveParts(special, plan, votes);
  finishSlots(special, plan.target, parts);
  Assembled made = assemble(special, plan.target, std::move(parts));
  Mutant m{plan, special.where, special.shapes, special.op.program, made.program, *made.program.find(made.main), 0};
  for (const Constraint& c : obligations(m.program)) {
    if (c.decided() == false) stop(PlanFailure::Why::kEmptyClass, "never " + c.str());
    m.shapes.require(c);
  }
  m.depth = depthOf(m.program);
  return m;
}

}  // namespace

tl::expected<Mutant, PlanFailure> buildMutant(const Pattern& pattern,
                                              const MainOperator& analysed,
                                              const Plan& plan,
                                              VoteTable& votes) {
  try {
    return build(pattern, analysed, plan, votes);
  } catch (const PlanStops& s) {
    return tl::unexpected(s.failure);
  }
}

int depthOf(const Program& program) {
  // Every operator on activations counts one, a maximal chain of layout operators together one.
  int depth = 0;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.op->name == "Input" || isConstant(program, {static_cast<int>(i), 0})) continue;
    bool continues = n.op->layout && std::any_of(n.operands.begin(), n.operands.end(),
                                                 [&](Value v) { return program.node(v).op->layout; });
    bool sibling = n.op->layout &&
                   std::any_of(program.nodes().begin(), program.nodes().begin() + static_cast<std::ptrdiff_t>(i),
                               [&](const Node& o) { return o.op->layout && o.op == n.op && o.operands == n.operands; });
    if (!continues && !sibling) ++depth;
  }
  return depth;
}

}  // namespace pet
