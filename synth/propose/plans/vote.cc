#include "synth/propose/plans/vote.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet {

/// Indices of the relations below.
namespace letters {
const Expr v = Expr::variable("v"), x = Expr::variable("x"), r = Expr::variable("r"), o = Expr::variable("o"),
           q = Expr::variable("q"), fi = Expr::variable("fi"), fo = Expr::variable("fo"), a = Expr::variable("a"),
           b = Expr::variable("b");
}  // namespace letters

namespace {

/// isl operations that one vote may take; a thousand times what those of the canonical patterns do.
constexpr unsigned long kVoteBudget = 1'000'000;

tl::unexpected<std::string> none(std::string why) {
  return tl::unexpected(std::move(why));
}

void inRange(poly::Conjunction& into, const Expr& e, const Expr& extent) {
  into.push_back(Constraint::le(0, e));
  into.push_back(Constraint::lt(e, extent));
}

/// Source and guards of a single-valued relation slots -> r.
Voted weights(const poly::Context& context,
              const poly::Map& slots,
              const std::vector<std::string>& names,
              const poly::Conjunction& box,
              const Axis& axis) {
  using namespace letters;
  if (slots.isEmpty()) return none("no slot meets a weight");
  if (!slots.isSingleValued()) return none("a slot meets several weights");
  auto domain = slots.domain();
  auto pieces = slots.function(names, domain);
  for (const auto& p : pieces) {
    if (p.image != pieces[0].image) return none("the weight of a slot is piecewise");
  }
  Vote vote;
  vote.source = pieces[0].image[0];
  poly::Conjunction known = box;
  inRange(known, vote.source, axis.taps);
  auto guards = domain.constraints(names, context.set(names, known));
  if (guards.size() > 1) return none("the slots that hold a weight are piecewise");
  if (!guards.empty()) vote.guards = guards[0];
  return vote;
}

}  // namespace

Voted voteWindow(const poly::Context& context, const Axis& axis, const WindowCut& cut) {
  using namespace letters;
  poly::Conjunction common{Constraint::eq(
      axis.relation.substitute({{"v", b * cut.outFactor + fo}, {"x", a * cut.inFactor + fi - cut.shift}}), 0)};
  inRange(common, r, axis.taps);
  inRange(common, fi, cut.inFactor);
  inRange(common, fo, cut.outFactor);
  if (cut.equal) common.push_back(Constraint::eq(fi, fo));
  auto sliding = [&](const Expr& distance) {  // where the operator stands, seen from the position it reads
    auto c = common;
    c.push_back(cut.transposed ? Constraint::eq(b, a * cut.stride + distance)
                               : Constraint::eq(a, b * cut.stride + distance));
    return c;
  };
  // The first slot is the nearest distance that any weight needs; the others follow in steps of the dilation.
  auto distances = context.map({"o", "fi", "fo"}, {"r"}, sliding(o), {"a", "b"}).domain();
  if (distances.isEmpty()) return none("no slot meets a weight");
  auto least = distances.minimum(0);
  if (!least) return none("the number of slots is piecewise");
  poly::Map slots = context.map({"q", "fi", "fo"}, {"r"}, sliding(q * cut.dilation + *least), {"a", "b"});
  auto domain = slots.domain();
  // Every shape of the class must have a weight somewhere, and every weight a slot.
  if (domain.symbolCondition() != poly::Conjunction{}) return none("for some shapes no slot meets a weight");
  poly::Conjunction all;
  inRange(all, r, axis.taps);
  if (!context.set({"r"}, all).isSubset(slots.range())) return none("a weight has no slot");
  auto greatest = domain.maximum(0);
  if (!greatest) return none("the number of slots is piecewise");
  poly::Conjunction box{Constraint::le(0, q), Constraint::le(q, *greatest)};
  inRange(box, fi, cut.inFactor);
  inRange(box, fo, cut.outFactor);
  if (cut.equal) box.push_back(Constraint::eq(fi, fo));
  auto vote = weights(context, slots, {"q", "fi", "fo"}, box, axis);
  if (!vote) return vote;
  vote->taps = *greatest + 1;
  vote->padBegin = -*least;
  if (cut.inFactor > 1 && !cut.equal) {
    auto lowest = domain.minimum(1), highest = domain.maximum(1);
    if (lowest && highest && *lowest == *highest) vote->selected = lowest->asConstant();
  }
  return vote;
}

Voted voteWhole(const poly::Context& context, const Axis& axis) {
  using namespace letters;
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

// --- The table ---

namespace {

void collectSymbols(const Axis& axis, std::set<std::string>& into) {
  for (const Expr* e : {&axis.relation, &axis.inExtent, &axis.outExtent, &axis.taps})
    e->collectVariables(into);
  for (const char* position : {"v", "x", "r"})
    into.erase(position);
}

/// The part of a class that speaks of `symbols`, directly or through constraints that link them to others.
ShapeClass about(std::set<std::string> symbols, const ShapeClass& shapes) {
  std::vector<bool> taken(shapes.constraints.size());
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i = 0; i < taken.size(); ++i) {
      auto mentioned = shapes.constraints[i].expr.variables();
      bool linked = std::any_of(mentioned.begin(), mentioned.end(), [&](const auto& s) { return symbols.contains(s); });
      if (taken[i] || !linked) continue;
      taken[i] = grows = true;
      symbols.insert(mentioned.begin(), mentioned.end());
    }
  }
  ShapeClass part;
  part.symbols.assign(symbols.begin(), symbols.end());
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) part.constraints.push_back(shapes.constraints[i]);
  }
  return part;
}

std::string textOf(const ShapeClass& shapes, const Axis& axis) {
  std::string text = fmt::format("{} | {} {} {} {}", fmt::join(shapes.symbols, " "), axis.relation.str(),
                                 axis.inExtent.str(), axis.outExtent.str(), axis.taps.str());
  for (const Constraint& c : shapes.constraints)
    text += " | " + c.str();
  return text;
}

}  // namespace

template <class Vote>
Voted VoteTable::once(const std::string& question, const ShapeClass& shapes, const Axis& axis, const Vote& vote) {
  std::set<std::string> symbols;
  collectSymbols(axis, symbols);
  ShapeClass part = about(std::move(symbols), shapes);
  std::string key = question + " | " + textOf(part, axis);
  {
    std::lock_guard lock(mutex_);
    if (auto it = answers_.find(key); it != answers_.end()) return it->second;
  }
  Voted answer = none("operation budget exceeded");
  try {
    answer = vote(poly::Context(part, kVoteBudget));
  } catch (const poly::BudgetExceeded&) {
  }
  std::lock_guard lock(mutex_);
  return answers_.emplace(key, std::move(answer)).first->second;
}

Voted VoteTable::window(const ShapeClass& shapes, const Axis& axis, const WindowCut& cut) {
  auto question = fmt::format("{} {} {} {} {} {} {}", cut.inFactor, cut.outFactor, cut.equal, cut.shift.str(),
                              cut.transposed, cut.stride, cut.dilation);
  return once(question, shapes, axis, [&](const poly::Context& c) { return voteWindow(c, axis, cut); });
}

Voted VoteTable::whole(const ShapeClass& shapes, const Axis& axis) {
  return once("whole", shapes, axis, [&](const poly::Context& c) { return voteWhole(c, axis); });
}

}  // namespace pet
