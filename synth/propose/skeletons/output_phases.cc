#include <fmt/format.h>

#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

/// Along each axis.
constexpr int64_t kBlock = 2;
constexpr size_t kPhases = kBlock * kBlock;

/// Channels f of each phase (p, q) of an image y, at (p q f); nullopt where y's extents are no numbers of positions.
std::optional<Shape> phaseOf(const Shape& y) {
  if (y.size() != 4 || !y[1].isAffine() || !y[2].isAffine() || !y[3].isAffine()) return std::nullopt;
  return Shape{y[0], y[1], Dim(ceilDiv(y[2].affine(), kBlock)), Dim(ceilDiv(y[3].affine(), kBlock))};
}

/// Blocks of positions come as channels; what is too much at the end is cut off.
Expected<Value> toImage(ProgramBuilder& b, Value phases, const Shape& y) {
  auto u = b.add("DepthToSpace", {phases}, {{"blocksize", Expr(kBlock)}});
  if (!u || b.shape(*u) == y) return u;
  return b.add("Slice", {*u},
               {{"axes", std::vector<Expr>{2, 3}},
                {"starts", std::vector<Expr>{0, 0}},
                {"ends", std::vector<Expr>{y[2].affine(), y[3].affine()}}});
}

/// Every other position is a multiple of the input's: a ConvTranspose has phases of its own, a Conv behind Resize too.
bool hasPhases(const PatternFacts& facts) {
  return facts.upsamples && facts.program.outputs().size() == 1;
}

}  // namespace

std::optional<Behind> depthToSpace(const PatternFacts& facts) {
  const Shape& y = facts.output();
  auto phase = phaseOf(y);
  if (!hasPhases(facts) || facts.single || !phase) return std::nullopt;
  (*phase)[1] = Dim(y[1].affine() * static_cast<int64_t>(kPhases));
  return Behind{"d2s", {*phase}, [y](ProgramBuilder& b, const Values& v) { return only(toImage(b, v[0], y)); }};
}

std::vector<Arrangement> phasesOf(const PatternFacts& facts) {
  const Shape& y = facts.output();
  auto phase = phaseOf(y);
  if (!hasPhases(facts) || !phase) return {};
  auto join = [y](ProgramBuilder& b, const Values& v) -> Expected<Values> {
    auto phases = b.add("Concat", v, {{"axis", Expr(1)}});
    if (!phases) return tl::unexpected(phases.error());
    return only(toImage(b, *phases, y));
  };
  std::vector<Arrangement> result;
  for (const Operand& o : operandsBefore(facts)) {
    result.push_back({fmt::format("phases({})", o.name),
                      std::vector<Operand>(kPhases, o),
                      {"d2s", std::vector<Shape>(kPhases, *phase), join, true}});
  }
  return result;
}

}  // namespace pet
