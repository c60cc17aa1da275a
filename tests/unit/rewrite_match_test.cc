#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synth/cover/known_equations.h"
#include "tests/unit/rewrite_support.h"

namespace pet::rewrite_match_test {
namespace {

using rewrite::Direction;
using rewrite::Equation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::equation;
using testing_support::oneLine;
using Texts = std::vector<std::string>;

struct Source {
  std::string shapes, inputs, statements;
};

/// Each different program that one use of the equation makes of the source; values are named a, b, … anew.
Texts rewritten(const Source& source, const Equation& e, Direction direction = Direction::kForward) {
  RuleSet set = testing_support::ruleSet(
      fmt::format("pattern s {{\nshape {}\n{}{}}}\n", source.shapes, source.inputs, source.statements));
  const Pattern& p = set.patterns.at(0);
  cover::ClassFacts facts(p.shapes);
  rewrite::Terms terms(p.program);
  auto outputs = terms.add(p.program, terms.inputs());
  EXPECT_TRUE(outputs);
  Texts texts;
  auto implied = [&](const Constraint& c) { return facts.implies(c); };
  for (const rewrite::Rewrite& r : rewrite::rewrites(terms, {terms, *outputs}, e, direction, implied)) {
    std::string text = oneLine(terms.extract(r.outputs));
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

const std::string kTwo = "x: [M, N]\ny: [M, N]\n", kThree = kTwo + "z: [M, N]\n";
const std::string kPlain = "M N : 1 <= M, 1 <= N";

Equation matmulOfRows() {
  return equation("M L K N : 1 <= M, 1 <= L, 1 <= K, 1 <= N", "x: [M, K]\ny: [L, K]\nw: [K, N]\n",
                  "a = Concat(x, y) axis=0\nb = MatMul(a, w)\n",
                  "a = MatMul(x, w)\nb = MatMul(y, w)\nc = Concat(a, b) axis=0\n");
}

TEST(RewriteMatch, ExtentsAreExpressions) {
  Source s{"A B C : 1 <= A, 1 <= B, 1 <= C", "u: [2A + 1, B]\nv: [A, B]\nw: [B, 3C]\n",
           "a = Concat(u, v) axis=0\nb = MatMul(a, w)\nc = Relu(b)\n"};
  EXPECT_THAT(rewritten(s, matmulOfRows()),
              ElementsAre("a = MatMul(u, w); b = MatMul(v, w); c = Concat(a, b) axis=0; d = Relu(c)"));
  EXPECT_THAT(rewritten(s, matmulOfRows(), Direction::kBackward), IsEmpty());
}

TEST(RewriteMatch, BackwardsOneMatrixForTwo) {
  Source s{"A B C : 1 <= A, 1 <= B, 1 <= C", "u: [A, B]\nv: [A, B]\nw: [B, C]\nt: [B, C]\n",
           "a = MatMul(u, w)\nb = MatMul(v, w)\nc = Concat(a, b) axis=0\n"};
  EXPECT_THAT(rewritten(s, matmulOfRows(), Direction::kBackward),
              ElementsAre("a = Concat(u, v) axis=0; b = MatMul(a, w)"));
  s.statements = "a = MatMul(u, w)\nb = MatMul(v, t)\nc = Concat(a, b) axis=0\n";
  EXPECT_THAT(rewritten(s, matmulOfRows(), Direction::kBackward), IsEmpty()) << "the equation has one w";
}

TEST(RewriteMatch, OperandsOfSumsHaveNoOrder) {
  Equation e =
      equation(kPlain, kThree, "a = Mul(x, y)\nb = Mul(x, z)\nc = Add(a, b)\n", "a = Add(y, z)\nb = Mul(x, a)\n");
  for (const char* statements :
       {"a = Mul(x, y)\nb = Mul(z, x)\nc = Add(b, a)\n", "a = Mul(y, x)\nb = Mul(z, x)\nc = Add(a, b)\n"})
    EXPECT_THAT(rewritten({kPlain, kThree, statements}, e), ElementsAre("a = Add(y, z); b = Mul(x, a)")) << statements;
  EXPECT_THAT(rewritten({kPlain, kThree, "a = Sub(x, y)\nb = Sub(z, x)\nc = Add(b, a)\n"}, e), IsEmpty());
  EXPECT_THAT(rewritten({kPlain, kTwo, "a = Mul(x, y)\nb = Mul(x, x)\nc = Add(b, a)\n"}, e),
              ElementsAre("a = Add(x, y); b = Mul(x, a)"));
}

TEST(RewriteMatch, AttributesAreSolvedOrCompared) {
  Equation pad = equation("N P Q : 1 <= N, 0 <= P, 0 <= Q", "x: [N]\n",
                          "a = Pad(x) pads=[P, P]\nb = Pad(a) pads=[Q, Q]\n", "a = Pad(x) pads=[P + Q, P + Q]\n");
  EXPECT_THAT(
      rewritten({"N A : 1 <= N, 0 <= A", "x: [N]\n", "a = Pad(x) pads=[2A, 2A]\nb = Pad(a) pads=[3, 3]\n"}, pad),
      ElementsAre("a = Pad(x) pads=[2A + 3, 2A + 3]"));
  EXPECT_THAT(rewritten({"N A : 1 <= N, 0 <= A", "x: [N]\n", "a = Pad(x) pads=[A, 2A]\nb = Pad(a) pads=[3, 3]\n"}, pad),
              IsEmpty())
      << "one P for both";
  EXPECT_THAT(
      rewritten({"N A : 1 <= N, 0 <= A", "x: [N]\n", "a = Pad(x) pads=[A, A] value=1\nb = Pad(a) pads=[3, 3]\n"}, pad),
      IsEmpty())
      << "another value";
  EXPECT_THAT(rewritten({"N A : 1 <= N", "x: [N]\n", "a = Pad(x) pads=[A, A]\nb = Pad(a) pads=[3, 3]\n"}, pad),
              IsEmpty())
      << "A may be negative";
  Equation same = equation("W P : 1 <= W, 0 <= P", "x: [1, 1, W]\nw: [1, 1, 2P + 1]\n", "a = Conv(x, w) pads=[P, P]\n",
                           "a = Pad(x) pads=[0, 0, P, 0, 0, P]\nb = Conv(a, w) pads=[0, 0]\n");
  EXPECT_THAT(rewritten({"W : 1 <= W", "x: [1, 1, W]\nw: [1, 1, 5]\n", "a = Conv(x, w) pads=[2, 2]\n"}, same),
              ElementsAre("a = Pad(x) pads=[0, 0, 2, 0, 0, 2]; b = Conv(a, w)"));
  EXPECT_THAT(rewritten({"W : 2 <= W", "x: [1, 1, W]\nw: [1, 1, 4]\n", "a = Conv(x, w) pads=[1, 1]\n"}, same),
              IsEmpty())
      << "4 is not 2P + 1";
}

TEST(RewriteMatch, WhereAMapBeginsIsSolvedFor) {
  Equation part = equation("M S L : 1 <= L, 0 <= S, S + L <= M", "x: [M]\n", "a = IndexMap(x) [l:L] -> [S + l]\n",
                           "a = Slice(x) axes=[0] starts=[S] ends=[S + L]\n");
  EXPECT_THAT(rewritten({"N A : 1 <= N, 0 <= A", "x: [N + A + 3]\n", "a = IndexMap(x) [i:N] -> [i + A + 2]\n"}, part),
              ElementsAre("a = Slice(x) axes=[0] starts=[A + 2] ends=[A + N + 2]"));
  EXPECT_THAT(rewritten({"N : 1 <= N", "x: [2N]\n", "a = IndexMap(x) [i:N] -> [2i]\n"}, part), IsEmpty())
      << "every other position";
}

TEST(RewriteMatch, ASymbolMayBeAProduct) {
  Equation e =
      equation("M L N : 1 <= M, 1 <= L, 1 <= N", "x: [M, N]\ny: [L, N]\n", "a = Concat(x, y) axis=0\nb = Relu(a)\n",
               "a = Relu(x)\nb = Relu(y)\nc = Concat(a, b) axis=0\n");
  Source s{"A G F : 1 <= A, 1 <= G, 1 <= F", "u: [A, (G F)]\nv: [3, (G F)]\n",
           "a = Concat(u, v) axis=0\nb = Relu(a)\n"};
  EXPECT_THAT(rewritten(s, e), ElementsAre("a = Relu(u); b = Relu(v); c = Concat(a, b) axis=0"));
  e.shapes.require(Constraint::le(2, Expr::variable("N")));
  EXPECT_THAT(rewritten(s, e), IsEmpty()) << "(G F) may be 1";
  s.shapes = "A G F : 1 <= A, 1 <= G, 2 <= F";
  EXPECT_THAT(rewritten(s, e).size(), 1);
  e.shapes.require(Constraint::le(Expr::variable("N"), Expr::variable("M")));
  EXPECT_THAT(rewritten(s, e), IsEmpty()) << "(G F) may be large";
  Equation split = equation("M N : 1 <= M, 1 <= N", "x: [2M, N]\n", "a = Relu(x)\n",
                            "a, b = Split(x) axis=0 split=[M, M]\nc = Relu(a)\nd = Relu(b)\ne = Concat(c, d) axis=0\n");
  EXPECT_THAT(rewritten({"G F : 1 <= G, 1 <= F", "u: [4G, F]\n", "a = Relu(u)\n"}, split),
              ElementsAre("a, b = Split(u) axis=0 split=[2G, 2G]; c = Relu(a); d = Relu(b); e = Concat(c, d) axis=0"));
  EXPECT_THAT(rewritten({"G F : 1 <= G, 1 <= F", "u: [(2G F), 5]\n", "a = Relu(u)\n"}, split), IsEmpty())
      << "a Split has no products as parts";
}

TEST(RewriteMatch, GroupsAreFoundByTheAttribute) {
  Equation e = equation(
      "N G C W F : 1 <= N, 1 <= G, 1 <= C, 1 <= W, 1 <= F", "x: [N, (G C), W]\ny: [N, (G C), W]\nw: [(G F), C, 1]\n",
      "a = Add(x, y)\nb = Conv(a, w) group=G\n", "a = Conv(x, w) group=G\nb = Conv(y, w) group=G\nc = Add(a, b)\n");
  const std::string shapes = "N C W F : 1 <= N, 1 <= C, 1 <= W, 1 <= F";
  EXPECT_THAT(rewritten({shapes, "x: [N, C, W]\ny: [N, C, W]\nw: [F, C, 1]\n", "a = Add(x, y)\nb = Conv(a, w)\n"}, e),
              ElementsAre("a = Conv(x, w); b = Conv(y, w); c = Add(a, b)"));
  EXPECT_THAT(
      rewritten({shapes, "x: [N, 2C, W]\ny: [N, 2C, W]\nw: [2F, C, 1]\n", "a = Add(x, y)\nb = Conv(a, w) group=2\n"},
                e),
      ElementsAre("a = Conv(x, w) group=2; b = Conv(y, w) group=2; c = Add(a, b)"));
  EXPECT_THAT(rewritten({shapes + ", 1 <= N", "x: [N, (W C), W]\ny: [N, (W C), W]\nw: [(W F), C, 1]\n",
                         "a = Add(x, y)\nb = Conv(a, w) group=W\n"},
                        e),
              ElementsAre("a = Conv(x, w) group=W; b = Conv(y, w) group=W; c = Add(a, b)"));
}

TEST(RewriteMatch, AConstantInputStandsForAConstant) {
  Equation e =
      equation(kPlain, "x: [M, N]\ny: const [M, N]\n", "a = Mul(x, y)\nb = Neg(a)\n", "a = Neg(y)\nb = Mul(x, a)\n");
  EXPECT_THAT(rewritten({kPlain, "x: [M, N]\ny: [M, N]\n", "a = Mul(x, y)\nb = Neg(a)\n"}, e), IsEmpty());
  EXPECT_THAT(rewritten({kPlain, "x: [M, N]\ny: const [M, N]\n", "a = Mul(x, y)\nb = Neg(a)\n"}, e),
              ElementsAre("a = Neg(y); b = Mul(x, a)"));
  EXPECT_THAT(rewritten({kPlain, "x: [M, N]\ny: const [M, N]\n", "a = Relu(y)\nb = Mul(x, a)\nc = Neg(b)\n"}, e),
              ElementsAre("a = Relu(y); b = Neg(a); c = Mul(x, b)"));
}

TEST(RewriteMatch, SeveralOutputsAreFoundTogether) {
  Equation e = equation("M L K N : 1 <= M, 1 <= L, 1 <= K, 1 <= N", "x: [M, K]\ny: [L, K]\nw: [K, N]\n",
                        "a = MatMul(x, w)\nb = MatMul(y, w)\nreturn a, b\n",
                        "t = Concat(x, y) axis=0\nu = MatMul(t, w)\na, b = Split(u) axis=0 split=[M, L]\n");
  const std::string shapes = "A B C : 1 <= A, 1 <= B, 1 <= C", inputs = "u: [A, B]\nv: [A, B]\nw: [B, C]\n";
  EXPECT_THAT(
      rewritten({shapes, inputs, "a = MatMul(u, w)\nb = MatMul(v, w)\nc = Sub(a, b)\n"}, e),
      ElementsAre("a = Concat(u, v) axis=0; b = MatMul(a, w); c, d = Split(b) axis=0 split=[A, A]; e = Sub(c, d)",
                  "a = Concat(v, u) axis=0; b = MatMul(a, w); c, d = Split(b) axis=0 split=[A, A]; e = Sub(d, c)"));
  EXPECT_THAT(rewritten({shapes, inputs, "a = MatMul(u, w)\nb = Relu(a)\n"}, e), IsEmpty())
      << "two outputs, not one twice";
  EXPECT_THAT(rewritten({"A B : 1 <= A, 1 <= B", "u: [A, B]\nw: [B, B]\n", "a = MatMul(u, w)\nb = MatMul(a, w)\n"}, e),
              IsEmpty())
      << "one needs the other";
  EXPECT_THAT(
      rewritten({shapes, inputs,
                 "t = Concat(u, v) axis=0\ns = MatMul(t, w)\na, b = Split(s) axis=0 split=[A, A]\nc = Sub(b, a)\n"},
                e, Direction::kBackward),
      ElementsAre("a = MatMul(u, w); b = MatMul(v, w); c = Sub(b, a)"));
}

TEST(RewriteMatch, WhatIsReadFromOutsideStays) {
  Equation e = equation("N : 1 <= N", "x: [N]\n", "a = Relu(x)\nb = Relu(a)\n", "a = Relu(x)\n");
  EXPECT_THAT(rewritten({"N : 1 <= N", "x: [N]\n", "a = Neg(x)\nb = Relu(a)\nc = Relu(b)\nd = Sub(c, b)\n"}, e),
              ElementsAre("a = Neg(x); b = Relu(a); c = Sub(b, b)"));
}

TEST(RewriteMatch, TheClassMustBeImplied) {
  Equation e = equation("W P : 1 <= W, 0 <= P, P <= 2W", "x: [W]\n", "a = Pad(x) pads=[P, 0]\nb = Relu(a)\n",
                        "a = Relu(x)\nb = Pad(a) pads=[P, 0]\n");
  const std::string text = "a = Pad(x) pads=[A, 0]\nb = Relu(a)\n";
  struct Case {
    const char* shapes;
    bool used;
  };
  for (const Case& c : {Case{"W A : 1 <= W, 0 <= A, A <= W", true},
                        {"W A : 1 <= W, 0 <= A, A <= 2W", true},
                        {"W A : 1 <= W, 0 <= A, A <= 3W", false},
                        {"W A : 1 <= W, 0 <= A", false},
                        {"W A : 7 <= W, 0 <= A, A <= W + 7", true},
                        {"W A : 1 <= W, A = 2, 1 <= W", true},
                        {"W A : 1 <= W, A = 0 - 1", false}})
    EXPECT_EQ(rewritten({c.shapes, "x: [W]\n", text}, e).size(), c.used ? 1U : 0U) << c.shapes;
}

TEST(RewriteMatch, LayoutsAndIndexMaps) {
  Equation e = equation("N C W : 1 <= N, 1 <= C, 1 <= W", "x: [2N, C, W]\n",
                        "a = Layout(x) (n 2) c w -> n c (2 w)\nb = Relu(a)\n",
                        "a = Relu(x)\nb = Layout(a) (n 2) c w -> n c (2 w)\n");
  const std::string shapes = "A B : 1 <= A, 1 <= B", x = "x: [4A, B, B]\n";
  EXPECT_THAT(rewritten({shapes, x, "a = Layout(x) (k 2) i j -> k i (2 j)\nb = Relu(a)\n"}, e),
              ElementsAre("a = Relu(x); b = Layout(a)  (n 2) c w -> n c (2 w)"));
  EXPECT_THAT(rewritten({shapes, x, "a = Layout(x) (k 2) i j -> k i (j 2)\nb = Relu(a)\n"}, e), IsEmpty());
  Equation flip =
      equation("C S : 1 <= C, 1 <= S", "w: [C, S]\n", "a = IndexMap(w) [c:C, s:S] -> [c, S - 1 - s]\nb = Relu(a)\n",
               "a = Relu(w)\nb = IndexMap(a) [c:C, s:S] -> [c, S - 1 - s]\n");
  EXPECT_THAT(rewritten({shapes, "x: [A, B]\n", "a = IndexMap(x) [i:A, j:B] -> [i, B - 1 - j]\nb = Relu(a)\n"}, flip),
              ElementsAre("a = Relu(x); b = IndexMap(a)  [c:A, s:B] -> [c, B - s - 1]"));
  EXPECT_THAT(rewritten({shapes, "x: [A, B]\n", "a = IndexMap(x) [i:A, j:B] -> [i, B - 2 - j]\nb = Relu(a)\n"}, flip),
              IsEmpty());
}

TEST(RewriteMatch, NoPlaceForWhatDoesNotDetermineEverything) {
  Equation e = equation(kPlain, kTwo, "a = Sub(x, x)\nb = Add(y, a)\nc = Relu(b)\n", "a = Relu(y)\n");
  EXPECT_THAT(rewritten({kPlain, kTwo, "a = Relu(y)\n"}, e, Direction::kBackward), IsEmpty());
  EXPECT_THAT(rewritten({kPlain, kTwo, "a = Sub(x, x)\nb = Add(y, a)\nc = Relu(b)\n"}, e), ElementsAre("a = Relu(y)"));
}

TEST(RewriteRank, PositionwiseEquationsHoldAtEachRank) {
  Equation rows =
      equation("M L N : 1 <= M, 1 <= L, 1 <= N", "x: [M, N]\ny: [L, N]\n", "a = Concat(x, y) axis=0\nb = Relu(a)\n",
               "a = Relu(x)\nb = Relu(y)\nc = Concat(a, b) axis=0\n");
  auto four = rewrite::atRank(rows, 4);
  ASSERT_TRUE(four);
  EXPECT_EQ(print(four->shapes), "M L N D1 D2 : 1 <= M, 1 <= L, 1 <= N, 1 <= D1, 1 <= D2");
  EXPECT_EQ(str(four->right.shape(four->right.outputs()[0])), "[L + M, N, D1, D2]");
  auto one = rewrite::atRank(*four, 1);
  ASSERT_TRUE(one);
  EXPECT_EQ(print(one->shapes), "M L : 1 <= M, 1 <= L");
  EXPECT_EQ(print(one->left, ""), "x: [M]\ny: [L]\na = Concat(x, y) axis=0\nb = Relu(a)\n");
  EXPECT_FALSE(rewrite::atRank(rows, 0));
  EXPECT_FALSE(rewrite::atRank(matmulOfRows(), 4));
  Equation columns =
      equation("M L N : 1 <= M, 1 <= L, 1 <= N", "x: [N, M]\ny: [N, L]\n", "a = Concat(x, y) axis=1\nb = Relu(a)\n",
               "a = Relu(x)\nb = Relu(y)\nc = Concat(a, b) axis=1\n");
  EXPECT_TRUE(rewrite::atRank(columns, 3));
  EXPECT_FALSE(rewrite::atRank(columns, 1)) << "it joins the dimension that would go";
  Equation bounded = equation("M N : 1 <= M, 2 <= N", "x: [M, N]\n", "a = Relu(x)\nb = Relu(a)\n", "a = Relu(x)\n");
  EXPECT_TRUE(rewrite::atRank(bounded, 3));
  EXPECT_FALSE(rewrite::atRank(bounded, 1)) << "N is not 1";
  Equation square = equation("M : 1 <= M", "x: [M, M]\n", "a = Relu(x)\nb = Relu(a)\n", "a = Relu(x)\n");
  EXPECT_FALSE(rewrite::atRank(square, 1));
}

}  // namespace
}  // namespace pet::rewrite_match_test
