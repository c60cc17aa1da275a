#include "synth/mine/known_patterns.h"

#include <algorithm>
#include <set>

#include "ir/ops/op.h"
#include "rules/rewrite/match.h"
#include "rules/rewrite/terms.h"
#include "synth/cover/known_equations.h"

namespace pet::mine {
namespace {

std::multiset<std::string_view> operatorsOf(const Program& program) {
  std::multiset<std::string_view> names;
  for (const Node& n : program.nodes())
    names.insert(n.op->name);
  return names;
}

bool fillsAll(const rewrite::Match& m, const std::vector<Value>& outputs) {
  return std::set(m.outputs.begin(), m.outputs.end()) == std::set(outputs.begin(), outputs.end());
}

bool specialises(const rewrite::Match& m) {
  return std::any_of(m.symbols.begin(), m.symbols.end(), [](const auto& s) { return s.second == Dim(1); });
}

}  // namespace

KnownPatterns::KnownPatterns(const std::vector<Pattern>& patterns) {
  for (const Pattern& p : patterns) {
    auto side = rewrite::normalised(p.program);
    if (side) known_.push_back({p.name, *side, *side, p.shapes, p.anyNumbers});
  }
}

std::optional<std::string> KnownPatterns::nameOf(const Pattern& pattern) const {
  auto own = rewrite::normalised(pattern.program);
  if (!own) return std::nullopt;
  rewrite::Terms terms(*own);
  auto outputs = terms.add(*own, terms.inputs());
  if (!outputs) return std::nullopt;
  auto operators = operatorsOf(*own);
  cover::ClassFacts facts(pattern.shapes);
  auto implied = [&](const Constraint& c) { return facts.implies(c); };
  for (const rewrite::Equation& e : known_) {
    if (operatorsOf(e.left) != operators || !rewrite::leavesOpen(e, pattern.anyNumbers)) continue;
    for (const rewrite::Match& m : matches(terms, {terms, *outputs}, e, rewrite::Direction::kForward, implied)) {
      if (fillsAll(m, *outputs) && !specialises(m)) return e.name;
    }
  }
  return std::nullopt;
}

}  // namespace pet::mine
