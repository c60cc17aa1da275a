// The pattern's own operators in other arrangements, and what may stand beside them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synth/propose/exchanges/exchange.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_exchange_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::pattern;

std::vector<std::string> exchangesOf(const std::string& nameOrText) {
  std::vector<std::string> names;
  for (const Exchange& e : enumerateExchanges(pattern(nameOrText), {}))
    names.push_back(e.name);
  return names;
}

TEST(Exchanges, SumsOfProductsMayBeProductsOfMatrices) {
  EXPECT_THAT(exchangesOf("products-of-rows"), Contains("MatMul(x:Transpose(z))"));
  EXPECT_THAT(exchangesOf("weighted-rows"), Contains("Squeeze(MatMul(Transpose(a):x))"));
  EXPECT_THAT(exchangesOf("products-of-rows-batch"), Contains("MatMul(x:Transpose(z))"));
  EXPECT_THAT(exchangesOf("weighted-maps"), Contains("Layout(MatMul(Layout(a):Layout(x)))"));
}

TEST(Exchanges, WhatIsJoinedOrExpandedToBeSummedOrMultiplied) {
  EXPECT_THAT(exchangesOf("stack-sum"), Contains("Add(x:z)"));
  EXPECT_THAT(exchangesOf("stack-sum-3"), Contains("Add(v:Add(x:z))"));
  EXPECT_THAT(exchangesOf("expand-mul"), Contains("Mul(x:s)"));
  EXPECT_THAT(exchangesOf("row-products"), Contains("ReduceSum(Mul(x:Transpose(z)))"));
  EXPECT_THAT(exchangesOf("matrices-times-columns"), Contains("ReduceSum(Mul(x:Transpose(z)))"));
  EXPECT_THAT(exchangesOf("pattern p { shape N K\n x: [N, K]\n z: [N, K]\n t = Concat(x, z) axis=1\n"
                          " y = ReduceSum(t) axes=[0] }"),
              Each(Not(HasSubstr("Add("))));
}

TEST(Exchanges, WhatIsThereTwiceIsJoined) {
  EXPECT_THAT(exchangesOf("expand-twice"), Contains("Concat(x:x)"));
  EXPECT_THAT(exchangesOf("pattern p { shape M\n x: [M, 1]\n y = Expand(x) shape=[M, 3] }"),
              Each(Not(HasSubstr("Concat"))));
}

TEST(Exchanges, RepeatedPixelsAreTheNearest) {
  EXPECT_THAT(exchangesOf("upsample-expand"), Contains("Resize(x)"));
  // Tiles of the image are no pixels, and an image that grows by no whole number is no Resize of this kind.
  EXPECT_THAT(exchangesOf("pattern p { shape N C H W\n x: [N, C, H, W]\n s = Reshape(x) shape=[N, C, 1, H, 1, W]\n"
                          " t = Expand(s) shape=[N, C, 2, H, 2, W]\n y = Reshape(t) shape=[N, C, 2H, 2W] }"),
              Each(Not(HasSubstr("Resize"))));
  EXPECT_THAT(exchangesOf("expand-mul"), Each(Not(HasSubstr("Resize"))));
}

TEST(Exchanges, SumsOfOtherThingsMayNot) {
  const char* program =
      "pattern p { shape N M K\n x: [N, M, K]\n a: const [N, M, 1]\n t = Mul(x, a)\n y = ReduceSum(t) axes=[1] }";
  EXPECT_THAT(exchangesOf(program), Each(Not(HasSubstr("MatMul"))));
  EXPECT_THAT(exchangesOf("pattern p { shape N M K\n x: [N, M, K]\n z: [N, M, K]\n t = Add(x, z)\n"
                          " y = ReduceSum(t) axes=[1] }"),
              Each(Not(HasSubstr("MatMul"))));
}

}  // namespace
}  // namespace pet::synth_exchange_test
