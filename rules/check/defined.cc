#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rules/check/bijection.h"
#include "rules/check/signs.h"

// Wherever the pattern has a value the replacement has one: each partial function that it evaluates has a value for
// every input, or the record names one of the pattern with the same argument.
namespace pet::check {
namespace {

// --- The record ---

class Definedness {
 public:
  Definedness(const Rule& rule, const Proof& proof, const Side& pattern, const Side& replacement, const Facts& facts)
      : rule_(rule), proof_(proof), pattern_(pattern), replacement_(replacement), facts_(facts), signs_(replacement) {}

  Claims run() {
    for (size_t i = 0; i < proof_.defined.size(); ++i) {
      std::string why = malformed(proof_.defined[i]);
      if (!why.empty()) return {fails(fmt::format("defined {}", i), std::move(why))};
    }
    for (size_t u = 0; u < replacement_.meaning.uses.size(); ++u)
      hasValue(u);
    for (size_t i = 0; i < proof_.defined.size(); ++i)
      isEvaluated(i);
    return std::move(claims_);
  }

 private:
  const Rule& rule_;
  const Proof& proof_;
  const Side &pattern_, &replacement_;
  const Facts& facts_;
  Signs signs_;
  Claims claims_;

  const Use& from(const ProofMap& m) const { return replacement_.meaning.uses[static_cast<size_t>(m.from)]; }
  const Use& to(const ProofMap& m) const { return pattern_.meaning.uses[static_cast<size_t>(m.to)]; }

  void require(std::string what, Formula given, Formula goal) {
    claims_.push_back({.what = std::move(what), .given = std::move(given), .goal = std::move(goal)});
  }

  std::string malformed(const ProofMap& m) const {
    auto among = [](int i, size_t count) { return i >= 0 && static_cast<size_t>(i) < count; };
    if (!among(m.from, replacement_.meaning.uses.size())) return fmt::format("there is no use {}", m.from);
    if (!among(m.to, pattern_.meaning.uses.size())) return fmt::format("there is no use {} in the pattern", m.to);
    if (m.atMost) return "a bound instead of an equation";
    if (m.image.size() != to(m).reduction.size())
      return fmt::format("it gives {} of {} reduction indices", m.image.size(), to(m).reduction.size());
    std::set<std::string> known(rule_.shapes.symbols.begin(), rule_.shapes.symbols.end()), used;
    const auto &index = replacement_.sum(0).index, &reduction = from(m).reduction;
    known.insert(index.begin(), index.end());
    known.insert(reduction.begin(), reduction.end());
    for (const Expr& e : m.image)
      e.collectVariables(used);
    for (const Constraint& c : m.when)
      c.expr.collectVariables(used);
    for (const std::string& name : used) {
      if (!known.contains(name)) return fmt::format("{} is no index of the use", name);
    }
    return "";
  }

  /// The use has a value for every input, or by one of the maps.
  void hasValue(size_t number) {
    const Use& use = replacement_.meaning.uses[number];
    const Application& a = replacement_.application(use.application);
    const int argument = a.arguments[0];
    std::vector<Formula> cases;
    bool hasRoot = a.needs == Needs::kNotNegative && signs_.isNotNegative(argument);
    cases.push_back(hasRoot
                        ? Formula()
                        : signs_.isPositive(argument).substitute(valuesOf(replacement_.sum(argument).index, use.at)));
    for (const ProofMap& m : proof_.defined) {
      if (static_cast<size_t>(m.from) == number) cases.push_back(Formula::all(m.when));
    }
    claims_.push_back({.what = fmt::format("use {}: {} has a value where the pattern has one", number, a.key),
                       .given = Formula::all(use.domain),
                       .goal = Formula::any(std::move(cases)),
                       .reason = "the pattern may have a value without it",
                       .sufficient = true});
  }

  /// The pattern evaluates the same function of an equal argument, at the same position of the output.
  void isEvaluated(size_t number) {
    const ProofMap& m = proof_.defined[number];
    const Use &here = from(m), &there = to(m);
    const Application &a = pattern_.application(there.application), &b = replacement_.application(here.application);
    std::string label = fmt::format("defined {} ({} -> {})", number, m.from, m.to);
    if (a.key != b.key || a.arguments.size() != b.arguments.size()) {
      claims_.push_back(fails(label, fmt::format("{} is not {}", b.key, a.key)));
      return;
    }
    Formula given = Formula::all({Formula::all(here.domain), Formula::all(m.when)});
    Values by = valuesOf(there.reduction, m.image);
    std::vector<Expr> at = substituted(there.at, by);
    require(label + ": the pattern evaluates it", given, Formula::all(there.domain).substitute(by));
    for (size_t i = 0; i < a.arguments.size(); ++i)
      require(label + ": the arguments are equal", given,
              facts_.equalSums(a.arguments[i], at, b.arguments[i], here.at));
    for (Factor guard : there.guards) {
      guard.at = substituted(guard.at, by);
      std::vector<Formula> equal;
      for (const Factor& own : here.guards)
        equal.push_back(facts_.equalProducts({guard}, {own}));
      require(label + ": what selects it is equal", given, Formula::any(std::move(equal)));
    }
  }

  static std::vector<Expr> substituted(std::vector<Expr> all, const Values& by) {
    for (Expr& e : all)
      e = e.substitute(by);
    return all;
  }
};

}  // namespace

Claims definedClaims(
    const Rule& rule, const Proof& proof, const Side& pattern, const Side& replacement, const Facts& facts) {
  return Definedness(rule, proof, pattern, replacement, facts).run();
}

}  // namespace pet::check
