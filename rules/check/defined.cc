#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rules/check/bijection.h"

// Wherever the pattern has a value the replacement has one: each partial function that it evaluates has a value for
// every input, or the record names one of the pattern with the same argument.
namespace pet::check {
namespace {

constexpr size_t kMostPoints = 64;

// --- Terms that exist ---

/// What an index may be in some term: each of its lower bounds, or what it must equal, over indices that are known.
std::vector<Expr> firstValues(const Conjunction& domain, const std::string& r, const std::vector<std::string>& open) {
  std::vector<Expr> values;
  for (const Constraint& c : domain) {
    int64_t slope = c.expr.coefficient(r);
    Expr rest = c.expr - Expr::variable(r) * slope;
    bool usable = (slope == 1 || (slope == -1 && c.kind == Constraint::Kind::kZero)) && !rest.mentions(r);
    for (const std::string& other : open)
      usable = usable && !rest.mentions(other);
    if (usable) values.push_back(slope == 1 ? -rest : rest);
  }
  return values;
}

/// Values for the reduction indices of a piece, each such that there is a term if its domain holds for them.
std::vector<Values> firstPoints(const Piece& piece) {
  std::vector<Values> points{{}};
  std::vector<std::string> open = piece.reduction;
  while (!open.empty()) {
    std::string r = open.front();
    open.erase(open.begin());
    std::vector<Values> next;
    for (const Values& point : points) {
      Conjunction domain;
      for (const Constraint& c : piece.domain)
        domain.push_back(c.substitute(point));
      for (const Expr& value : firstValues(domain, r, open)) {
        next.push_back(point);
        next.back().emplace(r, value);
      }
    }
    points = std::move(next);
    if (points.size() > kMostPoints) return {};
  }
  return points;
}

// --- Signs ---

/// What is known of the signs of one program's sums, each looked at once.
class Signs {
 public:
  explicit Signs(const Side& side) : side_(side) {}

  bool isNotNegative(int sum) {
    if (auto known = notNegative_.find(sum); known != notNegative_.end()) return known->second;
    const Sum& s = side_.sum(sum);
    bool result = s.isFinite();
    for (size_t p = 0; p < s.pieces.size() && result; ++p)
      result = isNotNegative(s.pieces[p]);
    return notNegative_.emplace(sum, result).first->second;
  }

  /// A condition on the sum's index under which it is > 0: no term is negative, and one is positive.
  const Formula& isPositive(int sum) {
    if (auto known = positive_.find(sum); known != positive_.end()) return known->second;
    const bool canBe = isNotNegative(sum);
    std::vector<Formula> cases;
    size_t size = 0;
    for (const Piece& piece : side_.sum(sum).pieces) {
      if (!canBe || size > kMostParts) break;
      Formula term = isPositive(piece);
      if (term.kind == Formula::Kind::kFalse) continue;
      for (const Values& point : firstPoints(piece)) {
        size += sizeOf(term);
        if (size <= kMostParts) cases.push_back(term.substitute(point));
      }
    }
    return positive_.emplace(sum, Formula::any(std::move(cases))).first->second;
  }

 private:
  static constexpr size_t kMostParts = 4096;  ///< of a condition; what would make it longer is left out

  const Side& side_;
  std::map<int, bool> notNegative_;
  std::map<int, Formula> positive_;

  static size_t sizeOf(const Formula& f) {
    size_t size = 1;
    for (const Formula& part : f.parts)
      size += sizeOf(part);
    return size;
  }

  bool isNotNegative(const Factor& f) {
    if (f.kind == Factor::Kind::kConstant) return check::isPositive(f);
    if (f.kind == Factor::Kind::kInput) return false;
    const Application& a = side_.application(f.number);
    if (a.isMaximum()) return false;
    // 1/x has the sign of x.
    return a.sign != Sign::kAny || (a.needs == Needs::kNotZero && isNotNegative(a.arguments[0]));
  }

  bool isNotNegative(const Piece& piece) {
    if (piece.coefficient.over < 0) return false;
    std::vector<Factor> unpaired;
    for (const Factor& f : piece.factors) {
      if (isNotNegative(f)) continue;
      auto square = std::find(unpaired.begin(), unpaired.end(), f);
      if (square == unpaired.end()) {
        unpaired.push_back(f);
      } else {
        unpaired.erase(square);
      }
    }
    return unpaired.empty();
  }

  Formula isPositive(const Factor& f) {
    if (f.kind == Factor::Kind::kConstant) return Formula::constant(check::isPositive(f));
    if (f.kind == Factor::Kind::kInput) return Formula::no();
    const Application& a = side_.application(f.number);
    if (a.isMaximum()) return Formula::no();
    if (a.sign == Sign::kPositive) return {};
    if (a.needs == Needs::kNothing) return Formula::no();
    // The root and the inverse of what is positive are.
    const int argument = a.arguments[0];
    return isPositive(argument).substitute(valuesOf(side_.sum(argument).index, f.at));
  }

  Formula isPositive(const Piece& piece) {
    std::vector<Formula> all{Formula::all(piece.domain)};
    for (const Factor& f : piece.factors)
      all.push_back(isPositive(f));
    return Formula::all(std::move(all));
  }
};

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
