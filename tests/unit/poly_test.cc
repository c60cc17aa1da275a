#include "synth/poly/poly.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/text.h"
#include "tests/unit/random_programs.h"

namespace pet::poly::poly_test {
namespace {

using testing_support::draw;
using testing_support::drawExpr;

Expr expr(std::string_view text) {
  return parseExpr(text).value();
}

Conjunction all(std::string_view text) {
  if (text.empty()) return {};
  TextReader reader(text, "case");
  return reader.constraints().value();
}

ShapeClass shapes(std::vector<std::string> symbols, std::string_view constraints = "") {
  return {std::move(symbols), all(constraints)};
}

std::string text(const std::optional<Expr>& e) {
  return e ? e->str() : "none";
}

// --- Sets ---

TEST(Poly, SetsHoldForTheWholeClass) {
  Context c(shapes({"W", "Q"}, "1 <= W, 0 <= Q, Q <= W"));
  Set positions = c.set({"x"}, all("0 <= x, x < W"));
  Set border = c.set({"x"}, all("W - Q <= x, x < W"));
  EXPECT_FALSE(positions.isEmpty());
  EXPECT_TRUE(border.isSubset(positions));
  EXPECT_FALSE(positions.isSubset(border));
  EXPECT_TRUE(border.subtract(positions).isEmpty());
  EXPECT_TRUE(positions.isSubset(positions.subtract(border).unite(border)));
  EXPECT_TRUE(positions.intersect(border).isSubset(border));
  EXPECT_TRUE(c.set({"x"}, all("0 <= x, x < Q, W <= x")).isEmpty());
  EXPECT_TRUE(c.emptySet(2).isEmpty());
}

TEST(Poly, ClassImpliesAndExcludes) {
  Context c(shapes({"W", "Q", "S"}, "0 <= Q, S = 2Q + 1, 2Q <= W"));
  const std::pair<std::string_view, bool> kImplied[] = {
      {"Q <= W", true},
      {"S <= W + 1", true},
      {"S <= W", false},
      {"S % 2 = 1", true},
      {"W % 2 = 0", false},
      {"0 <= 3", true},
      {"1 <= 0", false},
      {"floor(S/2) = Q", true},
      {"S = 2Q + 1", true},
      {"S >= 3", false},
      {"floor((S + 1)/2) <= W + 1", true},
  };
  for (const auto& [constraint, implied] : kImplied)
    EXPECT_EQ(c.implies(all(constraint)[0]), implied) << constraint;
  EXPECT_TRUE(c.excludes(all("W <= 3, Q >= 2")));
  EXPECT_FALSE(c.excludes(all("W <= 4, Q >= 2")));
}

TEST(Poly, Congruences) {
  Context c(shapes({"N"}, "N % 2 = 0, 2 <= N"));
  EXPECT_TRUE(c.set({"n"}, all("2n + 1 = N")).isEmpty());
  Set even = c.set({"n"}, all("0 <= n, n < N, n % 2 = 0"));
  EXPECT_EQ(even.stride(0), 2);
  EXPECT_EQ(c.set({"n"}, all("0 <= n, n < N")).stride(0), 1);
  EXPECT_EQ(text(even.maximum(0)), "N - 2");
}

TEST(Poly, BoundsAreOneExpressionOrNone) {
  Context c(shapes({"W", "Q"}, "1 <= W, 1 <= Q"));
  Set border = c.set({"x", "y"}, all("W - Q <= x, x < W + Q, 0 <= x, 2y <= x, x <= 2y + 1"));
  EXPECT_EQ(text(border.maximum(0)), "Q + W - 1");
  EXPECT_EQ(text(border.minimum(0)), "none");  // max(0, W - Q)
  EXPECT_EQ(text(border.maximum(1)), "Q + W - floor((Q + W)/2) - 1");
  Context narrow(shapes({"W", "Q"}, "1 <= Q, Q <= W"));
  EXPECT_EQ(text(narrow.set({"x"}, all("W - Q <= x, x < W + Q, 0 <= x")).minimum(0)), "W - Q");
  EXPECT_EQ(text(narrow.set({"x"}, all("0 <= x")).maximum(0)), "none");
}

TEST(Poly, Projections) {
  Context c(shapes({"W"}, "1 <= W"));
  Set s = c.set({"x", "y"}, all("x = 2y, 0 <= y, y < W"));
  Set x = c.set({"x"}, all("0 <= x, x < 2W, x % 2 = 0")), y = c.set({"y"}, all("0 <= y, y < W"));
  EXPECT_TRUE(s.firstVariables(1).isSubset(x) && x.isSubset(s.firstVariables(1)));
  EXPECT_TRUE(s.onto(1).isSubset(y) && y.isSubset(s.onto(1)));
  EXPECT_TRUE(s.onto(0).isSubset(x));
}

TEST(Poly, ConditionOnSymbols) {
  Context c(shapes({"W", "Q"}, "1 <= W, 0 <= Q"));
  auto condition = c.set({"x"}, all("0 <= x, x < Q")).symbolCondition();
  ASSERT_TRUE(condition);
  ASSERT_EQ(condition->size(), 1U);
  EXPECT_EQ((*condition)[0].str(), "1 <= Q");
  EXPECT_EQ(c.set({"x"}, all("0 <= x, x < W")).symbolCondition(), Conjunction{});  // always
  Set either = c.set({}, all("W <= 3")).unite(c.set({}, all("Q >= 5")));
  EXPECT_EQ(either.symbolCondition(), std::nullopt);
}

TEST(Poly, Samples) {
  Context c(shapes({"W", "Q"}, "1 <= W, 0 <= Q"));
  auto point = c.set({"x", "y"}, all("x = W + Q, y = 3, W = 5, Q >= 2, Q <= 2")).sample();
  ASSERT_TRUE(point);
  EXPECT_EQ(point->first, (Bindings{{"W", 5}, {"Q", 2}}));
  EXPECT_EQ(point->second, (std::vector<int64_t>{7, 3}));
  EXPECT_FALSE(c.emptySet(1).sample());
}

TEST(Poly, DisjointPiecesCoverTheSet) {
  Context c(shapes({"W"}, "4 <= W"));
  Set s =
      c.set({"x"}, all("0 <= x, x <= 3")).unite(c.set({"x"}, all("2 <= x, x <= W"))).unite(c.set({"x"}, all("x = 2W")));
  Set sum = c.emptySet(1);
  for (const Set& piece : s.disjointPieces()) {
    EXPECT_TRUE(sum.intersect(piece).isEmpty());
    sum = sum.unite(piece);
  }
  EXPECT_TRUE(sum.isSubset(s) && s.isSubset(sum));
  EXPECT_EQ(s.outline().disjointPieces().size(), 2U);
}

// --- Maps ---

TEST(Poly, ComposesRelations) {
  Context c(shapes({"R"}, "1 <= R"));
  Map flip = c.map({"r"}, {"q"}, all("q = R - 1 - r, 0 <= r, r < R"));
  EXPECT_TRUE(flip.isSingleValued() && flip.isInjective());
  auto pieces = flip.then(flip).function({"r"}, c.set({"r"}, all("0 <= r, r < R")));
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].image, std::vector<Expr>{expr("r")});
  EXPECT_TRUE(pieces[0].when.empty());
  EXPECT_EQ(flip.reversed().function({"q"}, flip.range())[0].image[0], expr("R - 1 - q"));
  Map many = c.map({"r"}, {"q"}, all("q <= r"));
  EXPECT_FALSE(many.isSingleValued());
  EXPECT_FALSE(many.isInjective());
  EXPECT_TRUE(many.intersectDomain(c.emptySet(1)).isEmpty());
  Map exists = c.map({"h"}, {"a"}, all("h = 2a + f, 0 <= f, f <= 1"), {"f"});
  EXPECT_EQ(exists.function({"h"}, exists.domain())[0].image[0], expr("floor(h/2)"));
}

TEST(Poly, FunctionsByCases) {
  Context c(shapes({"W"}, "1 <= W"));
  Set domain = c.set({"x"}, all("0 <= x, x < 2W"));
  Map wrap = c.map({"x"}, {"n", "w"}, all("x = n + 2w - 2w + w, n = 0, x < W, 0 <= x"))
                 .unite(c.map({"x"}, {"n", "w"}, all("n = 1, w = x - W, W <= x, x < 2W")));
  auto pieces = wrap.function({"x"}, domain);
  ASSERT_EQ(pieces.size(), 2U);
  for (const FunctionPiece& p : pieces) {
    bool second = p.image[0] == Expr(1);
    EXPECT_EQ(p.image[1], second ? expr("x - W") : expr("x"));
    ASSERT_EQ(p.when.size(), 1U);
    EXPECT_EQ(p.when[0].str(), second ? "W <= x" : "x + 1 <= W");
  }
}

// --- Limits ---

TEST(Poly, LargeNumbersAreExactOrRefused) {
  Context c(shapes({"N"}, "5000000000 <= N, N <= 5000000000"));
  EXPECT_TRUE(c.implies(all("N = 5000000000")[0]));
  EXPECT_FALSE(c.implies(all("N <= 705032704")[0]));  // 5000000000 modulo 2^32
  EXPECT_TRUE(c.implies(all("floor(N/5000000000) = 1")[0]));
  EXPECT_EQ(text(c.set({"x"}, all("x = N")).minimum(0)), "5000000000");
  // 2^62 · 4 does not fit.
  Set large = c.set({"x"}, {Constraint::eq(Expr::variable("x"), Expr::variable("y") * 0 + INT64_MAX)});
  EXPECT_EQ(text(large.minimum(0)), std::to_string(INT64_MAX));
  Map times = c.map({"x"}, {"y"}, {Constraint::eq(Expr::variable("y"), Expr::variable("x") * (int64_t{1} << 40))});
  EXPECT_THROW(times.then(times).function({"x"}, c.set({"x"}, {})), OverflowError);
}

TEST(Poly, BudgetStopsAndSaysSo) {
  Context c(shapes({"W", "Q"}, "1 <= W, 0 <= Q"), 20);
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i)
          c.set({"x", "y"}, all("0 <= x, x < W, 2y <= x, x <= 2y + Q")).unite(c.emptySet(2)).outline();
      },
      BudgetExceeded);
}

// Wherever the budget ends, everything is freed, and once. (The sanitizers look.)
TEST(Poly, BudgetStopsAnywhere) {
  int stopped = 0;
  bool finished = false;
  for (unsigned long budget = 1; !finished; budget += 1 + budget / 8) {
    try {
      Context c(shapes({"W", "Q"}, "1 <= W, 0 <= Q, Q <= W"), budget);
      Set phases = c.set({"x", "y"}, all("0 <= x, x < W, 2y <= x, x <= 2y + Q"));
      Set both = phases.unite(c.set({"x", "y"}, all("x = 3y + Q")));
      both.subtract(phases).outline().constraints({"x", "y"}, phases);
      both.symbolCondition();
      both.maxima(1);
      both.disjointPieces();
      both.onto(1).stride(0);
      both.sample();
      Map halves = c.map({"x"}, {"y"}, all("y = floor(x/2) + k, 0 <= k, k <= Q"), {"k"});
      halves.then(halves.reversed()).unite(halves).intersectDomain(both.onto(0)).isSingleValued();
      c.map({"x"}, {"y"}, all("y = floor(x/2)")).function({"x"}, c.set({"x"}, {}));
      finished = true;
    } catch (const BudgetExceeded&) {
      ++stopped;
    }
  }
  EXPECT_GT(stopped, 10);
}

TEST(Poly, SetsOutliveTheirContext) {
  Set last = Context(shapes({"W"})).set({"x"}, all("0 <= x, x < W"));
  last = Context(shapes({"H"})).set({"x"}, all("0 <= x, x < 3"));
  EXPECT_EQ(text(last.maximum(0)), "2");
}

// --- Properties: isl against enumeration ---

/// Random constraints over A and B (symbols) and C (a variable), and the box in which they are compared.
constexpr int64_t kRange = 6;
Conjunction randomConstraints() {
  Conjunction result = all("-6 <= A, A <= 6, -6 <= B, B <= 6, -6 <= C, C <= 6");
  for (int64_t i = draw(1, 3); i-- > 0;)
    result.push_back({drawExpr(1), draw(0, 4) == 0 ? Constraint::Kind::kZero : Constraint::Kind::kNonNegative});
  return result;
}

template <class F>
void forEachPoint(F f) {
  for (int64_t a = -kRange; a <= kRange; ++a) {
    for (int64_t b = -kRange; b <= kRange; ++b) {
      for (int64_t c = -kRange; c <= kRange; ++c)
        f(Bindings{{"A", a}, {"B", b}, {"C", c}});
    }
  }
}

bool holds(const Conjunction& constraints, const Bindings& at) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& c) { return c.evaluate(at).value(); });
}

RC_GTEST_PROP(PolyProperty, ConstraintsGoThroughIslAndBack, ()) {
  Conjunction constraints = randomConstraints();
  Context c(shapes({"A", "B"}));
  Set s = c.set({"C"}, constraints);
  auto back = s.constraints({"C"}, c.set({"C"}, {}));
  int64_t points = 0;
  forEachPoint([&](const Bindings& at) {
    bool inside = holds(constraints, at);
    points += inside;
    auto pieces = std::count_if(back.begin(), back.end(), [&](const Conjunction& piece) { return holds(piece, at); });
    RC_ASSERT(pieces == (inside ? 1 : 0));  // the pieces are disjoint
  });
  RC_ASSERT(s.isEmpty() == (points == 0));
  if (auto sample = s.sample()) {
    sample->first["C"] = sample->second[0];
    RC_ASSERT(holds(constraints, sample->first));
  }
}

RC_GTEST_PROP(PolyProperty, BoundsAreThoseOfThePoints, ()) {
  Conjunction constraints = randomConstraints();
  Context c(shapes({"A", "B"}));
  Set s = c.set({"C"}, constraints);
  auto least = s.minimum(0), most = s.maximum(0);
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> bounds;
  forEachPoint([&](const Bindings& at) {
    if (!holds(constraints, at)) return;
    int64_t v = at.at("C");
    auto [it, isNew] = bounds.emplace(std::pair{at.at("A"), at.at("B")}, std::pair{v, v});
    it->second = {std::min(it->second.first, v), std::max(it->second.second, v)};
  });
  for (const auto& [ab, range] : bounds) {
    Bindings at{{"A", ab.first}, {"B", ab.second}};
    if (least) RC_ASSERT(least->evaluate(at) == range.first);
    if (most) RC_ASSERT(most->evaluate(at) == range.second);
  }
}

RC_GTEST_PROP(PolyProperty, FunctionsComeBackByCases, ()) {
  Expr image = drawExpr(2);
  Conjunction domain = all("-6 <= A, A <= 6, -6 <= B, B <= 6, -6 <= C, C <= 6");
  Context c(shapes({"A", "B"}));
  domain.push_back(Constraint::eq(Expr::variable("y"), image));
  Set box = c.set({"C"}, {});
  auto pieces = c.map({"C"}, {"y"}, domain).function({"C"}, box);
  forEachPoint([&](const Bindings& at) {
    int covering = 0;
    for (const FunctionPiece& p : pieces) {
      if (!holds(p.when, at)) continue;
      ++covering;
      RC_ASSERT(p.image[0].evaluate(at) == image.evaluate(at));
    }
    RC_ASSERT(covering == 1);
  });
}

RC_GTEST_PROP(PolyProperty, ImpliesIsSound, ()) {
  Conjunction constraints = randomConstraints();
  Constraint asked{drawExpr(1), Constraint::Kind::kNonNegative};
  Context c(ShapeClass{{"A", "B", "C"}, constraints});
  bool holdsEverywhere = true, holdsNowhere = true;
  forEachPoint([&](const Bindings& at) {
    if (!holds(constraints, at)) return;
    (asked.evaluate(at).value() ? holdsNowhere : holdsEverywhere) = false;
  });
  RC_ASSERT(c.implies(asked) == holdsEverywhere || asked.decided());
  RC_ASSERT(c.excludes({asked}) == holdsNowhere);
}

}  // namespace
}  // namespace pet::poly::poly_test
