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
