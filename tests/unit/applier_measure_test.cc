// Choosing with an engine at hand: what it says goes.

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "applier/apply.h"
#include "applier/measure/turns.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_measure_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Samples = std::vector<std::vector<double>>;

RuleSet convRules() {
  std::ifstream in(std::string(PET_SOURCE_DIR) + "/tests/data/conv.pet");
  std::stringstream text;
  text << in.rdbuf();
  return rulesOf(text.str());
}

/// Two convolutions with a function between that no rule knows; 2 and 3 input channels.
const char* const kConvs =
    "x: [1, 2, 6, 6]  v: const [3, 2, 3, 3]  w: const [4, 3, 3, 3]  "
    "p = Conv(x, v) pads=[1, 1, 1, 1]  q = Sigmoid(p)  y = Conv(q, w) pads=[1, 1, 1, 1]";

size_t countOf(const std::string& model, const std::string& type) {
  auto parsed = parseModel(model, "timed");
  EXPECT_TRUE(parsed.has_value());
  size_t count = 0;
  for (const GraphNode& n : parsed->graph.nodes)
    count += n.type == type;
  return count;
}

/// An engine with a number of seconds for each model, and a log of what it was asked.
struct FakeEngine {
  std::function<double(const std::string&)> seconds;
  std::vector<Turns> asked = {};

  TimeModels time() {
    return [this](const Turns& turns) -> Expected<Samples> {
      asked.push_back(turns);
      Samples samples;
      for (const std::string& model : turns.models)
        samples.push_back(std::vector<double>(5, seconds(model)));
      return samples;
    };
  }
};

ApplyReport measured(FakeEngine& engine, const Model& model = modelOf(kConvs)) {
  ApplyOptions options;
  options.time = engine.time();
  auto result = apply(model, convRules(), costsOf({{"conv/transposed", ratioOf(2, 1.9)}}), options);
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return result ? result->report : ApplyReport();
}

TEST(Measure, ARewritePaysIfTheMedianDoesAndFewTurnsLose) {
  EXPECT_TRUE(compareTurns("", {2, 2, 2, 2, 2}, {1, 1, 1, 1, 1}, 1.05).pays);
  EXPECT_FALSE(compareTurns("", {1.04, 1.04, 1.04}, {1, 1, 1}, 1.05).pays);
  EXPECT_TRUE(compareTurns("", {1.2, 1.2, 1.2, 1.2, 1.2, 0.5}, {1, 1, 1, 1, 1, 1}, 1.05).pays);
  EXPECT_FALSE(compareTurns("", {1.2, 1.2, 1.2, 0.9, 0.9}, {1, 1, 1, 1, 1}, 1.05).pays);
  EXPECT_FALSE(compareTurns("", {}, {}, 1).pays);
  Measured m = compareTurns("what", {1, 2, 3}, {1, 1, 1}, 1);
  EXPECT_EQ(m.what, "what");
  EXPECT_DOUBLE_EQ(m.ratio, 2);
  EXPECT_DOUBLE_EQ(m.p10, 1.2);
  EXPECT_DOUBLE_EQ(m.p90, 2.8);
}

TEST(Measure, FasterSitesStayAndAreTimedBetweenTheirNeighbours) {
  FakeEngine engine{[](const std::string& model) { return 1.0 / (1 + countOf(model, "ConvTranspose")); }};
  ApplyReport report = measured(engine);
  EXPECT_EQ(report.fired.size(), 2U);
  ASSERT_EQ(engine.asked.size(), 3U);  // each site, and the whole model
  EXPECT_TRUE(engine.asked[0].cold);
  EXPECT_EQ(countOf(engine.asked[0].models[0], "Sigmoid"), 1U);
  EXPECT_EQ(countOf(engine.asked[0].models[0], "Conv"), 1U);
  EXPECT_EQ(countOf(engine.asked[0].models[1], "ConvTranspose"), 1U);
  EXPECT_FALSE(engine.asked[2].cold);
  EXPECT_EQ(countOf(engine.asked[2].models[1], "ConvTranspose"), 2U);
  ASSERT_EQ(report.measured.size(), 3U);
  EXPECT_THAT(report.measured[0].what, HasSubstr("conv/transposed at "));
  EXPECT_DOUBLE_EQ(report.measured[0].ratio, 2);
  EXPECT_EQ(report.measured[2].what, "the model");
  EXPECT_DOUBLE_EQ(report.measured[2].ratio, 3);
}

TEST(Measure, WhatLosesAtItsSiteGoes) {
  FakeEngine engine{[](const std::string& model) { return 1.0 + countOf(model, "ConvTranspose"); }};
  ApplyReport report = measured(engine);
  EXPECT_TRUE(report.fired.empty());
  ASSERT_EQ(report.refused.size(), 2U);
  EXPECT_EQ(report.refused[0].reason.detail, "timed here: 0.50 (0.50 - 0.50)");
}

TEST(Measure, WhatLosesInTheWholeModelGoesEvenIfItsSitesGain) {
  FakeEngine engine{[](const std::string& model) {
    size_t rewritten = countOf(model, "ConvTranspose");
    return rewritten == 1 ? 0.5 : 1.0 + rewritten;
  }};
  ApplyReport report = measured(engine);
  EXPECT_TRUE(report.fired.empty());
  EXPECT_FALSE(report.measured.back().pays);
}

/// The first extent of a model's input.
int64_t batchOf(const std::string& model) {
  auto parsed = parseModel(model, "timed");
  EXPECT_TRUE(parsed.has_value());
  return parsed->graph.types.at(parsed->graph.inputs.at(0)).dims->at(0).value_or(-1);
}

/// Where the batch is open: the least, the typical and the largest size, each site by itself and the whole model.
TEST(Measure, AllSizesCount) {
  const Model model = withOpen(modelOf(kConvs), {{0, "batch"}});
  FakeEngine engine{[](const std::string& m) { return 1.0 / (1 + countOf(m, "ConvTranspose")); }};
  const ApplyReport fast = measured(engine, model);
  EXPECT_EQ(fast.fired.size(), 2U);
  std::vector<int64_t> batches;
  for (const Turns& turns : engine.asked)
    batches.push_back(batchOf(turns.models.at(1)));
  EXPECT_THAT(batches, ElementsAre(1, 8, 16, 1, 8, 16, 1, 8, 16));
  ASSERT_EQ(fast.measured.size(), 9U);
  EXPECT_THAT(fast.measured[1].what, HasSubstr(", at batch=8"));
  EXPECT_EQ(fast.measured[8].what, "the model, at batch=16");

  engine.seconds = [](const std::string& m) {
    const size_t rewritten = countOf(m, "ConvTranspose");
    return batchOf(m) == 1 ? 1.0 + rewritten : 1.0 / (1 + rewritten);
  };
  const ApplyReport slow = measured(engine, model);
  EXPECT_TRUE(slow.fired.empty());
  EXPECT_EQ(slow.refused.at(0).reason.detail, "timed here: 0.50 (0.50 - 0.50), at batch=1");

  engine.seconds = [](const std::string& m) {  // two sites lose at the largest size
    const size_t rewritten = countOf(m, "ConvTranspose");
    return batchOf(m) == 16 && rewritten == 2 ? 2 : 1.0 / (1 + rewritten);
  };
  EXPECT_TRUE(measured(engine, model).fired.empty());
}

/// Two rules, each cheaper at one of the sites.
struct TwoRules {
  RuleSet rules = convRules();
  Costs costs{[](const Rule& rule, const Bindings& shapes) -> Expected<CostEstimate> {
                return ratioOf((rule.name == "conv/zz") == (shapes.at("C") == 3) ? 3 : 2, 1.5);
              },
              0};

  TwoRules() {
    rules.rules.push_back(rules.rules[0]);
    rules.rules[1].name = "conv/zz";
  }

  /// The rules that fire on an engine.
  std::vector<std::string> fired(const TimeModels& time) const {
    ApplyOptions options;
    options.time = time;
    auto result = apply(modelOf(kConvs), rules, costs, options);
    EXPECT_TRUE(result.has_value());
    std::vector<std::string> names;
    for (const Fired& f : result->report.fired)
      names.push_back(f.rule);
    return names;
  }
};

bool has(const std::string& model, const std::string& rule) {
  return model.find("pet/" + rule) != std::string::npos;
}

TEST(Measure, ARuleWithoutWhichTheModelIsFasterGoes) {
  FakeEngine engine{[](const std::string& model) {
    size_t rewritten = countOf(model, "ConvTranspose");
    return 1.0 / (1 + rewritten) + (has(model, "conv/zz") && rewritten == 2 ? 0.3 : 0);
  }};
  EXPECT_THAT(TwoRules().fired(engine.time()), ElementsAre("conv/transposed", "conv/transposed"));
}

TEST(Measure, ARuleStaysWhereTheModelIsFasterWithoutItInSomeTurnsOnly) {
  auto time = [](const Turns& turns) -> Expected<Samples> {
    Samples samples;
    for (const std::string& model : turns.models) {
      size_t rewritten = countOf(model, "ConvTranspose");
      samples.push_back(std::vector<double>(5, 1.0 / (1 + rewritten)));
      if (rewritten == 2 && !has(model, "conv/zz")) samples.back() = {0.1, 0.1, 0.1, 0.5, 0.5};
    }
    return samples;
  };
  EXPECT_THAT(TwoRules().fired(time), ElementsAre("conv/transposed", "conv/zz"));
}

TEST(Measure, AnEngineThatFailsIsNoGain) {
  ApplyOptions options;
  options.time = [](const Turns& turns) -> Expected<Samples> {
    return fail(ErrorKind::kInternal, turns.cold ? "it died" : "it died again");
  };
  auto result = apply(modelOf(kConvs), convRules(), costsOf({{"conv/transposed", ratioOf(2, 1.9)}}), options);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->report.fired.empty());
  EXPECT_EQ(result->report.refused[0].reason.detail, "could not be timed: it died");
}

}  // namespace
}  // namespace pet::applier_measure_test
