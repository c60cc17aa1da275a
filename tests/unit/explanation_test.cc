// What pet-apply --explain says.

#include <gmock/gmock.h>

#include "tools/apply/explain.h"

namespace pet::explanation_test {
namespace {

using namespace tool;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

ApplyReport someRefusals() {
  ApplyReport report;
  Reason far{ReasonKind::kOtherSizes, "N is 5, not 2M"};
  Reason slow{ReasonKind::kNoGain, "", 0.93};
  Reason open{ReasonKind::kOpenSizes, "", 1.4, "batch % 2 == 0"};
  report.refused = {{"conv1", "conv", "conv/far", far},
                    {"conv1", "conv", "conv/slow", slow},
                    {"conv1", "conv", "conv/pair", open},
                    {"conv2", "conv", "conv/slow", {ReasonKind::kNotTuned, ""}}};
  report.untouched = {{"loop1", "Loop", "it has a subgraph"}};
  return report;
}

std::string explained(const char* name, bool verbose = false) {
  ApplyArguments o;
  o.model = "model.onnx";
  o.pack = "rules.db";
  o.explain = name;
  o.verbose = verbose;
  return explanation(someRefusals(), {{"conv1", "Conv"}, {"relu1", "Relu"}, {"loop1", "Loop"}}, o);
}

TEST(Explanation, OfANodeTheNearestFirst) {
  const std::string text = explained("conv1");
  EXPECT_THAT(text, ContainsRegex("conv/pair.*1.40 times as fast\nconv1 +conv/slow.*0.93.*\nconv1 +conv/far "));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("conv2")), Not(HasSubstr("2M"))));
  EXPECT_THAT(text, ContainsRegex("Next: .*pet-apply model.onnx rules.db --assume 'batch % 2 == 0'\n"));
}

TEST(Explanation, InTheRuleAuthorsTermsWhereAskedFor) {
  EXPECT_THAT(explained("conv1", true), HasSubstr("N is 5, not 2M"));
}

TEST(Explanation, OfARuleWhereverItFits) {
  const std::string text = explained("conv/slow");
  EXPECT_THAT(text, ContainsRegex("conv1 +conv/slow"));
  EXPECT_THAT(text, ContainsRegex("conv2 +conv/slow +it was not tuned on this device +pet-tune\n"));
  EXPECT_THAT(text, Not(HasSubstr("conv/pair")));
}

TEST(Explanation, WhatIsNotTunedNamesPetTune) {
  EXPECT_THAT(explained("conv2"),
              ContainsRegex("Next: .*pet-tune rules.db -o model.timings.jsonl --shapes-from model.onnx"));
}

TEST(Explanation, WhereNoOptionWouldDoTheModelsOwnPatternsAreSearched) {
  ApplyReport report;
  report.canBeMined = true;
  report.refused = {{"conv1", "conv", "conv/far", {ReasonKind::kOtherSizes, ""}}};
  ApplyArguments o;
  o.model = "model.onnx";
  o.explain = "conv1";
  EXPECT_THAT(explanation(report, {}, o), HasSubstr("pet-synth --from model.onnx -o model.rules.db --budget 10m\n"));
  report.refused[0].reason.kind = ReasonKind::kNoGain;
  EXPECT_THAT(explanation(report, {}, o), Not(HasSubstr("Next:")));
}

TEST(Explanation, OfNodesThatAreNotLookedInto) {
  EXPECT_EQ(explained("loop1"), "loop1 (Loop): pet does not look into it: it has a subgraph\n");
}

TEST(Explanation, OfNodesThatNoRuleIsAbout) {
  EXPECT_EQ(explained("relu1"),
            "relu1 (Relu): no rule looks for its operator, or it is part of a constant or of a larger site\n");
  EXPECT_EQ(explained("conv/none"), "conv/none: the operators that it looks for are nowhere in the model\n");
}

}  // namespace
}  // namespace pet::explanation_test
