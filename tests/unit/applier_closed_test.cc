// Constants that a pattern describes, found in a model by their values.

#include <cmath>

#include <gmock/gmock.h>

#include "applier/match/closed_values.h"
#include "rules/rewrite/bind.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_closed_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

constexpr const char* kMasked = R"(
pattern masked {
  shape B S L U : 0 <= L, 0 <= U
  s: [B, S, S]
  band = Band() shape=[S, S] lower=L upper=U
  zero = Constant() value=0
  hidden = Constant() value=-inf
  mask = Where(band, zero, hidden)
  t = Add(s, mask)
  y = Softmax(t) axis=2
})";

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor<float> bandMask(int64_t n, int64_t lower, int64_t upper, double outside, Extents extents) {
  Tensor<float> t(std::move(extents));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j)
      t.data[static_cast<size_t>(i * n + j)] = static_cast<float>(-lower <= j - i && j - i <= upper ? 0 : outside);
  }
  return t;
}

/// The symbols of the only site of the pattern, or why there is none.
Expected<Bindings> matched(const Tensor<float>& mask, const std::string& pattern = kMasked) {
  Program program =
      parsed("s: [2, 6, 6]  mask: const " + str(mask.extents) + "  t = Add(s, mask)  y = Softmax(t) axis=2");
  auto graph = toGraph(program, {{"mask", Constant::of(mask)}}, 17);
  EXPECT_TRUE(graph) << graph.error().message();
  Normalised normalised = normalise(*graph, {});
  MatchIndex index(*graph, normalised.view, normalised.sizes);
  RuleSet rules = rulesOf(pattern);
  std::vector<Refusal> refusals;
  auto sites = match(index, rules.patterns.at(0), refusals);
  if (sites.size() == 1) return rewrite::numbersAt(sites[0].symbols, {});
  return fail(ErrorKind::kCheck, refusals.empty() ? "no site" : refusals[0].reason.detail);
}

TEST(ApplierClosed, ABandIsFoundByItsValues) {
  for (auto [lower, upper] : {std::pair<int64_t, int64_t>{1, 2}, {0, 0}, {5, 0}, {0, 5}, {5, 5}, {3, 3}}) {
    for (const Extents& extents : {Extents{6, 6}, Extents{1, 6, 6}}) {
      auto found = matched(bandMask(6, lower, upper, -kInfinity, extents));
      ASSERT_TRUE(found) << lower << ", " << upper << ": " << found.error().message();
      EXPECT_EQ(*found, (Bindings{{"B", 2}, {"S", 6}, {"L", lower}, {"U", upper}}));
    }
  }
}

TEST(ApplierClosed, OtherValuesAreNone) {
  Tensor<float> hole = bandMask(6, 2, 2, -kInfinity, {6, 6});
  hole.data[6 * 3 + 3] = -std::numeric_limits<float>::infinity();
  Tensor<float> shifted = bandMask(6, -1, 2, -kInfinity, {6, 6});
  Tensor<float> nan = bandMask(6, 2, 2, -kInfinity, {6, 6});
  nan.data[0] = std::nanf("");
  for (const Tensor<float>& mask :
       {hole, shifted, nan, bandMask(6, 2, 2, -1e4, {6, 6}), bandMask(6, 2, 2, kInfinity, {6, 6})}) {
    auto found = matched(mask);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().what, ::testing::AnyOf(HasSubstr("has other values"), HasSubstr("does not hold")));
  }
}

TEST(ApplierClosed, RanksBroadcastOnlyInFront) {
  Tensor<float> each({2, 6, 6});
  auto found = matched(each);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().what, HasSubstr("another rank"));
}

TEST(ApplierClosed, SymbolsElsewhereDecideToo) {
  std::string pattern(kMasked);
  pattern.replace(pattern.find("upper=U"), 7, "upper=L");
  pattern.replace(pattern.find("S L U : 0 <= L, 0 <= U"), 22, "S L : 0 <= L");
  EXPECT_TRUE(matched(bandMask(6, 2, 2, -kInfinity, {6, 6}), pattern));
  EXPECT_FALSE(matched(bandMask(6, 2, 1, -kInfinity, {6, 6}), pattern));
}

}  // namespace
}  // namespace pet::applier_closed_test
