#include "synth/enumerate/vote.h"

namespace pet {
namespace {

const Expr v = Expr::variable("v"), x = Expr::variable("x"), r = Expr::variable("r"), o = Expr::variable("o"),
           fi = Expr::variable("fi"), fo = Expr::variable("fo"), a = Expr::variable("a"), b = Expr::variable("b");

void inRange(poly::Conjunction& into, const Expr& e, const Expr& extent) {
  into.push_back(Constraint::le(0, e));
  into.push_back(Constraint::lt(e, extent));
}

/// Source and guards of a single-valued relation slots -> r.
std::optional<Vote> weights(const poly::Context& context,
                            const poly::Map& slots,
                            const std::vector<std::string>& names,
                            const poly::Conjunction& box,
                            const Axis& axis) {
  if (slots.isEmpty() || !slots.isSingleValued()) return std::nullopt;
  auto domain = slots.domain();
  auto pieces = slots.function(names, domain);
  if (pieces.empty()) return std::nullopt;
  for (const auto& p : pieces) {
    if (p.image != pieces[0].image) return std::nullopt;
  }
  Vote vote;
  vote.source = pieces[0].image[0];
  poly::Conjunction known = box;
  inRange(known, vote.source, axis.taps);
  auto guards = domain.constraints(names, context.set(names, known));
  if (guards.size() > 1) return std::nullopt;
  if (!guards.empty()) vote.guards = guards[0];
  return vote;
}

}  // namespace

std::optional<Vote> voteWindow(const poly::Context& context, const Axis& axis, const WindowCut& cut) {
  poly::Conjunction c{Constraint::eq(
      axis.relation.substitute({{"v", b * cut.outFactor + fo}, {"x", a * cut.inFactor + fi - cut.shift}}), 0)};
  c.push_back(cut.transposed ? Constraint::eq(b, a * cut.stride + o * cut.dilation)
                             : Constraint::eq(a, b * cut.stride + o * cut.dilation));
  inRange(c, r, axis.taps);
  inRange(c, fi, cut.inFactor);
  inRange(c, fo, cut.outFactor);
  if (cut.equal) c.push_back(Constraint::eq(fi, fo));
  poly::Map slots = context.map({"o", "fi", "fo"}, {"r"}, c, {"a", "b"});
  if (slots.isEmpty()) return std::nullopt;
  auto domain = slots.domain();
  // Every shape of the class must have a weight somewhere, and every weight a slot.
  if (domain.symbolCondition() != poly::Conjunction{}) return std::nullopt;
  poly::Conjunction all;
  inRange(all, r, axis.taps);
  if (!context.set({"r"}, all).isSubset(slots.range())) return std::nullopt;
  auto least = domain.minimum(0), greatest = domain.maximum(0);
  if (!least || !greatest) return std::nullopt;
  poly::Conjunction box{Constraint::le(*least, o), Constraint::le(o, *greatest)};
  inRange(box, fi, cut.inFactor);
  inRange(box, fo, cut.outFactor);
  if (cut.equal) box.push_back(Constraint::eq(fi, fo));
  auto vote = weights(context, slots, {"o", "fi", "fo"}, box, axis);
  if (!vote) return std::nullopt;
  vote->taps = *greatest - *least + 1;
  vote->padBegin = -*least;
  std::map<std::string, Expr> slotNumber{{"o", Expr::variable("q") + *least}};
  vote->source = vote->source.substitute(slotNumber);
  for (Constraint& g : vote->guards)
    g = g.substitute(slotNumber);
  if (cut.inFactor > 1 && !cut.equal) {
    auto lowest = domain.minimum(1), highest = domain.maximum(1);
    if (lowest && highest && *lowest == *highest) vote->selected = lowest->asConstant();
  }
  return vote;
}

std::optional<Vote> voteWhole(const poly::Context& context, const Axis& axis) {
  poly::Conjunction box;
  inRange(box, fi, axis.inExtent);
  inRange(box, fo, axis.outExtent);
  poly::Conjunction c = box;
  c.push_back(Constraint::eq(axis.relation.substitute({{"v", fo}, {"x", fi}}), 0));
  inRange(c, r, axis.taps);
  auto vote = weights(context, context.map({"fi", "fo"}, {"r"}, c), {"fi", "fo"}, box, axis);
  if (vote) vote->taps = 1;
  return vote;
}

}  // namespace pet
