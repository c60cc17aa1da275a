#include "synth/finish.h"

#include <algorithm>

#include "ir/denote.h"
#include "synth/poly/poly.h"
#include "synth/prove/match.h"

namespace pet {
namespace {

/// Constraints that do not follow from the others, sorted.
ShapeClass minimal(const ShapeClass& shapes) {
  ShapeClass result{shapes.symbols, shapes.constraints};
  std::sort(result.constraints.begin(), result.constraints.end(), [](const Constraint& a, const Constraint& b) {
    return std::pair(a.str().size(), a) > std::pair(b.str().size(), b);  // long ones go first
  });
  for (size_t i = 0; i < result.constraints.size();) {
    ShapeClass without = result;
    without.constraints.erase(without.constraints.begin() + static_cast<std::ptrdiff_t>(i));
    if (poly::Context(without).implies(result.constraints[i])) {
      result = std::move(without);
    } else {
      ++i;
    }
  }
  std::sort(result.constraints.begin(), result.constraints.end());
  return result;
}

/// True if some weight slot is always zero: then 0 · NaN reaches outputs that the pattern keeps clean.
bool hasZeroSlots(const poly::Context& context, const Program& program) {
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.op->name != "IndexMap") continue;
    ProgramBuilder b;
    Value w = b.input("w", program.shape(n.operands[0]));
    auto u = b.add(*n.op, {w}, n.attributes);
    Program map = std::move(b).finish({*u});
    NameSource names;
    auto d = denote(map, *u, names);
    if (!d) return true;
    if (!positionsWithoutTerms(context, *d).isEmpty()) return true;
  }
  return false;
}

/// Terms with a table's numbers cancel, or are multiplied by zeros; those with NaN do not.
bool hasTables(const Program& program) {
  return std::any_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.op->name == "Table"; });
}

}  // namespace

void finish(Rule& rule) {
  rule.shapes = minimal(rule.shapes);
  poly::Context context(rule.shapes);
  rule.numerics.spreadsNan = hasZeroSlots(context, rule.replacement) || hasTables(rule.replacement);
}

}  // namespace pet
