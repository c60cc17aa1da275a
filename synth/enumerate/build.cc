#include <algorithm>
#include <set>
#include <tuple>

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
  // Every operator on activations counts one: a maximal chain of layout operators together, a chain of Adds (an n-ary
  // sum), and siblings, which are the same operator at the same distance from the inputs.
  std::vector<int> distance(program.nodes().size(), 0);
  std::set<std::tuple<int, bool, std::string_view>> counted;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.op->name == "Input" || isConstant(program, {static_cast<int>(i), 0})) continue;
    auto continues = [&](Value v) {
      const Node& o = program.node(v);
      return (n.op->layout && o.op->layout) || (n.op->name == "Add" && o.op->name == "Add");
    };
    for (Value v : n.operands) {
      int before = distance[static_cast<size_t>(v.node)];
      distance[i] = std::max(distance[i], continues(v) ? before : before + 1);
    }
    counted.emplace(distance[i], n.op->layout, n.op->layout ? "" : n.op->name);
  }
  return static_cast<int>(counted.size());
}

}  // namespace pet
