#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/denote.h"
#include "rules/check/meaning/sum.h"
#include "rules/check/solve.h"

// The prover's denotation and the checker's meaning of one program, side by side.
namespace pet::testing_support {

/// The same pieces, sums and applications by number, the same names, equal domains and factors, for all shapes at which
/// the program is what it says.
class MeaningComparison {
 public:
  explicit MeaningComparison(const Program& program, Unfold unfold = {})
      : program_(program), unfold_(std::move(unfold)), solver_(shapes(program), 2'000'000) {}

  /// Empty, or what differs. `before`: indices that were drawn earlier.
  std::string run(int before = 0) {
    NameSource proverNames;
    check::Names names;
    for (int i = 0; i < before; ++i) {
      proverNames.fresh("z");
      names.fresh("z");
    }
    auto a = denote(program_, program_.outputs()[0], proverNames, unfold_);
    auto b = check::meaningOf(program_, 0, names, {unfold_.begin(), unfold_.end()});
    if (!a || !b) {
      if (!a && !b) return "";
      return a ? "only the prover knows it: " + b.error().what : "only the checker knows it: " + a.error().what;
    }
    if (a->nested.size() + 1 != b->sums.size() || a->applications.size() != b->applications.size()) {
      return fmt::format("{} sums and {} applications, {} and {}", a->nested.size() + 1, a->applications.size(),
                         b->sums.size(), b->applications.size());
    }
    if (proverNames.fresh("n") != names.fresh("n")) return "another number of indices";
    for (size_t i = 0; i < b->sums.size(); ++i)
      compare(fmt::format("sum {}", i), a->sum(static_cast<int>(i)), b->sums[i]);
    for (size_t i = 0; i < b->applications.size(); ++i)
      compare(fmt::format("application {}", i), a->applications[i], b->applications[i]);
    expect(a->partialUses.size() == b->uses.size(),
           fmt::format("{} uses against {}", a->partialUses.size(), b->uses.size()));
    for (size_t i = 0; i < std::min(a->partialUses.size(), b->uses.size()); ++i)
      compare(fmt::format("use {}", i), a->partialUses[i], b->uses[i]);
    return difference_;
  }

  static std::vector<Constraint> shapes(const Program& program) {
    std::vector<Constraint> all = check::demandsOf(program);
    for (const Constraint& c : obligations(program))
      all.push_back(c);
    return all;
  }

 private:
  const Program& program_;
  Unfold unfold_;
  check::Solver solver_;
  std::string difference_;

  void expect(bool same, const std::string& what) {
    if (!same && difference_.empty()) difference_ = what;
  }

  bool implies(const std::vector<Constraint>& given, const std::vector<Constraint>& goal) {
    return solver_.implies(check::Formula::all(given), check::Formula::all(goal)).verdict == check::Verdict::kProved;
  }

  static std::string text(const std::vector<Constraint>& all) {
    std::string out;
    for (const Constraint& c : all)
      out += (out.empty() ? "" : ", ") + c.str();
    return out;
  }
  static std::string text(const std::vector<Expr>& all) {
    std::string out;
    for (const Expr& e : all)
      out += (out.empty() ? "" : ", ") + e.str();
    return out;
  }

  void sameSet(const std::string& what, const std::vector<Constraint>& a, const std::vector<Constraint>& b) {
    if (a == b) return;
    expect(implies(a, b) && implies(b, a), fmt::format("{}: {{{}}} against {{{}}}", what, text(a), text(b)));
  }

  void sameDigits(const std::string& what,
                  const std::vector<Constraint>& domain,
                  const std::vector<Expr>& a,
                  const std::vector<Expr>& b) {
    if (a == b) return;
    expect(a.size() == b.size(), what + ": another number of digits");
    std::vector<Constraint> equal;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      equal.push_back(Constraint::eq(a[i], b[i]));
    expect(implies(domain, equal), fmt::format("{}: [{}] against [{}]", what, text(a), text(b)));
  }

  void compare(const std::string& what, const Sum& a, const check::Sum& b) {
    expect(a.index == b.index, what + ": its index");
    sameSet(what + ": range", a.range, b.range);
    expect(a.pieces.size() == b.pieces.size(),
           fmt::format("{}: {} pieces against {}", what, a.pieces.size(), b.pieces.size()));
    expect(a.finite.size() == b.finite.size(), what + ": where it is finite");
    for (size_t i = 0; i < std::min(a.finite.size(), b.finite.size()); ++i)
      sameSet(what + ": where it is finite", a.finite[i], b.finite[i]);
    for (size_t p = 0; p < std::min(a.pieces.size(), b.pieces.size()); ++p)
      compare(fmt::format("{}, piece {}", what, p), a.pieces[p], b.pieces[p]);
  }

  void compare(const std::string& what, const Piece& a, const check::Piece& b) {
    expect(a.coefficient.numerator == b.coefficient.over && a.coefficient.denominator == b.coefficient.under,
           what + ": coefficient");
    expect(a.reduction == b.reduction, what + ": reduction indices");
    sameSet(what + ": domain", a.domain, b.domain);
    expect(a.factors.size() == b.factors.size(), what + ": number of factors");
    for (size_t f = 0; f < std::min(a.factors.size(), b.factors.size()); ++f)
      compare(fmt::format("{}, factor {}", what, f), a.domain, a.factors[f], b.factors[f]);
  }

  void compare(const std::string& what,
               const std::vector<Constraint>& domain,
               const Factor& x,
               const check::Factor& y) {
    expect(static_cast<int>(x.kind) == static_cast<int>(y.kind) && x.number == y.number && x.key == y.key,
           fmt::format("{}: {} {} against {} {}", what, x.key, x.number, y.key, y.number));
    expect(x.kind != Factor::Kind::kConstant || x.positive == check::isPositive(y), what + ": whether it is positive");
    sameDigits(what, domain, x.at, y.at);
    sameDigits(what + ", parameters", domain, x.parameters, y.parameters);
  }

  void compare(const std::string& what, const PartialUse& a, const check::Use& b) {
    expect(a.application == b.application, what + ": its application");
    expect(a.reduction == b.reduction, what + ": reduction indices");
    sameSet(what + ": domain", a.domain, b.domain);
    sameDigits(what, a.domain, a.at, b.at);
    expect(a.guards.size() == b.guards.size(), what + ": number of guards");
    for (size_t g = 0; g < std::min(a.guards.size(), b.guards.size()); ++g)
      compare(fmt::format("{}, guard {}", what, g), a.domain, a.guards[g], b.guards[g]);
  }

  void compare(const std::string& what, const Application& a, const check::Application& b) {
    expect(a.key == b.key, fmt::format("{}: {} against {}", what, a.key, b.key));
    expect(b.isMaximum() || a.facts.zeroPreserving == b.keepsZero, what + ": whether it keeps 0");
    expect(b.isMaximum() || static_cast<int>(a.facts.domain) == static_cast<int>(b.needs), what + ": its domain");
    expect(a.index == b.index, what + ": its index");
    sameSet(what + ": range", a.range, b.range);
    expect(a.arguments == b.arguments, what + ": arguments");
    expect(a.alternatives.size() == b.alternatives.size(), what + ": number of alternatives");
    for (size_t i = 0; i < std::min(a.alternatives.size(), b.alternatives.size()); ++i) {
      std::string name = fmt::format("{}, alternative {}", what, i);
      expect(a.alternatives[i].reduction == b.alternatives[i].reduction, name + ": reduction indices");
      expect(a.alternatives[i].element == b.alternatives[i].element, name + ": element");
      sameSet(name + ": domain", a.alternatives[i].domain, b.alternatives[i].domain);
    }
  }
};

}  // namespace pet::testing_support
