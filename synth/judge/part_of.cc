#include "synth/judge/part_of.h"

#include <algorithm>
#include <set>

#include "synth/judge/difference.h"
#include "synth/judge/undivided.h"
#include "synth/judge/verdict.h"
#include "synth/prove/prove.h"

namespace pet {
namespace {

constexpr unsigned long kOperations = 1'000'000;  ///< of isl; a class of the canonical patterns takes a hundredth
constexpr unsigned long kProof = 8'000'000;       ///< of isl; blocks as channels take the most

bool isProved(const ShapeClass& shapes, const Difference& programs) {
  const auto equal = orDrop([&]() -> tl::expected<bool, Drop> {
    const poly::Context context(shapes, kProof);
    return std::holds_alternative<Proved>(proveEqual(context, programs.a, programs.b));
  });
  return equal && *equal;
}

}  // namespace

bool isPartOf(const ShapeClass& part, const ShapeClass& whole) {
  auto symbols = [](const ShapeClass& c) { return std::set<std::string>(c.symbols.begin(), c.symbols.end()); };
  if (symbols(part) != symbols(whole)) return false;
  const auto implied = orDrop([&]() -> tl::expected<bool, Drop> {
    const poly::Context context(part, kOperations);
    return std::all_of(whole.constraints.begin(), whole.constraints.end(),
                       [&](const Constraint& c) { return context.implies(c); });
  });
  return implied && *implied;
}

bool computesAlike(const Proposal& part, const Proposal& whole) {
  if (part.where != whole.where || !isPartOf(part.shapes, whole.shapes)) return false;
  const Difference rest = difference(whole.program, part.program).value_or(Difference{whole.program, part.program});
  const auto simpler = undivided(part.shapes, rest);
  return (simpler && isProved(simpler->shapes, simpler->programs)) || isProved(part.shapes, rest);
}

}  // namespace pet
