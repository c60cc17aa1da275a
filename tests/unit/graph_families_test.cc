// The rules that graph mode finds for patterns of several operators, by name; each is proved, its record checked by the
// separate checker, and both programs evaluated at small shapes.

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/join.h"
#include "ir/ops/op.h"
#include "rules/check/check.h"
#include "rules/exhaustive.h"
#include "synth/judge/pipeline.h"
#include "synth/propose/exchanges/exchange_generator.h"
#include "synth/propose/skeletons/skeleton_generator.h"
#include "tests/unit/synth_support.h"

namespace pet::graph_families_test {
namespace {

using testing_support::pattern;

/// Every candidate of exchanges and skeletons, judged.
std::vector<std::pair<std::string, Judged>> judgedOf(const Pattern& p) {
  std::vector<std::pair<std::string, Judged>> all;
  const Pipeline pipeline(p, {.check = false});
  auto judge = [&](const Candidate& c) {
    all.emplace_back(c.name, pipeline.judge(c));
    return all.back().second.isRule();
  };
  for (const MadeGenerator& generator : {exchangeGenerator(p, 4), skeletonGenerator(p, 4)}) {
    EXPECT_TRUE(generator) << p.name;
    for (size_t unit = 0; generator && unit < (*generator)->size(); ++unit)
      (*generator)->propose(unit, judge);
  }
  return all;
}

std::vector<Rule> rulesOf(const Pattern& p) {
  std::vector<Rule> rules;
  for (auto& [name, judged] : judgedOf(p)) {
    if (judged.isRule()) rules.push_back(std::move(std::get<Rule>(judged.verdict)));
  }
  return rules;
}

struct Found {
  const char* pattern;
  const char* rule;
  const char* family;
};

class GraphFamilies : public ::testing::TestWithParam<Found> {};

TEST_P(GraphFamilies, AreFoundProvedAndTrue) {
  const Found& expected = GetParam();
  Pattern p = pattern(expected.pattern);
  auto rules = rulesOf(p);
  std::vector<std::string> names;
  for (const Rule& r : rules)
    names.push_back(r.name.substr(p.name.size() + 1));
  ASSERT_THAT(names, ::testing::Contains(expected.rule));
  const Rule& rule = rules[static_cast<size_t>(std::find(names.begin(), names.end(), expected.rule) - names.begin())];
  EXPECT_EQ(rule.family, expected.family);
  CheckReport report = checkRule(p, rule);
  EXPECT_TRUE(report.proved()) << report.reason();
  Evaluation evaluation = evaluateRule(p, rule, {.shapes = 40});
  EXPECT_TRUE(evaluation.holds()) << evaluation.str();
}

// Two Convs on two inputs, one with more filters; and two of which that is not known.
const char kUnequal[] = R"(pattern unequal-convs {
  shape N C H W F G R S P Q : 0 <= P, 0 <= Q, G <= F
  a: [N, C, H, W]
  b: [N, C, H, W]
  v: const [F, C, R, S]
  w: const [G, C, R, S]
  y = Conv(a, v) pads=[P, Q, P, Q]
  z = Conv(b, w) pads=[P, Q, P, Q]
  return y, z
})";
const std::string kIncomparable = std::regex_replace(kUnequal, std::regex(", G <= F"), "");

const Found kFound[] = {
    // Parallel operators on one input to one and a Split, kernels enlarged where they differ.
    {"parallel-conv", "split(conv(x))", "merged-siblings"},
    {"parallel-conv-s2", "split(conv-s2(x))", "merged-siblings"},
    {"parallel-conv-bias", "split(conv(x)+bias)", "merged-siblings"},
    {"parallel-matmul", "split(matmul(x))", "merged-siblings"},
    {"parallel-matmul-3", "split(matmul(x))", "merged-siblings"},
    {"two-convs", "split(conv-g2(concat))", "grouped-siblings"},
    {kUnequal, "slices(conv-g2(concat))", "grouped-siblings"},
    {kUnequal, "split(conv(concat))", "merged-siblings"},
    {"concat-of-convs", "conv(x)", "fused-weights"},
    {"concat-of-two-convs", "conv-g2(concat)", "joined-inputs"},
    // Conv of Concat and sum of Convs.
    {"conv-of-concat", "sum(conv(a:b))", "split-inputs"},
    {"conv-sum", "conv(concat)", "joined-inputs"},
    {"matmul-of-concat", "sum(matmul(a:b))", "split-inputs"},
    {"matmul-sum-inputs", "matmul(concat)", "joined-inputs"},
    // Sums and products of weights; two linear operators in a row.
    {"repvgg", "conv(x)", "fused-weights"},
    {"conv-residual", "conv(x)", "fused-weights"},
    {"conv-sum-siblings", "conv(x)", "fused-weights"},
    {"conv-1x1-conv", "conv(x)", "fused-weights"},
    {"conv-conv-1x1", "conv(x)", "fused-weights"},
    {"conv-conv", "conv(x)", "fused-weights"},
    {"conv-s2-conv-1x1", "conv-s2(x)", "fused-weights"},
    {"conv-1x1-bias-conv-1x1", "conv(x)+bias", "fused-weights"},
    {"depthwise-separable", "conv(x)", "fused-weights"},
    {"conv-bn", "conv(x)+bias", "fused-weights"},
    {"bn-conv", "conv(x)+bias", "fused-weights"},
    {"bn-conv-padded", "conv(x)+map", "fused-weights"},
    {"matmul-matmul", "matmul(x)", "fused-weights"},
    {"matmul-bias-matmul", "matmul(x)+bias", "fused-weights"},
    {"gemm-gemm", "matmul(x)+bias", "fused-weights"},
    {"layernorm-matmul", "matmul(t')+bias", "fused-weights"},
    {"pad-conv", "conv(x)", "fused-weights"},
    // Pointwise Convs and what changes the extents, exchanged; monotone functions and MaxPool.
    {"conv-1x1-gap", "pointwise(GlobalAveragePool(x))", "exchanged"},
    {"conv-1x1-bias-gap", "conv(GlobalAveragePool(x))+bias", "exchanged"},
    {"conv-1x1-pool", "conv(AveragePool(x))", "exchanged"},
    {"conv-1x1-bias-pool", "conv(AveragePool(x))+bias", "exchanged"},
    {"pool-conv-1x1", "AveragePool(Conv(x))", "exchanged"},
    {"pool-conv-1x1-excluding", "AveragePool(Conv(x))", "exchanged"},
    {"conv-1x1-resize-linear", "pointwise(Resize(x))", "exchanged"},
    {"resize-linear-conv-1x1", "Resize(Conv(x))", "exchanged"},
    {"pyramid-conv-1x1", "sum-Resize(pointwise(x:z:v:u))", "exchanged"},
    {"weighted-maps", "Layout(MatMul(Layout(a):Layout(x)))", "exchanged"},
    {"pair-features-bias", "Add(MatMul(z):Add(MatMul(x)))", "exchanged"},
    {"relu-maxpool", "Relu(MaxPool(x))", "exchanged"},
    {"sigmoid-maxpool", "Sigmoid(MaxPool(x))", "exchanged"},
    {"relu-concat", "Relu(Concat(a:b))", "exchanged"},
    // Up-scaling in front of a Conv; transposed Convs as columns.
    {"resize-conv", "convtranspose-s2(x)", "kernel-between-pixels"},
    {"resize-conv", "d2s(conv(x))", "sub-pixel"},
    {"resize-conv", "d2s(conv(phases(x)))", "sub-pixel"},
    {"resize-conv-5x5", "d2s(conv(phases(x)))", "sub-pixel"},
    {"convtranspose-s2", "d2s(conv(phases(x)))", "sub-pixel"},
    {"resize-reflect-conv", "d2s(edge-conv(x))", "sub-pixel"},
    {"resize-reflect-conv", "d2s(edge-conv(phases(x)))", "sub-pixel"},
    {"convtranspose-s2", "col2im(matmul(x))", "columns"},
    {"convtranspose-s2", "col2im(matmul(batch(x)))", "columns"},
    // Layers on channels that are last in between.
    {"linear-channels", "matmul-left(x)+bias", "from-the-left"},
    {"linear-tokens", "matmul(x)+bias", "fused-weights"},
    // Frames, rows, pieces of kernels.
    {"conv3d", "sum(conv(frames(x)))", "frames"},
    {"conv3d", "frames(conv(stacked(x)))", "frames"},
    {"conv3d-frame", "sum(conv(frames(x)))", "frames"},
    {"conv3d-s2", "sum(conv-s2(frames(x)))", "frames"},
    {"conv3d-s2", "frames(conv-s2(stacked(x)))", "frames"},
    {"conv3d-s1x2x2", "sum(conv-s2(frames(x)))", "frames"},
    {"conv3d-s1x2x2", "frames(conv-s2(stacked(x)))", "frames"},
    {"conv3d-s1x2x2-5", "sum(conv-s2(frames(x)))", "frames"},
    {"conv3d-valid", "sum(conv(frames(x)))", "frames"},
    {"conv3d-valid", "frames(conv(stacked(x)))", "frames"},
    {"conv3d-depthwise", "sum(conv-gC(frames(x)))", "frames"},
    {"conv1d", "row(conv(x))", "row-as-image"},
    {"conv1d-d3", "row(conv-d3(x))", "row-as-image"},
    {"conv1d-d5", "row(conv-d5(x))", "row-as-image"},
    {"conv1d-depthwise", "row(conv-gC(x))", "row-as-image"},
    {"conv1d-depthwise-causal", "row(conv-gC(x)+bias)", "row-as-image"},
    {"conv3d-depthwise-5", "sum(conv-gC(frames(x)))", "frames"},
    // Kernels flipped, along one axis and three; one of two Convs first, the other with what is left of it.
    {"conv1d", "convtranspose(x)", "flipped-kernel"},
    {"conv3d", "convtranspose(x)", "flipped-kernel"},
    {"conv-rows-after-columns", "conv-g2M(own-conv(x))+bias", "exchanged"},
    {"conv", "sum(conv(pieces-2(x)))", "kernel-in-pieces"},
    {"conv", "sum(conv(pieces-3(x)))", "kernel-in-pieces"},
    // Products of activations.
    {"attention-linear", "MatMul(q:MatMul(Transpose(k):v))", "exchanged"},
    {"attention-linear-heads", "MatMul(q:MatMul(Transpose(k):v))", "exchanged"},
};

std::string nameOf(const ::testing::TestParamInfo<Found>& found) {
  std::string name = pattern(found.param.pattern).name + "_" + found.param.rule;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Patterns, GraphFamilies, ::testing::ValuesIn(kFound), nameOf);

/// What became of the candidates, by name without the pattern's.
std::map<std::string, std::string_view> fatesOf(const std::string& patternName) {
  std::map<std::string, std::string_view> fates;
  for (const auto& [name, judged] : judgedOf(pattern(patternName)))
    fates.emplace(name, judged.isRule() ? "kept" : dropName(std::get<Drop>(judged.verdict).reason));
  return fates;
}

TEST(GraphFates, SaysWhyACandidateEnds) {
  auto fates = fatesOf("conv-sum");
  EXPECT_EQ(fates.at("conv(concat)"), "kept");
  EXPECT_FALSE(fates.contains("conv(concat)+bias")) << "the simpler variant is a rule";
  EXPECT_EQ(fates.at("conv(a)"), "fingerprint");
  EXPECT_EQ(fates.at("conv(a)+bias"), "no vote");
  EXPECT_EQ(fatesOf("bn-conv-padded").at("conv(x)+bias"), "no correction") << "wrong at borders where it pads";
  EXPECT_EQ(fatesOf("resize-conv-1x1").at("d2s(conv(phases(x)))"), "cost") << "all phases have the same weights";
  EXPECT_EQ(fatesOf("conv-1x1-gap").at("GlobalAveragePool(pointwise(x))"), "identity");
}

TEST(GraphFates, GroupsAreAsLargeAsTheLargestWhichIsKnown) {
  EXPECT_FALSE(fatesOf(kIncomparable).contains("slices(conv-g2(concat))"));
  EXPECT_TRUE(fatesOf(kIncomparable).contains("split(conv(concat))"));
}

TEST(GraphFates, ProductsFromTheLeftAreProposedToProducts) {
  EXPECT_EQ(fatesOf("linear-channels").at("matmul-left(x)"), "fingerprint") << "the bias is lacking";
  for (const char* other : {"conv-1x1-conv", "conv-1x1-gap", "relu-maxpool"})
    EXPECT_FALSE(fatesOf(other).contains("matmul-left(x)")) << other;
}

/// The kernels and pads of a rule's Convs, "2x2 [1, 1, 0, 0]", in their order.
std::vector<std::string> windowsOf(const std::string& patternName, const std::string& ruleName) {
  std::vector<std::string> windows;
  for (const Rule& rule : rulesOf(pattern(patternName))) {
    if (rule.name != patternName + "/" + ruleName) continue;
    for (const Node& n : rule.replacement.nodes()) {
      if (n.op->name != "Conv") continue;
      const Shape& w = rule.replacement.shape(n.operands[1]);
      windows.push_back(fmt::format("{}x{} [{}]", w[2].str(), w[3].str(),
                                    joined(n.list("pads"), ", ", [](const Expr& e) { return e.str(); })));
    }
  }
  return windows;
}

TEST(GraphWindows, EachPhaseReadsWhatItNeeds) {
  EXPECT_THAT(windowsOf("resize-conv", "d2s(conv(phases(x)))"),
              ::testing::ElementsAre("2x2 [1, 1, 0, 0]", "2x2 [1, 0, 0, 1]", "2x2 [0, 1, 1, 0]", "2x2 [0, 0, 1, 1]"));
  EXPECT_THAT(windowsOf("resize-conv-5x5", "d2s(conv(phases(x)))"),
              ::testing::ElementsAre("3x3 [1, 1, 1, 1]", "3x3 [1, 1, 1, 1]", "3x3 [1, 1, 1, 1]", "3x3 [1, 1, 1, 1]"));
}

TEST(GraphWindows, EachPhaseHasTheBias) {
  std::vector<std::string> names;
  for (const Rule& rule : rulesOf(pattern(R"(
pattern biased {
  shape N C H W F
  x: [N, C, H, W]
  w: const [F, C, 3, 3]
  b: const [F, 1, 1]
  t = Resize(x) sizes=[N, C, 2H, 2W] coordinate_transformation_mode=asymmetric nearest_mode=floor
  u = Conv(t, w) pads=[1, 1, 1, 1]
  y = Add(u, b)
})")))
    names.push_back(rule.name);
  EXPECT_THAT(names, ::testing::Contains("biased/d2s(conv(phases(x))+bias)"));
}

}  // namespace
}  // namespace pet::graph_families_test
