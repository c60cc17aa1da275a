#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synth/cover/redundancy.h"
#include "tests/unit/rewrite_support.h"

namespace pet::cover_minimal_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::ruleText;

const std::string kPlain = "M N : 1 <= M, 1 <= N", kThree = "x: [M, N]\ny: [M, N]\nz: [M, N]\n";

/// "name: reason by rules", by name.
std::vector<std::string> dropped(const std::string& text, const cover::ChainLimits& limits = {.steps = 1}) {
  RuleSet set = testing_support::ruleSet(text);
  cover::MinimalSet minimal = cover::minimalSet(set, limits);
  EXPECT_EQ(minimal.kept.rules.size() + minimal.dropped.size(), set.rules.size());
  for (const Rule& r : minimal.kept.rules)
    EXPECT_TRUE(minimal.kept.findPattern(r.pattern)) << r.name;
  for (const Pattern& p : minimal.kept.patterns) {
    EXPECT_TRUE(std::any_of(minimal.kept.rules.begin(), minimal.kept.rules.end(), [&](const Rule& r) {
      return r.pattern == p.name;
    })) << p.name;
  }
  std::vector<std::string> lines;
  for (const cover::Dropped& d : minimal.dropped) {
    EXPECT_FALSE(minimal.kept.findRule(d.rule)) << d.rule;
    std::string line = fmt::format("{}: {}", d.rule, cover::redundancyName(d.why));
    for (const std::string& by : d.by) {
      EXPECT_TRUE(minimal.kept.findRule(by)) << by;
      line += " " + by;
    }
    lines.push_back(line);
  }
  return lines;
}

/// x (y + z) = x y + x z
std::string distributes(const std::string& name, const std::string& shapes = kPlain) {
  return ruleText(name, shapes, kThree, "a = Add(x, y)\nb = Mul(a, z)\n",
                  "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\n", kPlain);
}

TEST(CoverMinimal, OneProgramOnBothSides) {
  EXPECT_THAT(dropped(ruleText("p", kPlain, kThree, "a = Add(x, y)\nb = Relu(a)\n", "a = Add(y, x)\nb = Relu(a)\n")),
              ElementsAre("p/r: one program on both sides"));
}

TEST(CoverMinimal, WhatHoldsForAnyNumberDoesNotFollowFromOneValue) {
  auto leaky = [](const std::string& name, const std::string& alpha, bool any) {
    const std::string open = any ? fmt::format("\nany {} > 0", alpha) : "", with = " alpha=" + alpha;
    return ruleText(name, kPlain, kThree, "a = Add(x, y)\nb = LeakyRelu(a)" + with + "\nc = Mul(b, z)\n",
                    "a = Add(x, y)\nb = LeakyRelu(a)" + with + "\nc = Mul(z, b)\nd = Neg(c)\ne = Neg(d)\n",
                    kPlain + open);
  };
  EXPECT_THAT(dropped(leaky("p", "0.01", false) + leaky("q", "0.01", true)), ElementsAre("p/r: instance q/r"));
  EXPECT_THAT(dropped(leaky("p", "0.3", false) + leaky("q", "0.01", true)), ElementsAre("p/r: instance q/r"));
  EXPECT_THAT(dropped(leaky("p", "0.01", true) + leaky("q", "0.3", false)), ElementsAre("q/r: instance p/r"));
  EXPECT_THAT(dropped(leaky("p", "0.01", true) + leaky("q", "0.3", true)), ElementsAre("q/r: renaming p/r"));
  EXPECT_THAT(dropped(leaky("p", "0.01", false) + leaky("q", "0.3", false)), IsEmpty());
}

TEST(CoverMinimal, Renamings) {
  std::string other = ruleText("q", "A B : 1 <= A, 1 <= B", "u: [A, B]\nv: [A, B]\nw: [A, B]\n",
                               "a = Mul(u, v)\nb = Mul(w, u)\nc = Add(b, a)\n", "a = Add(w, v)\nb = Mul(u, a)\n");
  EXPECT_THAT(dropped(distributes("p") + other), ElementsAre("q/r: renaming p/r"));
  EXPECT_THAT(dropped(distributes("p") + other, {.steps = 1, .backwards = false}), IsEmpty()) << "it is the other way";
  EXPECT_THAT(dropped(distributes("p") + distributes("q"), {.steps = 1, .backwards = false}),
              ElementsAre("q/r: renaming p/r"));
}

TEST(CoverMinimal, Instances) {
  std::string special = ruleText("a", kPlain, "x: [M, N]\ny: [M, N]\n", "a = Add(x, y)\nb = Mul(a, x)\n",
                                 "a = Mul(x, x)\nb = Mul(y, x)\nc = Add(a, b)\n");
  EXPECT_THAT(dropped(distributes("p") + special), ElementsAre("a/r: instance p/r")) << "general first, not by name";
  std::string narrower = distributes("b", "M N : 3 <= M, 1 <= N"), wider = distributes("c", "M N : 2 <= M, 1 <= N");
  EXPECT_THAT(dropped(narrower + wider), ElementsAre("b/r: instance c/r"));
  std::string row = ruleText("r", "N : 1 <= N", "x: [1, N]\ny: [1, N]\nz: [1, N]\n", "a = Add(x, y)\nb = Mul(a, z)\n",
                             "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\n");
  EXPECT_THAT(dropped(distributes("p") + row), ElementsAre("r/r: instance p/r"));
}

TEST(CoverMinimal, AClassThatIsNotContainedIsKept) {
  EXPECT_THAT(dropped(distributes("b", "M N : 3 <= M, 1 <= N") + distributes("c", "M N : 1 <= M, 2 <= N")), IsEmpty());
  std::string constant = ruleText("k", kPlain, "x: [M, N]\ny: [M, N]\nz: const [M, N]\n",
                                  "a = Add(x, y)\nb = Mul(a, z)\n", "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\n");
  EXPECT_THAT(dropped(constant + distributes("p")), ElementsAre("k/r: instance p/r"));
  std::string allConstant = constant;
  EXPECT_THAT(dropped(allConstant + ruleText("s", kPlain, "x: [M, N]\ny: [M, N]\n", "a = Add(x, y)\nb = Mul(a, y)\n",
                                             "a = Mul(x, y)\nb = Mul(y, y)\nc = Add(a, b)\n")),
              IsEmpty())
      << "y is not constant there";
}

TEST(CoverMinimal, SharedParts) {
  std::string above = ruleText("q", kPlain, kThree, "a = Add(x, y)\nb = Mul(a, z)\nc = Relu(b)\n",
                               "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\nd = Relu(c)\n");
  std::string below = ruleText("s", kPlain, kThree, "t = Neg(z)\na = Add(x, y)\nb = Mul(a, t)\n",
                               "t = Neg(z)\na = Mul(x, t)\nb = Mul(y, t)\nc = Add(a, b)\n");
  std::string beside = ruleText("t", kPlain, kThree, "a = Add(x, y)\nb = Mul(a, z)\nc = Neg(x)\nreturn b, c\n",
                                "a = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\nd = Neg(x)\nreturn c, d\n");
  EXPECT_THAT(dropped(distributes("p") + above + below + beside),
              ElementsAre("q/r: shared part p/r", "s/r: shared part p/r", "t/r: shared part p/r"));
}

TEST(CoverMinimal, Products) {
  std::string idempotent = ruleText("i", "L : 1 <= L", "x: [L, L]\n", "a = Relu(x)\nb = Relu(a)\n", "a = Relu(x)\n");
  std::string product = ruleText("q", "M N L : 1 <= M, 1 <= N, 1 <= L", kThree + "u: [L, L]\n",
                                 "s = Relu(u)\nt = Relu(s)\na = Add(x, y)\nb = Mul(a, z)\nreturn b, t\n",
                                 "t = Relu(u)\na = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\nreturn c, t\n");
  const std::string square = "L : 1 <= L", squares = "x: [L, L]\ny: [L, L]\nz: [L, L]\n";
  std::string shared =
      ruleText("s", square, squares, "s = Relu(x)\nt = Relu(s)\na = Add(x, y)\nb = Mul(a, z)\nreturn b, t\n",
               "t = Relu(x)\na = Mul(x, z)\nb = Mul(y, z)\nc = Add(a, b)\nreturn c, t\n");
  EXPECT_THAT(dropped(distributes("p") + idempotent + product + shared), ElementsAre("q/r: product p/r i/r"))
      << "the outputs of the last share x";
  EXPECT_THAT(dropped(distributes("p") + idempotent + shared, {.steps = 2}), ElementsAre("s/r: chain p/r i/r"));
  EXPECT_THAT(dropped(product + idempotent), IsEmpty()) << "the other part follows from nothing";
}

TEST(CoverMinimal, Chains) {
  const std::string matrices = "x: [M, M]\ny: [M, M]\nz: [M, M]\nw: [M, M]\n";
  std::string associates = ruleText("p", "M : 1 <= M", "x: [M, M]\ny: [M, M]\nz: [M, M]\n",
                                    "a = MatMul(x, y)\nb = MatMul(a, z)\n", "a = MatMul(y, z)\nb = MatMul(x, a)\n");
  std::string twice = ruleText("q", "M : 1 <= M", matrices, "a = MatMul(x, y)\nb = MatMul(a, z)\nc = MatMul(b, w)\n",
                               "a = MatMul(z, w)\nb = MatMul(y, a)\nc = MatMul(x, b)\n");
  EXPECT_THAT(dropped(associates + twice), IsEmpty());
  EXPECT_THAT(dropped(associates + twice, {.steps = 2}), ElementsAre("q/r: chain p/r"));
}

TEST(CoverMinimal, TheOrderOfTheRulesDoesNotMatter) {
  std::string a = distributes("a"), b = distributes("b"), c = distributes("c");
  EXPECT_EQ(dropped(a + b + c), dropped(c + b + a));
}

}  // namespace
}  // namespace pet::cover_minimal_test
