#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/compare.h"
#include "tests/unit/applier_support.h"

// Models that compute in 16 bits.
namespace pet::applier_half_test {
namespace {

using namespace testing_support;
using testing::HasSubstr;

constexpr std::string_view kConv = "x: [1, 2, 6, 6]  w: const [3, 2, 3, 3]  y = Conv(x, w) pads=[1, 1, 1, 1]";

/// The model with weights, inputs and outputs of this type.
Model modelIn(ElementType element, std::string_view text) {
  const Program program = parsed(text);
  Constants constants;
  for (const auto& [name, c] : constantsOf(program))
    constants.emplace(name, Constant::rounded(element, c.values<double>()));
  auto graph = toGraph(program, constants, 17);
  EXPECT_TRUE(graph.has_value()) << graph.error().message();
  auto bytes = serialize({*graph, nullptr});
  EXPECT_TRUE(bytes.has_value());
  return parseModel(*bytes, "test").value();
}

class AppliedInHalf : public testing::TestWithParam<ElementType> {};

TEST_P(AppliedInHalf, NewWeightsAreOfTheModelsType) {
  const Model model = modelIn(GetParam(), kConv);
  const Applied result = applied(model, rulesOf(dataText("conv.pet")), all());
  ASSERT_EQ(result.report.fired.size(), 1U);
  const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
  for (const Initializer& i : graph.initializers) {
    EXPECT_TRUE(i.value.element == ElementType::kInt64 || i.value.element == GetParam()) << i.name;
  }
  EXPECT_FALSE(types(graph) == types(model.graph));
  for (size_t i = 0; i < result.report.checks.size(); ++i)
    EXPECT_TRUE(result.report.checks[i].possible) << result.report.checks[i].reason;
}

/// Float decides about the whole model where no rule rounds more than the original.
TEST_P(AppliedInHalf, RulesOfTheSameTermsAreDecidedInFloat) {
  const Model model = modelIn(GetParam(), kConv);
  auto scope = [&](const std::string& numerics) {
    ApplyOptions options = all();
    options.engine = referenceEngine();
    const RuleSet rules = rulesOf(replaced(dataText("conv.pet"), "numerics same-terms", "numerics " + numerics));
    const Applied result = applied(model, rules, options);
    EXPECT_EQ(result.report.fired.size(), 1U);
    return result.report.checks.back().scope.substr(0, 9);
  };
  EXPECT_EQ(scope("same-terms"), "in float:");
  EXPECT_EQ(scope("bit-equal"), "in float:");
  EXPECT_EQ(scope("conditioned 2"), "in double");
}

TEST_P(AppliedInHalf, TimingsInFloatDoNotDecideUnlessItIsMeasured) {
  const Model model = modelIn(GetParam(), kConv);
  const RuleSet rules = rulesOf(dataText("conv.pet"));
  const Costs costs = costsOf({{rules.rules[0].name, ratioOf(2, 2)}});
  const Applied result = applied(model, rules, {}, costs);
  EXPECT_TRUE(result.report.fired.empty());
  ASSERT_EQ(result.report.refused.size(), 1U);
  EXPECT_THAT(result.report.refused[0].reason.detail,
              HasSubstr("timed in float only, not in " + std::string(str(GetParam()))));
  ApplyOptions measured;
  measured.policy.isMeasured = true;
  EXPECT_EQ(applied(model, rules, measured, costs).report.fired.size(), 1U);
}

TEST_P(AppliedInHalf, LimitsAreThoseOfTheType) {
  const Model model = modelIn(GetParam(), kConv);
  const double unit = unitRoundoff(GetParam());
  auto firesAt = [&](double kappa, const ApplyOptions& options) {
    const std::string numerics = fmt::format("numerics conditioned {}", kappa);
    const RuleSet rules = rulesOf(replaced(dataText("conv.pet"), "numerics same-terms", numerics));
    return applied(model, rules, options).report.fired.size() == 1;
  };
  ApplyOptions options = all();
  EXPECT_TRUE(firesAt(0.9 * kErrorLimits.at(GetParam()) / unit, options));
  EXPECT_FALSE(firesAt(1.1 * kErrorLimits.at(GetParam()) / unit, options));
  options.policy.maxRelativeError.at(GetParam()) = 1;
  EXPECT_TRUE(firesAt(1.1 * kErrorLimits.at(GetParam()) / unit, options));
}

INSTANTIATE_TEST_SUITE_P(Types,
                         AppliedInHalf,
                         testing::Values(ElementType::kFloat16, ElementType::kBfloat16),
                         [](const auto& each) { return std::string(str(each.param)); });

// A product that the original keeps in 16 bits is rounded there; so are the inputs.
TEST(HalfCheck, ResultsAreRoundedToTheModelsPrecision) {
  auto program = parseProgram("x: [64]\ny = Mul(x, x)\nz = Add(y, x)", "test").value();
  auto fused = parseProgram("x: [64]\ny = Square(x)\nz = Add(y, x)", "test").value();
  auto wrong = parseProgram("x: [64]\nc = Constant() value=1.004\ny = Mul(x, c)\nq = Mul(y, x)\nz = Add(q, x)", "test");
  ASSERT_TRUE(wrong) << wrong.error().message();
  const InputSource<float> none = [](std::string_view) { return nullptr; };
  auto round = [](int, Tensor<float>& t) {
    for (float& x : t.data)
      x = static_cast<float>(roundedTo(ElementType::kFloat16, x));
  };
  ModelOptions options;
  options.factor = 1;
  options.floor = 0;
  EXPECT_TRUE(compareWholeModel({program, none, round}, {fused, none, round}, {}, options).holds());
  // In float the error of the original is far below what half makes of it.
  EXPECT_FALSE(compareWholeModel({program, none}, {fused, none, round}, {}, options).holds());
  EXPECT_FALSE(compareWholeModel({program, none, round}, {*wrong, none, round}, {}, options).holds());
}

}  // namespace
}  // namespace pet::applier_half_test
