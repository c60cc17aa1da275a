#include "synth/propose/plans/specialise.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "synth/propose/plans/failure.h"

namespace pet {
namespace {

using Cut = AxisMove::Cut;
using Why = PlanFailure::Why;

/// The substitutions so far, each already applied to those before it.
struct Where {
  const std::vector<std::string>& symbols;  ///< the pattern's
  std::vector<std::pair<std::string, Expr>> list;

  void substitute(const std::string& symbol, const Expr& value) {
    for (auto& [s, e] : list)
      e = e.substitute({{symbol, value}});
    list.emplace_back(symbol, value);
  }

  Expr current(const Expr& e) const { return e.substitute({list.begin(), list.end()}); }

  void divisible(const Expr& extent, int64_t factor) {
    Expr now = current(extent);
    if (now.dividedBy(factor)) return;
    auto symbol = now.asVariable();
    if (!symbol) stop(Why::kNotApplicable, fmt::format("{} cannot be made divisible by {}", now.str(), factor));
    std::string part = *symbol + std::to_string(factor);
    while (std::find(symbols.begin(), symbols.end(), part) != symbols.end())
      part += "_";
    substitute(*symbol, Expr::variable(part) * factor);
  }

  /// Makes an expression zero by solving for a symbol, if possible one of `taps`.
  void vanish(const Expr& e, const Expr& taps) {
    Expr now = current(e);
    if (now == Expr(0)) return;
    auto kernel = current(taps).variables();
    std::vector<std::string> candidates(kernel.begin(), kernel.end());
    for (const std::string& symbol : now.variables())
      candidates.push_back(symbol);
    for (const std::string& symbol : candidates) {
      int64_t c = now.coefficient(symbol);
      if (c == 0) continue;
      Expr rest = Expr::variable(symbol) * c - now;  // c · symbol = rest
      auto value = c < 0 ? (-rest).dividedBy(-c) : rest.dividedBy(c);
      if (value && !value->mentions(symbol)) return substitute(symbol, *value);
    }
    stop(Why::kNotApplicable, fmt::format("nothing makes {} zero", now.str()));
  }
};

void require(Where& where, const Axis& axis, const AxisMove& m) {
  bool window = axis.kind == Axis::Kind::kWindow;
  bool passesBeside = axis.kind == Axis::Kind::kEqual || axis.kind == Axis::Kind::kGroup;
  if (passesBeside && m.cut == Cut::kInner) where.divisible(axis.inExtent, m.factor);
  if (window && m.cut == Cut::kOuter) {
    where.vanish(axis.outExtent - axis.inExtent, axis.taps);
    where.divisible(axis.inExtent, m.factor);
  }
  if (!window || m.cut != Cut::kInner || m.inChannel || m.outChannel) return;
  for (const auto& [term, c] : axis.relation.terms()) {  // a phase stays a phase only if the shift is a multiple
    if (term.division || term.name == "v" || term.name == "x" || term.name == "r") continue;
    if (c % m.factor != 0) where.divisible(Expr::variable(term.name), m.factor);
  }
}

ShapeClass specialised(const ShapeClass& shapes, const std::map<std::string, Expr>& by) {
  std::set<std::string> symbols;
  for (const std::string& s : shapes.symbols) {
    if (!by.contains(s)) symbols.insert(s);
  }
  for (const auto& [s, e] : by)
    e.collectVariables(symbols);
  for (const auto& [s, e] : by)
    symbols.erase(s);
  ShapeClass result;
  result.symbols.assign(symbols.begin(), symbols.end());
  for (const Constraint& c : shapes.constraints) {
    Constraint now = c.substitute(by);
    if (now.decided() == false) stop(Why::kEmptyClass, fmt::format("never {}", c.str()));
    result.require(now);
  }
  return result;
}

}  // namespace

Specialised specialise(const Pattern& pattern, const MainOperator& analysed, const Plan& plan) {
  Where where{pattern.shapes.symbols, {}};
  for (size_t i = 0; i < analysed.axes.size(); ++i)
    require(where, analysed.axes[i], plan.moves[i]);
  std::map<std::string, Expr> by(where.list.begin(), where.list.end());
  auto source = pattern.program.substitute(by);
  if (!source) stop(Why::kShape, source.error().what);
  auto op = analyse(*source);
  if (!op || op->axes.size() != analysed.axes.size()) stop(Why::kNotApplicable, "the pattern loses an axis");
  for (size_t i = 0; i < op->axes.size(); ++i)
    op->axes[i].name = analysed.axes[i].name;
  return {where.list, specialised(pattern.shapes, by), std::move(*op)};
}

}  // namespace pet
