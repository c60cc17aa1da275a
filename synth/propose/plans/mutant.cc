#include <algorithm>
#include <set>

#include "ir/denote.h"
#include "synth/propose/plans/assemble.h"
#include "synth/propose/plans/failure.h"
#include "synth/propose/plans/slots.h"

namespace pet {
namespace {

Mutant build(const Pattern& pattern, const MainOperator& analysed, const Plan& plan, VoteTable& votes) {
  Specialised special = specialise(pattern, analysed, plan);
  Parts parts = deriveParts(special, plan, votes);
  finishSlots(special, plan.target, parts);
  Assembled made = assemble(special, plan.target, std::move(parts));
  Mutant m{plan, special.where, special.shapes, special.op.program, made.program, *made.program.find(made.main)};
  for (const Constraint& c : obligations(m.program)) {
    if (c.decided() == false) stop(PlanFailure::Why::kEmptyClass, "never " + c.str());
    m.shapes.require(c);
  }
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

}  // namespace pet
