#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/rewrite/solve.h"

namespace pet::rewrite_solve_test {
namespace {

using rewrite::DimEquation;
using rewrite::solve;
using rewrite::Symbols;

Expr e(const char* text) {
  return *parseExpr(text);
}
Dim product(const char* a, const char* b) {
  return Dim::product({e(a), e(b)});
}
std::string errorOf(const std::vector<DimEquation>& equations) {
  auto solved = solve(equations);
  return solved ? "" : solved.error().what;
}

TEST(RewriteSolve, FindsNumbersInAnyOrder) {
  Dim channels = product("G", "C");
  auto solved = solve({{channels, 12, "channels"}, {e("G"), 3, "group"}, {e("2K + G"), 7, "k"}});
  ASSERT_TRUE(solved.has_value());
  EXPECT_EQ(*solved, (Symbols{{"G", 3}, {"C", 4}, {"K", 2}}));
  // A division is checked once its symbol is known, not solved.
  EXPECT_TRUE(solve({{floorDiv(e("H"), 2), 3, "half"}, {e("H"), 7, "h"}}).has_value());
  EXPECT_TRUE(solve({{e("H") + floorDiv(e("H"), 2), 10, "sum"}, {e("H"), 7, "h"}}).has_value());
}

TEST(RewriteSolve, SaysWhichEquationFails) {
  Dim channels = product("G", "C");
  EXPECT_EQ(errorOf({{floorDiv(e("H"), 2), 3, "half"}, {e("H"), 8, "h"}}), "half is 3, not floor((H)/2)");
  EXPECT_EQ(errorOf({{floorDiv(e("H"), 2), 3, "half"}}), "half = 3 does not determine floor((H)/2)");
  EXPECT_EQ(errorOf({{channels, 12, "c"}, {e("G"), 5, "g"}}), "c is 12, not (G C)");
  EXPECT_EQ(errorOf({{channels, 12, "c"}, {e("G"), 0, "g"}}), "c is 12, not (G C)");
  EXPECT_EQ(errorOf({{channels, 12, "c"}}), "c = 12 does not determine (G C)");
  EXPECT_EQ(errorOf({{e("1"), 2, "strides", "Conv"}}), "strides of Conv is 2, not 1");
  EXPECT_EQ(errorOf({{e("N"), 2, "extent", "x", 1}, {e("N"), 3, "extent", "y", 0}}), "extent 0 of y is 3, not N");
}

TEST(RewriteSolve, FindsDimensionsThatHaveSymbolsThemselves) {
  auto solved = solve({{product("G", "C"), product("batch", "seq")}, {e("G"), e("batch")}, {e("2K + 1"), e("4n + 3")}});
  ASSERT_TRUE(solved.has_value());
  EXPECT_EQ(*solved, (Symbols{{"G", e("batch")}, {"C", e("seq")}, {"K", e("2n + 1")}}));
  EXPECT_EQ(*solve({{e("N"), product("batch", "seq")}}), (Symbols{{"N", product("batch", "seq")}}));
  // By their places, where nothing else leads on.
  EXPECT_EQ(*solve({{product("A", "B"), product("m", "n")}}), (Symbols{{"A", e("m")}, {"B", e("n")}}));
  EXPECT_EQ(errorOf({{e("2K"), e("n"), "k"}}), "k is n, not 2K");
  EXPECT_EQ(errorOf({{e("K + 1"), product("m", "n"), "k"}}), "k is (m n), not K + 1");
  EXPECT_EQ(errorOf({{product("A", "2"), product("m", "n"), "k"}}), "k is (m n), not 2A");
}

TEST(RewriteSolve, SomeValueDoesWhereNoneIsDetermined) {
  const Dim rest = e("H") - floorDiv(e("H"), 2) - 1;
  EXPECT_EQ(*rewrite::solveSome({{rest, 0, "rest"}}), (Symbols{{"H", 1}}));
  EXPECT_EQ(*rewrite::solveSome({{rest, 3, "rest"}, {e("2N"), 4, "n"}}), (Symbols{{"H", 7}, {"N", 2}}));
  // Determined elsewhere, it is not chosen.
  EXPECT_EQ(*rewrite::solveSome({{rest, 3, "rest"}, {e("H"), 8, "h"}}), (Symbols{{"H", 8}}));
  EXPECT_EQ(rewrite::solveSome({{rest, 3, "rest"}, {e("H"), 9, "h"}}).error().what,
            "rest is 3, not H - floor((H)/2) - 1");
  EXPECT_FALSE(rewrite::solveSome({{rest, 4096, "rest"}}).has_value());
  EXPECT_FALSE(rewrite::solveSome({{product("G", "C"), 12, "c"}}).has_value());
}

}  // namespace
}  // namespace pet::rewrite_solve_test
