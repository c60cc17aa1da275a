// Constants of a model that are products of weights, as a pattern has them.

#include <gmock/gmock.h>

#include "ir/evaluate.h"
#include "rules/rewrite/bind.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_factors_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kDiagonal = R"(
pattern diagonal {
  shape B M K
  x: [B, M, K]
  d: const [K]
  unit = Eye() extent=K
  w = Mul(unit, d)
  y = MatMul(x, w)
})";

constexpr const char* kSeparable = R"(
pattern separable {
  shape N C H W R S
  x: [N, C, H, W]
  u: const [C, 1, R, 1]
  v: const [C, 1, 1, S]
  w = Mul(u, v)
  y = ConvTranspose(x, w) group=C
})";

/// The weights of the only site of the pattern in a model that is one operator, by name; or why there is none.
Expected<std::map<std::string, std::vector<float>>> factors(const std::string& pattern,
                                                            const std::string& x,
                                                            const Tensor<float>& w,
                                                            const std::string& op) {
  const Program program = parsed("x: " + x + "  w: const " + str(w.extents) + "  y = " + op);
  auto graph = toGraph(program, {{"w", Constant::of(w)}}, 17);
  EXPECT_TRUE(graph) << graph.error().message();
  const Normalised normalised = normalise(*graph, {});
  const MatchIndex index(*graph, normalised.view, normalised.sizes);
  const RuleSet rules = rulesOf(pattern);
  std::vector<Refusal> refusals;
  auto sites = match(index, rules.patterns.at(0), refusals);
  if (sites.size() != 1) return fail(ErrorKind::kCheck, refusals.empty() ? "no site" : refusals[0].reason.detail);
  const Program& weights = sites[0].factored.at(0).weights;
  auto values = evaluate<float>(weights, {}, {{weights.name(weights.inputs()[0]), w}});
  EXPECT_TRUE(values);
  std::map<std::string, std::vector<float>> result;
  for (size_t i = 0; i < values->size(); ++i)
    result.emplace(weights.name(weights.outputs()[i]), (*values)[i].data);
  return result;
}

auto diagonal(const Tensor<float>& w) {
  return factors(kDiagonal, "[2, 3, 4]", w, "MatMul(x, w)");
}

auto separable(const Tensor<float>& w) {
  return factors(kSeparable, "[1, 2, 5, 5]", w, "ConvTranspose(x, w) group=2");
}

Tensor<float> matrix(std::vector<float> diagonal) {
  const auto n = static_cast<int64_t>(diagonal.size());
  Tensor<float> w({n, n});
  for (size_t i = 0; i < diagonal.size(); ++i)
    w.data[i * diagonal.size() + i] = diagonal[i];
  return w;
}

TEST(ApplierFactors, ADiagonalMatrixIsItsDiagonal) {
  auto found = diagonal(matrix({0.1F, -3, 0, 7}));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(found->at("d"), ElementsAre(0.1F, -3, 0, 7));
}

TEST(ApplierFactors, OtherMatricesAreNone) {
  Tensor<float> early = matrix({1, 2, 3, 4}), late = early, nan = early;
  early.data[1] = 1e-30F;
  late.data[4 * 3] = 1e-30F;
  nan.data[0] = std::nanf("");
  for (const Tensor<float>& w : {early, late, nan}) {
    auto found = diagonal(w);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().what, "equal only where a constant is Mul(Eye, d)");
  }
  auto found = factors(kDiagonal, "[2, 3, 4]", Tensor<float>({4, 5}), "MatMul(x, w)");
  ASSERT_FALSE(found);
}

/// Each channel has factors of its own, which are found by an element that is not 0.
TEST(ApplierFactors, AnOuterProductIsTwoVectors) {
  const Tensor<float> w({2, 1, 2, 3}, {0, 1, 3, 0, 4, 12, 0.75F, 1.5F, 0, 0.25F, 0.5F, 0});
  auto found = separable(w);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(found->at("u"), ElementsAre(1, 4, 0.75F, 0.25F));
  EXPECT_THAT(found->at("v"), ElementsAre(0, 1, 3, 1, 2, 0));
}

/// The product of the factors has to be the constant to the last bit.
TEST(ApplierFactors, WhatIsNearlyAProductIsNone) {
  Tensor<float> w({2, 1, 2, 3}, {0, 1, 3, 0, 4, 12, 0.75F, 1.5F, 0, 0.25F, 0.5F, 0});
  w.data[5] = std::nextafter(12.0F, 13.0F);
  auto found = separable(w);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what, "equal only where a constant is Mul(u, v)");
  EXPECT_FALSE(separable(Tensor<float>({2, 1, 2, 3})));  // of zeros no factor is known
}

}  // namespace
}  // namespace pet::applier_factors_test
