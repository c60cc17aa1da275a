// What prover and checker share is no proof of either: arithmetic of Expr and its comparisons, against a solver's.

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "rules/check/smt.h"

namespace pet::expr_solver_test {
namespace {

/// An expression, and the operations that made it as SMT-LIB says them: div and mod by a positive number are floor's.
struct Made {
  Expr expr;
  std::string text;
};

std::string numeral(int64_t n) {
  return n < 0 ? fmt::format("(- {})", -n) : std::to_string(n);
}

/// What the normal form says.
std::string textOf(const Expr& e) {
  std::string text = "(+ " + numeral(e.constant());
  for (const auto& [term, coefficient] : e.terms()) {
    std::string inner = term.division
                          ? fmt::format("(div {} {})", textOf(term.division->numerator), term.division->divisor)
                          : term.name;
    text += fmt::format(" (* {} {})", numeral(coefficient), inner);
  }
  return text + ")";
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  int64_t draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  Made make(int depth) {
    if (depth == 0) return leaf();
    Made a = make(depth - 1);
    const int64_t n = draw(1, 6);
    switch (draw(0, 6)) {
      case 0: {
        Made b = make(depth - 1);
        return {a.expr + b.expr, fmt::format("(+ {} {})", a.text, b.text)};
      }
      case 1: {
        Made b = make(depth - 1);
        return {a.expr - b.expr, fmt::format("(- {} {})", a.text, b.text)};
      }
      case 2: {
        const int64_t factor = draw(-3, 3);
        return {a.expr * factor, fmt::format("(* {} {})", numeral(factor), a.text)};
      }
      case 3:
        return {floorDiv(a.expr, n), fmt::format("(div {} {})", a.text, n)};
      case 4:
        return {modulo(a.expr, n), fmt::format("(mod {} {})", a.text, n)};
      case 5:
        return {ceilDiv(a.expr, n), fmt::format("(- (div (- {}) {}))", a.text, n)};
      default: {
        Made b = make(depth - 1);
        return {a.expr.substitute({{"x", b.expr}}), fmt::format("(let ((x {})) {})", b.text, a.text)};
      }
    }
  }

 private:
  Made leaf() {
    if (draw(0, 3) == 0) {
      const int64_t n = draw(-7, 7);
      return {n, numeral(n)};
    }
    const std::string name(1, static_cast<char>('x' + draw(0, 2)));
    return {Expr::variable(name), name};
  }

  std::mt19937_64 random_;
};

/// One question: can it be false?
std::string canBeFalse(const std::string& claim) {
  return fmt::format("(push)\n(assert (not {}))\n(check-sat)\n(pop)\n", claim);
}

std::string declared(const std::string& questions) {
  std::string text;
  for (char name : {'x', 'y', 'z'}) {
    // Bounds, for a solver that would go on for long otherwise.
    text += fmt::format("(declare-const {0} Int)\n(assert (and (<= (- 40) {0}) (<= {0} 40)))\n", name);
  }
  return text + questions;
}

TEST(ExprAgainstSolver, OperationsKeepTheirMeaning) {
  Maker maker(1);
  std::string questions;
  size_t divisions = 0;
  constexpr size_t kCases = 200;
  for (size_t i = 0; i < kCases; ++i) {
    Made made = maker.make(static_cast<int>(maker.draw(1, 3)));
    divisions += made.expr.hasDivision() ? 1 : 0;
    questions += canBeFalse(fmt::format("(= {} {})", made.text, textOf(made.expr)));
  }
  EXPECT_GT(divisions, kCases / 4);
  EXPECT_THAT(answersOfZ3(declared(questions)),
              testing::AllOf(testing::SizeIs(kCases), testing::Each(testing::StrEq("unsat"))));
}

TEST(ExprAgainstSolver, ComparisonsKeepTheirMeaning) {
  Maker maker(2);
  std::string questions;
  size_t decided = 0;
  constexpr size_t kCases = 150;
  for (size_t i = 0; i < kCases; ++i) {
    Made a = maker.make(static_cast<int>(maker.draw(0, 2)));
    Made b = maker.draw(0, 3) == 0 ? a : maker.make(static_cast<int>(maker.draw(0, 2)));
    const auto kind = maker.draw(0, 2);
    Constraint c = kind == 0 ? Constraint::le(a.expr, b.expr)
                 : kind == 1 ? Constraint::lt(a.expr, b.expr)
                             : Constraint::eq(a.expr, b.expr);
    const char* const sign = kind == 0 ? "<=" : kind == 1 ? "<" : "=";
    std::string said = fmt::format("({} {} 0)", c.kind == Constraint::Kind::kZero ? "=" : ">=", textOf(c.expr));
    if (auto value = c.decided()) {
      ++decided;
      said = *value ? "true" : "false";
    }
    questions += canBeFalse(fmt::format("(= ({} {} {}) {})", sign, a.text, b.text, said));
  }
  EXPECT_GT(decided, kCases / 8);
  EXPECT_THAT(answersOfZ3(declared(questions)),
              testing::AllOf(testing::SizeIs(kCases), testing::Each(testing::StrEq("unsat"))));
}

TEST(ExprAgainstSolver, EqualNormalFormsAreEqual) {
  // What `==` says of different operations must be so; a wrong one would be found by the solver.
  Maker maker(3);
  std::vector<Made> all;
  for (int i = 0; i < 300; ++i)
    all.push_back(maker.make(2));
  std::string questions;
  size_t pairs = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (all[i].expr != all[j].expr || all[i].text == all[j].text || all[i].expr.isConstant()) continue;
      ++pairs;
      questions += canBeFalse(fmt::format("(= {} {})", all[i].text, all[j].text));
    }
  }
  EXPECT_GT(pairs, 25U);
  EXPECT_THAT(answersOfZ3(declared(questions)),
              testing::AllOf(testing::SizeIs(pairs), testing::Each(testing::StrEq("unsat"))));
}

TEST(ExprAgainstSolver, TheSolverFindsWhatIsWrong) {
  const std::string rounds = "(= (div (+ x 1) 2) (+ (div x 2) 1))";
  EXPECT_THAT(answersOfZ3(declared(canBeFalse(rounds))), testing::ElementsAre("sat"));
}

}  // namespace
}  // namespace pet::expr_solver_test
