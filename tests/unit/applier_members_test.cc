// Which member of a rule's class stands for the shapes of a site.

#include "applier/check/members.h"
#include "rules/small_shapes.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_members_test {
namespace {

using namespace testing_support;

/// A product [M, K] x [K, N] and its replacement, with more constraints on the class. Its work at M, K, N is that of
/// two products and their inputs: 2MKN + MK + KN.
struct Product {
  explicit Product(const std::string& constraints = "")
      : rules(rulesOf(R"(
pattern product {
  shape M K N : 1 <= M, 1 <= K, 1 <= N
  a: [M, K]
  b: [K, N]
  y = MatMul(a, b)
}

rule product/itself of product {
  family f
  depth 1
  class M K N : 1 <= M, 1 <= K, 1 <= N)" +
                      constraints + R"(
  numerics same-terms
  replacement {
    y = MatMul(a, b)
  }
  proof {
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
})")) {}

  Bindings like(int64_t m, int64_t k, int64_t n) const {
    return memberLike(rules.rules.at(0), rules.patterns.at(0).program, {{"M", m}, {"K", k}, {"N", n}});
  }

  RuleSet rules;
};

Bindings at(int64_t m, int64_t k, int64_t n) {
  return {{"M", m}, {"K", k}, {"N", n}};
}

TEST(MemberLike, SmallShapesStandForThemselves) {
  const Product product;
  EXPECT_EQ(product.like(40, 40, 40), at(40, 40, 40));
  // 2MKN + MK + KN = 200,000: the last that is small.
  EXPECT_EQ(product.like(1, 1, 66666), at(1, 1, 66666));
  EXPECT_EQ(product.like(1, 1, 66667), at(1, 1, 33334));
}

TEST(MemberLike, TheLargestSymbolIsHalvedAndSmallOnesStay) {
  const Product product;
  EXPECT_EQ(product.like(3, 20000, 7), at(3, 2500, 7));   // 20000, 10000, 5000, 2500
  EXPECT_EQ(product.like(3, 12001, 7), at(3, 3001, 7));   // halves are rounded up
  EXPECT_EQ(product.like(400, 900, 3), at(200, 113, 3));  // K 450, K 225, M 200, K 113
}

TEST(MemberLike, OfEqualSymbolsTheFirstIsHalvedFirst) {
  EXPECT_EQ(Product().like(64, 64, 64), at(32, 32, 64));
}

TEST(MemberLike, WhatTheClassHoldsFastIsPassedOver) {
  EXPECT_EQ(Product(", K = 1000").like(100, 1000, 100), at(7, 1000, 7));
  // 500 is too small for K as long as N is 900.
  EXPECT_EQ(Product(", N <= K").like(2, 1000, 900), at(2, 250, 113));
}

TEST(MemberLike, WhereNothingShrinksTheShapesStandForThemselves) {
  EXPECT_EQ(Product(", M = 100, K = 100, N = 100").like(100, 100, 100), at(100, 100, 100));
  // Some shrink: what is left is as small as the class admits.
  EXPECT_EQ(Product(", K = 1000, N = 1000").like(100, 1000, 1000), at(1, 1000, 1000));
}

TEST(MemberLike, ShapesOutsideTheClassStandForThemselves) {
  EXPECT_EQ(Product(", M <= 50").like(100, 1000, 1000), at(100, 1000, 1000));
}

TEST(MemberLike, WorkBeyond64BitsIsLarge) {
  const int64_t huge = int64_t{1} << 40;
  const Bindings like = Product().like(huge, huge, huge);
  for (const auto& [symbol, value] : like)
    EXPECT_TRUE(value == 32 || value == 64) << symbol << " = " << value;
}

}  // namespace
}  // namespace pet::applier_members_test
