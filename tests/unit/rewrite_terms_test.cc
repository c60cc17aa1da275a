#include <gtest/gtest.h>

#include "synth/judge/decide.h"
#include "tests/unit/rewrite_support.h"

namespace pet::rewrite_terms_test {
namespace {

using testing_support::oneLine;

struct Law {
  const char *shapes, *inputs, *before, *after;
};

/// What holds by construction: each law's name is that of a proved case in tests/prove, too.
const Law kLaws[] = {
    {"M N : 1 <= M, 1 <= N", "x: [M, N]\ny: [M, N]\n", "a = Add(y, x)\n", "a = Add(x, y)"},
    {"M N : 1 <= M, 1 <= N", "x: [M, N]\ny: [N]\n", "a = Mul(y, x)\n", "a = Mul(x, y)"},
    {"M N : 1 <= M, 1 <= N", "x: [M, N]\n", "a = Identity(x)\nb = Relu(a)\n", "a = Relu(x)"},
    {"A B C : 1 <= A, 1 <= B, 1 <= C", "x: [A, B, C]\n",
     "a = Transpose(x) perm=[1, 2, 0]\nb = Transpose(a) perm=[0, 2, 1]\n", "a = Transpose(x) perm=[1, 0, 2]"},
    {"A B C : 1 <= A, 1 <= B, 1 <= C", "x: [A, B, C]\n",
     "a = Transpose(x) perm=[1, 2, 0]\nb = Transpose(a) perm=[2, 0, 1]\nc = Relu(b)\n", "a = Relu(x)"},
    {"A B C : 1 <= A, 1 <= B, 1 <= C", "x: [A, C]\ny: [B, C]\n",
     "t = Concat(x, y) axis=0\na, b = Split(t) axis=0 split=[A, B]\nc = Relu(a)\nd = Neg(b)\nreturn c, d\n",
     "a = Relu(x); b = Neg(y); return a, b"},
    {"A B C : 1 <= A, 1 <= B, 1 <= C", "x: [A + B, C]\n",
     "a, b = Split(x) axis=0 split=[A, B]\nc = Concat(a, b) axis=0\nd = Relu(c)\n", "a = Relu(x)"},
    {"A B : 1 <= A, 1 <= B", "x: [A, B]\n", "a = Concat(x) axis=0\nb = Relu(a)\n", "a = Relu(x)"},
    // What is computed twice is computed once, and what nobody needs is not.
    {"N : 1 <= N", "x: [N]\n", "a = Relu(x)\nb = Relu(x)\nc = Neg(b)\nd = Sub(a, b)\n", "a = Relu(x); b = Sub(a, a)"},
    {"N : 1 <= N", "x: [N]\ny: [N]\n", "a = Add(x, y)\nb = Add(y, x)\nd = Sub(a, b)\n", "a = Add(x, y); b = Sub(a, a)"},
};

TEST(RewriteTerms, LawsByConstructionAreProved) {
  for (const Law& law : kLaws) {
    RuleSet set =
        testing_support::ruleSet(testing_support::ruleText("p", law.shapes, law.inputs, law.before, law.before));
    auto now = rewrite::normalised(set.patterns.at(0).program);
    ASSERT_TRUE(now) << law.before;
    EXPECT_EQ(oneLine(*now), law.after);
    Rule rule = set.rules.at(0);
    rule.replacement = *now;
    EXPECT_EQ(verdictOf(decide(set.patterns.at(0), rule)), "proved") << law.before;
  }
}

TEST(RewriteTerms, WhatLooksLikeALawAndIsNone) {
  const Law table[] = {
      {"N : 1 <= N", "x: [N]\ny: [N]\n", "a = Sub(y, x)\n", "a = Sub(y, x)"},
      {"N : 1 <= N", "x: [N, N]\ny: [N, N]\n", "a = MatMul(y, x)\n", "a = MatMul(y, x)"},
      // Cut elsewhere, along another axis, in another order, not all of it
      {"A C : 2 <= A, 1 <= C", "x: [A, C]\ny: [A, C]\n",
       "t = Concat(x, y) axis=0\na, b = Split(t) axis=0 split=[A - 1, A + 1]\n",
       "a = Concat(x, y) axis=0; b, c = Split(a) axis=0 split=[A - 1, A + 1]"},
      {"A C : 1 <= A, 1 <= C", "x: [A, 2A]\ny: [A, 2A]\n",
       "t = Concat(x, y) axis=0\na, b = Split(t) axis=1 split=[A, A]\n",
       "a = Concat(x, y) axis=0; b, c = Split(a) axis=1 split=[A, A]"},
      {"A C : 1 <= A, 1 <= C", "x: [2A, C]\n", "a, b = Split(x) axis=0 split=[A, A]\nc = Concat(b, a) axis=0\n",
       "a, b = Split(x) axis=0 split=[A, A]; c = Concat(b, a) axis=0"},
      {"A C : 1 <= A, 1 <= C", "x: [3A, C]\n", "a, b, d = Split(x) axis=0 split=[A, A, A]\nc = Concat(a, b) axis=0\n",
       "a, b, c = Split(x) axis=0 split=[A, A, A]; d = Concat(a, b) axis=0"},
      {"A C : 1 <= A, 1 <= C", "x: [2A, A]\n", "a, b = Split(x) axis=0 split=[A, A]\nc = Concat(a, b) axis=1\n",
       "a, b = Split(x) axis=0 split=[A, A]; c = Concat(a, b) axis=1"},
  };
  for (const Law& law : table) {
    RuleSet set =
        testing_support::ruleSet(testing_support::ruleText("p", law.shapes, law.inputs, law.before, law.before));
    auto now = rewrite::normalised(set.patterns.at(0).program);
    ASSERT_TRUE(now) << law.before;
    EXPECT_EQ(oneLine(*now), law.after);
  }
}

}  // namespace
}  // namespace pet::rewrite_terms_test
