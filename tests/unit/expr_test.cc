#include "ir/expr.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/text.h"
#include "tests/unit/random_programs.h"

namespace pet::expr_test {
namespace {

using testing_support::randomBindings;
using testing_support::randomExpr;

Expr parsed(std::string_view text) {
  auto e = parseExpr(text);
  EXPECT_TRUE(e) << text << ": " << (e ? "" : e.error().message());
  return e ? *e : Expr();
}

// --- The normal form, as text ---

struct NormalForm {
  std::string_view text, normal;
};

const NormalForm kNormalForms[] = {
    // sums
    {"0", "0"},
    {"-7", "-7"},
    {"W + 0", "W"},
    {"W - W", "0"},
    {"- Q + W", "W - Q"},
    {"3 + 2W - Q - 4", "2W - Q - 1"},
    {"2*(W - 1) + W*3", "5W - 2"},
    {"-(W - Q) - 2(Q - 1)", "-Q - W + 2"},
    {"B + A", "A + B"},
    {"0W", "0"},
    // divisions: what is divided evenly leaves the floor
    {"floor(W/1)", "W"},
    {"floor((2W + 4)/2)", "W + 2"},
    {"floor((4W + Q + 9)/4)", "W + floor((Q + 1)/4) + 2"},
    {"floor((-W)/2)", "floor((W)/2) - W"},
    {"floor((3W - 5)/4)", "W - floor((W)/4) - 2"},
    {"floor(7/2)", "3"},
    {"floor((-7)/2)", "-4"},
    // a common factor of coefficients and divisor
    {"floor((2W + 3)/4)", "W - floor((W)/2)"},
    {"floor((2W + 2Q + 1)/6)", "floor((Q + W)/3)"},
    {"floor((4W + 2)/4)", "W"},
    // a ceiling is a floor
    {"floor((W + 1)/2) + floor(W/2)", "W"},
    {"floor((W + Q + 1)/2)", "Q + W - floor((Q + W)/2)"},
    {"floor((W + 2)/3)", "floor((W + 2)/3)"},
    {"floor((2W + 1)/3)", "W - floor((W + 1)/3)"},
    // nested divisions
    {"floor(floor(W/2)/3)", "floor((W)/6)"},
    {"floor((floor((W + 1)/2) + 1)/3)", "floor((W + 3)/6)"},
    {"floor((floor((W + 1)/2) + floor(W/2))/2)", "floor((W)/2)"},
    {"floor((floor((2W + 1)/3) + 4)/5)", "floor((2W + 13)/15)"},
    {"floor((2floor(W/2))/2)", "floor((W)/2)"},
    {"floor((floor(W/2) + floor(W/3))/2)", "floor((floor((W)/2) + floor((W)/3))/2)"},
    {"floor(W/2) - floor(W/2)", "0"},
    {"floor((W + 2)/2) - floor(W/2)", "1"},
};

TEST(Expr, HasOneNormalForm) {
  for (const NormalForm& c : kNormalForms) {
    Expr e = parsed(c.text);
    EXPECT_EQ(e.str(), c.normal) << c.text;
    EXPECT_EQ(parsed(c.normal), e) << c.normal;
  }
}

TEST(Expr, Observers) {
  Expr e = parsed("2W - Q + 3floor((W + P)/2) - 5");
  EXPECT_EQ(e.constant(), -5);
  EXPECT_EQ(e.coefficient("W"), 2);
  EXPECT_EQ(e.coefficient("Q"), -1);
  EXPECT_EQ(e.coefficient("P"), 0);  // only inside the division
  EXPECT_TRUE(e.hasDivision());
  EXPECT_FALSE(parsed("2W - 5").hasDivision());
  EXPECT_EQ(e.variables(), (std::set<std::string>{"P", "Q", "W"}));
  EXPECT_TRUE(e.mentions("P"));
  EXPECT_FALSE(e.mentions("H"));
  EXPECT_EQ(e.asConstant(), std::nullopt);
  EXPECT_EQ(Expr(4).asConstant(), 4);
  EXPECT_EQ(parsed("W").asVariable(), "W");
  for (auto text : {"W + 1", "2W", "W + Q", "floor(W/2)", "0"})
    EXPECT_EQ(parsed(text).asVariable(), std::nullopt) << text;
}

TEST(Expr, Content) {
  EXPECT_EQ(Expr(0).content(), 0);
  EXPECT_EQ(Expr(-6).content(), 6);
  EXPECT_EQ(parsed("4W - 6Q + 10").content(), 2);
  EXPECT_EQ(parsed("4W - 6Q + 5").content(), 1);
  EXPECT_EQ(parsed("4floor(W/3) + 8").content(), 4);
  EXPECT_EQ(parsed("4W - 6").dividedBy(2), parsed("2W - 3"));
  EXPECT_EQ(parsed("4W - 6").dividedBy(4), std::nullopt);
  EXPECT_EQ(parsed("4W - 5").dividedBy(2), std::nullopt);
  EXPECT_EQ(parsed("W").dividedBy(0), std::nullopt);
}

TEST(Expr, EvaluatesWhereEveryVariableIsBound) {
  Expr e = parsed("2W - floor((Q - 1)/3)");
  EXPECT_EQ(e.evaluate({{"W", 5}, {"Q", 0}}), 11);
  EXPECT_EQ(e.evaluate({{"W", 5}}), std::nullopt);
  EXPECT_EQ(e.evaluate({{"Q", 5}}), std::nullopt);
  EXPECT_EQ(Expr(3).evaluate({}), 3);
}

TEST(Expr, SubstitutesAllAtOnce) {
  Expr e = parsed("A - 2B + floor((A + B)/2)");
  EXPECT_EQ(e.substitute({{"A", parsed("B")}, {"B", parsed("A")}}), parsed("B - 2A + floor((A + B)/2)"));
  EXPECT_EQ(e.substitute({{"A", 3}, {"B", 2}}), Expr(1));
  EXPECT_EQ(e.substitute({{"C", 3}}), e);
  // What is divided evenly after the substitution leaves the floor.
  EXPECT_EQ(parsed("floor((N - 1)/2)").substitute({{"N", parsed("2M + 1")}}), parsed("M"));
}

// --- Overflow ---

TEST(Expr, OverflowIsAnException) {
  const int64_t most = INT64_MAX;
  EXPECT_THROW(Expr(most) + 1, OverflowError);
  EXPECT_THROW(Expr(-most) - 1, OverflowError);  // the negative of every number is a number
  EXPECT_THROW(Expr::variable("W") * most * 2, OverflowError);
  EXPECT_THROW(Expr::variable("W") * most + Expr::variable("W"), OverflowError);
  EXPECT_THROW((Expr::variable("W") * most).substitute({{"W", 2}}), OverflowError);
  EXPECT_THROW((Expr::variable("W") * 2).evaluate({{"W", most}}), OverflowError);
  EXPECT_THROW(floorDiv(floorDiv(Expr::variable("W"), most), most), OverflowError);
  EXPECT_EQ((Expr(-most)).str(), "-9223372036854775807");
  EXPECT_EQ((Expr::variable("W") * -most).content(), most);
}

TEST(Expr, FloorDivisionOfNumbers) {
  for (int64_t a = -13; a <= 13; ++a) {
    for (int64_t d : {1, 2, 3, 7}) {
      int64_t q = floorDivide(a, d), r = floorModulo(a, d);
      EXPECT_EQ(q * d + r, a);
      EXPECT_TRUE(0 <= r && r < d) << a << " mod " << d;
    }
  }
}

// --- Constraints ---

TEST(Constraint, TextAndMeaning) {
  struct Case {
    std::string_view text, canonical;
    std::optional<bool> decided;
  };
  const Case kCases[] = {
      {"2Q <= W", "2Q <= W", std::nullopt},
      {"W > 2Q", "2Q + 1 <= W", std::nullopt},
      {"W - Q - Q >= 3", "2Q + 3 <= W", std::nullopt},
      {"Q < W", "Q + 1 <= W", std::nullopt},
      {"N = 2M", "N = 2M", std::nullopt},
      {"N % 2 = 1", "N = 2floor((N)/2) + 1", std::nullopt},
      {"N % 3 <= 1", "N <= 3floor((N)/3) + 1", std::nullopt},
      {"2N % 2 = 0", "0 = 0", true},
      {"0 <= 3", "0 <= 3", true},
      {"W < W", "1 <= 0", false},
      {"W = W + 1", "0 = 1", false},
  };
  for (const Case& c : kCases) {
    TextReader reader(c.text, "case");
    auto constraints = reader.constraints();
    ASSERT_TRUE(constraints) << c.text;
    ASSERT_EQ(constraints->size(), 1U);
    const Constraint& got = constraints->front();
    EXPECT_EQ(got.str(), c.canonical) << c.text;
    EXPECT_EQ(got.decided(), c.decided) << c.text;
    std::string text = got.str();
    TextReader again(text, "again");
    EXPECT_EQ(again.constraints()->front(), got) << text;
  }
}

TEST(Constraint, Evaluates) {
  Expr a = Expr::variable("A"), b = Expr::variable("B");
  for (int64_t x : {-1, 0, 1}) {
    for (int64_t y : {-1, 0, 1}) {
      Bindings at{{"A", x}, {"B", y}};
      EXPECT_EQ(Constraint::le(a, b).evaluate(at), x <= y);
      EXPECT_EQ(Constraint::lt(a, b).evaluate(at), x < y);
      EXPECT_EQ(Constraint::eq(a, b).evaluate(at), x == y);
      EXPECT_EQ(Constraint::le(a, b).substitute({{"A", b}}).evaluate(at), true);
    }
  }
  EXPECT_EQ(Constraint::le(a, b).evaluate({{"A", 1}}), std::nullopt);
}

// --- Properties: the normal form against evaluation ---

int64_t valueOf(const Expr& e, const Bindings& at) {
  return e.evaluate(at).value();
}

RC_GTEST_PROP(ExprProperty, ArithmeticIsThatOfItsValues, ()) {
  Expr a = *randomExpr(), b = *randomExpr();
  Bindings at = *randomBindings();
  int64_t x = valueOf(a, at), y = valueOf(b, at), k = *rc::gen::inRange<int64_t>(1, 9), c = *rc::gen::inRange(-9, 10);
  RC_ASSERT(valueOf(a + b, at) == x + y);
  RC_ASSERT(valueOf(a - b, at) == x - y);
  RC_ASSERT(valueOf(-a, at) == -x);
  RC_ASSERT(valueOf(a * c, at) == x * c);
  RC_ASSERT(valueOf(floorDiv(a, k), at) == floorDivide(x, k));
  RC_ASSERT(valueOf(modulo(a, k), at) == floorModulo(x, k));
  RC_ASSERT(valueOf(ceilDiv(a, k), at) == -floorDivide(-x, k));
}

RC_GTEST_PROP(ExprProperty, SubstitutionIsEvaluationInTwoSteps, ()) {
  Expr e = *randomExpr();
  std::map<std::string, Expr> by{{"A", *randomExpr()}, {"B", *randomExpr()}};
  Bindings at = *randomBindings(), inner = at;
  for (const auto& [name, value] : by)
    inner[name] = valueOf(value, at);
  RC_ASSERT(valueOf(e.substitute(by), at) == valueOf(e, inner));
  std::map<std::string, Expr> all(at.begin(), at.end());
  RC_ASSERT(e.substitute(all).asConstant() == valueOf(e, at));
}

RC_GTEST_PROP(ExprProperty, WhatIsSubtractedFromItselfIsZero, ()) {
  Expr a = *randomExpr(), b = *randomExpr();
  RC_ASSERT((a + b) - b == a);
  RC_ASSERT(a + b == b + a);
  RC_ASSERT(a - a == Expr(0));
  int64_t k = *rc::gen::inRange<int64_t>(1, 9);
  RC_ASSERT(floorDiv(a * k + b, k) == a + floorDiv(b, k));
  RC_ASSERT(floorDiv(a * k, k) == a);
}

RC_GTEST_PROP(ExprProperty, TextReadsBack, ()) {
  Expr e = *randomExpr();
  auto again = parseExpr(e.str());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == e);
}

RC_GTEST_PROP(ExprProperty, OrderIsTotal, ()) {
  Expr a = *randomExpr(), b = *randomExpr(), c = *randomExpr();
  RC_ASSERT((a < b) + (b < a) + (a == b) == 1);
  if (a < b && b < c) RC_ASSERT(a < c);
}

}  // namespace
}  // namespace pet::expr_test
