// Axis groups: which indices a piece links, and that comparing sums group by group says what comparing whole pieces
// says.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/text.h"
#include "rules/text.h"
#include "synth/prove/axis_groups.h"
#include "synth/prove/group_sets.h"
#include "synth/prove/pairing.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/random_programs.h"
#include "tests/unit/text_file.h"

namespace pet::prove_groups_test {
namespace {

using testing_support::draw;
using testing_support::drawExpr;

poly::Conjunction all(std::string_view text) {
  if (text.empty()) return {};
  TextReader reader(text, "case");
  return reader.constraints().value();
}

std::vector<Expr> exprs(const std::vector<std::string>& texts) {
  std::vector<Expr> result;
  for (const std::string& t : texts)
    result.push_back(parseExpr(t).value());
  return result;
}

std::string text(const std::vector<Constraint>& all) {
  std::string result;
  for (const Constraint& c : all)
    result += (result.empty() ? "" : ", ") + c.str();
  return result;
}

// --- Links ---

TEST(AxisGroups, ConstraintsAndDivisionsLink) {
  const std::pair<std::string_view, size_t> kGroups[] = {
      {"0 <= h, h < H, 0 <= w, w < W", 3},  // and c
      {"h + w <= H", 2},
      {"h = 2w", 2},
      {"floor((h + w)/2) <= 3", 2},
      {"floor((h + w)/2) <= c", 1},
      {"h + w <= 3, w <= c", 1},
      {"h < N, w < N, c < N", 3},  // a symbol is no link
      {"h + N = 2floor((h + N)/2), w + N = 2floor((w + N)/2)", 3},
      {"2h + w = 4floor(h/2) + 2floor(w/2)", 3},                     // h and w are even
      {"2h + w = 4floor(h/2) + 2floor(w/2) + 3", 3},                 // h and w are odd
      {"h + w = 2floor(h/2) + 2floor(w/2) + 1", 2},                  // one of them is odd
      {"c + floor((2h + w + 2floor(w/2))/4) <= floor(h/2) + 3", 2},  // c + floor(w/2) <= 3
      {"c + floor((2h + w)/4) <= floor(h/2) + 3", 1},                // carries from w
      {"c = floor((3h - 3floor(h/2) + w - 2floor(w/2))/4)", 1},
  };
  const std::vector<std::string> names{"c", "h", "w"};
  const AxisGroups single(names);
  for (const auto& [constraints, count] : kGroups) {
    AxisGroups groups(names);
    for (const Constraint& c : separated(all(constraints), single))
      groups.link(c.expr);
    EXPECT_EQ(groups.count(), count) << constraints << ": " << text(separated(all(constraints), single));
  }
}

TEST(AxisGroups, SplitsConjunctions) {
  AxisGroups groups({"c", "h", "w"});
  auto constraints = all("0 <= h, h + c <= N, w <= N, 3 <= N");
  for (const Constraint& c : constraints)
    groups.link(c.expr);
  auto split = groups.split(constraints);
  ASSERT_EQ(split.size(), 3U);
  EXPECT_EQ(groups.of("h"), groups.of("c"));
  EXPECT_EQ(text(split[groups.of("h")]), "0 <= h, c + h <= N");
  EXPECT_EQ(text(split[groups.of("w")]), "w <= N");
  EXPECT_EQ(text(split[2]), "3 <= N");
  EXPECT_EQ(groups.restrict({"w", "h", "c"}, groups.of("h")), (std::vector<std::string>{"h", "c"}));
}

RC_GTEST_PROP(AxisGroupsProperty, SeparatedIsTheSame, ()) {
  const AxisGroups indices(draw(0, 1) == 0 ? std::vector<std::string>{"A", "B", "C"}
                                           : std::vector<std::string>{"A", "B"});
  Expr e = drawExpr(2), divided = separated(e, indices);
  int64_t k = draw(1, 3);
  Expr digits = floorDiv(modulo(Expr::variable("A"), 2) * k + modulo(Expr::variable("B"), draw(1, 3)) + draw(0, 2), 4);
  std::vector<Constraint> equation{
      Constraint::eq(drawExpr(1), draw(0, 1)), Constraint::eq(digits, draw(0, 1)), {e, Constraint::Kind::kNonNegative}};
  auto parts = separated(equation, indices);
  RC_CLASSIFY(parts.size() > equation.size(), "an equation comes apart");
  RC_CLASSIFY(!(divided == e), "a division comes apart");
  auto holds = [](const std::vector<Constraint>& all, const Bindings& at) {
    return std::all_of(all.begin(), all.end(), [&](const Constraint& c) { return c.evaluate(at).value(); });
  };
  for (int i = 0; i < 200; ++i) {
    Bindings at{{"A", draw(-20, 20)}, {"B", draw(-20, 20)}, {"C", draw(-20, 20)}};
    RC_ASSERT(divided.evaluate(at) == e.evaluate(at));
    RC_ASSERT(separated(digits, indices).evaluate(at) == digits.evaluate(at));
    for (const Constraint& c : equation)
      RC_ASSERT(holds(separated({c}, indices), at) == holds({c}, at));
  }
}

// --- Sums ---

struct PieceText {
  std::string reduction, domain;  ///< names one letter each
  std::vector<std::string> at;    ///< of one factor, input 0
};

/// A sum over 0 <= h < H, 0 <= w < W.
Sum sumOf(const std::vector<PieceText>& pieces) {
  Sum sum;
  sum.index = {"h", "w"};
  sum.range = all("0 <= h, h < H, 0 <= w, w < W");
  for (const PieceText& p : pieces) {
    Piece piece;
    piece.coefficient = Rational{1};
    piece.domain = sum.range;
    piece.factors = {{Factor::Kind::kInput, 0, "", {}, exprs(p.at)}};
    for (char r : p.reduction)
      piece.reduction.emplace_back(1, r);
    for (const Constraint& c : all(p.domain))
      piece.domain.push_back(c);
    sum.pieces.push_back(piece);
  }
  return sum;
}

const ShapeClass kShapes{{"H", "W", "N"}, all("3 <= H, 3 <= W, 1 <= N")};

/// "no groups", or the positions at which they differ: "none", "some" or "all".
std::string compared(const Sum& pattern, const Sum& replacement) {
  poly::Context context(kShapes);
  auto found = bijectionByGroups(context, pattern, replacement);
  if (!found) return "no groups";
  Denotation a, b;  // so few pieces are compared as wholes
  static_cast<Sum&>(a) = pattern;
  static_cast<Sum&>(b) = replacement;
  auto whole = Matcher(context, a, b, {}).compareOutputs();
  EXPECT_TRUE(whole && whole->isSubset(found->bad) && found->bad.isSubset(*whole));
  if (found->bad.isEmpty()) return "none";
  return context.set(pattern.index, pattern.range).isSubset(found->bad) ? "all" : "some";
}

const PieceText kFull{"rs", "0 <= r, r <= 2, 0 <= s, s <= 2", {"h + r", "w + s", "r", "s"}};

PieceText taps(const std::string& where) {
  return {"pq", where, {"h + p", "w + q", "p", "q"}};
}

TEST(ProveGroups, FullKernelAndCrossDifferEverywhere) {
  std::vector<PieceText> cross, nine;
  for (int p = 0; p < 3; ++p) {
    for (int q = 0; q < 3; ++q) {
      nine.push_back(taps(fmt::format("p = {}, q = {}", p, q)));
      if (p == 1 || q == 1) cross.push_back(nine.back());
    }
  }
  EXPECT_EQ(compared(sumOf({kFull}), sumOf(nine)), "none");
  EXPECT_EQ(compared(sumOf(nine), sumOf({kFull})), "none");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf(cross)), "all");
  EXPECT_EQ(compared(sumOf(cross), sumOf({kFull})), "all");
}

// As bars, the cross has classes of columns that overlap: {0, 1, 2} and {1}.
TEST(ProveGroups, OverlappingClassesAreComparedAsWholes) {
  std::vector<PieceText> bars{taps("p = 1, 0 <= q, q <= 2"), taps("p = 0, q = 1"), taps("p = 2, q = 1")};
  EXPECT_EQ(compared(sumOf({kFull}), sumOf(bars)), "no groups");
  EXPECT_EQ(compared(sumOf(bars), sumOf({kFull})), "no groups");
}

TEST(ProveGroups, APieceTwiceHasOnePartner) {
  PieceText one = taps("0 <= p, p <= 2, 0 <= q, q <= 2");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf({one})), "none");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf({one, one})), "all");
  EXPECT_EQ(compared(sumOf({kFull, kFull}), sumOf({one})), "all");
  EXPECT_EQ(compared(sumOf({kFull, kFull}), sumOf({one, one})), "none");
}

// A triangle of taps has the projections of the square, and the transposed kernel those of the kernel.
TEST(ProveGroups, LinkedIndicesAreOneGroup) {
  const std::string square = "0 <= p, p <= 2, 0 <= q, q <= 2";
  PieceText triangle{"rs", "0 <= r, r <= s, s <= 2", {"h + r", "w + s", "r", "s"}};
  EXPECT_EQ(compared(sumOf({triangle}), sumOf({taps("0 <= p, p <= q, q <= 2")})), "none");
  EXPECT_EQ(compared(sumOf({triangle}), sumOf({taps(square)})), "all");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf({taps("0 <= p, p <= q, q <= 2")})), "all");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf({taps(square + ", floor((p + q)/2) <= 1")})), "all");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf({{"pq", square, {"h + p", "w + q", "q", "p"}}})), "all");
  EXPECT_EQ(compared(sumOf({kFull}), sumOf({{"pq", square, {"h + floor((p + q)/2)", "w + q", "p", "q"}}})), "all");
  // The division only seems to link them: 2p comes out of it.
  EXPECT_EQ(
      compared(sumOf({kFull}), sumOf({{"pq", square, {"h + floor((2p + q)/2) - floor(q/2)", "w + q", "p", "q"}}})),
      "none");
}

TEST(ProveGroups, OneGroupIsComparedAsAWhole) {
  const Sum linked = sumOf({{"", "h + w <= N", {"h", "w"}}}),
            divided = sumOf({{"", "floor((h + w)/2) <= N", {"h", "w"}}});
  EXPECT_EQ(compared(linked, linked), "no groups");
  EXPECT_EQ(compared(divided, divided), "no groups");
}

// A symbol is no link, but emptiness is asked of all groups together.
TEST(ProveGroups, GroupsThatAreEmptyAtDifferentShapes) {
  const Sum nothing = sumOf({});
  EXPECT_EQ(compared(sumOf({{"", "h + 5 <= N, w + N <= 4", {"h", "w"}}}), nothing), "none");
  EXPECT_EQ(compared(nothing, sumOf({{"", "h + 5 <= N, w + N <= 4", {"h", "w"}}})), "none");
  EXPECT_EQ(compared(sumOf({{"", "h + 5 <= N, w + N <= 5", {"h", "w"}}}), nothing), "some");
  EXPECT_EQ(compared(sumOf({{"", "h <= N, w <= N", {"h", "w"}}}), sumOf({{"", "h <= N, w <= N", {"h", "w"}}})), "none");
  EXPECT_EQ(compared(sumOf({{"", "h <= N, w <= N", {"h", "w"}}}), sumOf({{"", "h <= N, w < N", {"h", "w"}}})), "some");
  EXPECT_EQ(compared(sumOf({{"", "N <= 3", {"h", "w"}}}), sumOf({{"", "N <= 3", {"h", "w"}}})), "none");
  EXPECT_EQ(compared(sumOf({{"", "N <= 3", {"h", "w"}}}), sumOf({{"", "N <= 2", {"h", "w"}}})), "some");  // N = 3
}

TEST(ProveGroups, AMonomialThatRepeatsIsComparedAsAWhole) {
  EXPECT_EQ(compared(sumOf({{"rs", "0 <= r, r <= 2, 0 <= s, s <= 2", {"h", "w"}}}),
                     sumOf({{"pq", "0 <= p, p <= 2, 0 <= q, q <= 2", {"h", "w"}}})),
            "no groups");
}

TEST(ProveGroups, SetsOfGroups) {
  poly::Context context(kShapes);
  GroupSets sets(context);
  auto low = sets.set({"h"}, all("0 <= h, h < 2")), same = sets.set({"x"}, all("0 <= x, x <= 1")),
       high = sets.set({"h"}, all("2 <= h, h < H")), both = sets.set({"h"}, all("0 <= h, h < H"));
  EXPECT_EQ(sets.set({"h"}, all("0 <= h, h < 2")), low);
  EXPECT_TRUE(sets.isEqual(low, same));
  EXPECT_FALSE(sets.isEqual(low, both));
  EXPECT_TRUE(sets.isDisjoint(low, high));
  EXPECT_TRUE(sets.isEqual(sets.without(both, {low}), high));
  EXPECT_TRUE(sets.isEmpty(sets.without(both, {low, high})));
  auto shift = sets.relation({"h", "x"}, all("x = h + 1, 0 <= h, h < 2"), 1);
  EXPECT_TRUE(sets.isEqual(sets.domain(shift), low));
  EXPECT_TRUE(sets.isBijection(shift));
  EXPECT_FALSE(sets.isBijection(sets.relation({"h", "x"}, all("x = floor(h/2)"), 1)));
  EXPECT_FALSE(sets.isBijection(sets.relation({"h", "x"}, all("h = floor(x/2)"), 1)));
}

// --- Against whole pieces ---

struct Outcome {
  bool grouped = false, agrees = true;
};

/// Matcher compares pieces as wholes when there are so few.
Outcome outcome(const ShapeClass& shapes, const Program& pattern, const Program& candidate) {
  NameSource names;
  auto a = denote(pattern, pattern.outputs()[0], names), b = denote(candidate, candidate.outputs()[0], names);
  if (!a || !b || a->pieces.size() * b->pieces.size() >= 64) return {};
  poly::Context context(shapes);
  auto grouped = bijectionByGroups(context, *a, *b);
  if (!grouped) return {};
  auto whole = Matcher(context, *a, *b, {}).compareOutputs();
  return {true, whole && whole->isSubset(grouped->bad) && grouped->bad.isSubset(*whole)};
}

TEST(ProveGroups, AllCasesOfTheProver) {
  int grouped = 0;
  for (const auto& file : testing_support::proveCases()) {
    auto set = parseRules(testing_support::textOf(file), "");
    if (!set) continue;
    const Rule& rule = set->rules[0];
    auto source = instantiate(*set->findPattern(rule.pattern), rule);
    ASSERT_TRUE(source);
    Outcome o = outcome(rule.shapes, *source, rule.replacement);
    grouped += o.grouped;
    EXPECT_TRUE(o.agrees) << file;
  }
  EXPECT_GT(grouped, 100);
}

}  // namespace
}  // namespace pet::prove_groups_test
