#include "synth/judge/part_of.h"

#include <algorithm>
#include <set>

#include "synth/judge/verdict.h"

namespace pet {
namespace {

constexpr unsigned long kOperations = 1'000'000;  ///< of isl; a class of the canonical patterns takes a hundredth

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

}  // namespace pet
