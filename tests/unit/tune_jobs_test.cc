#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/pack/pack.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"
#include "tools/common/points.h"
#include "tools/tune/jobs.h"
#include "tools/tune/schedule.h"

namespace pet::tune_jobs_test {
namespace {

TEST(TuneJobs, RulesThatRoundTooMuchAtADevicesPrecisionAreLeftOut) {
  struct Case {
    const char* device;
    Numerics::Kind kind;
    double kappa;
    bool isTooMuch;
  };
  constexpr auto kConditioned = Numerics::Kind::kConditioned;
  for (const Case& c :
       {Case{"ort-cpu", kConditioned, 1000, false}, Case{"cuda:h100", kConditioned, 1000, false},
        Case{"cuda:h100:tf32", kConditioned, 16, false}, Case{"cuda:h100:tf32", kConditioned, 32, true},
        Case{"cuda:h100:fp16", kConditioned, 32, true}, Case{"cuda:0:bf16", kConditioned, 16, true},
        Case{"cuda:0:bf16", kConditioned, 8, false}, Case{"cuda:h100:tf32", Numerics::Kind::kSameTerms, 1000, false}}) {
    Rule rule;
    rule.numerics = {.kind = c.kind, .kappa = c.kappa};
    tune::Options options;
    options.device = c.device;
    EXPECT_EQ(tune::roundsTooMuch(rule, options), c.isTooMuch) << c.device << " " << c.kappa;
  }
}

/// The first points of a rule, timed on another machine: it gains where filters are few, and loses where they are many.
class TuneSchedule : public testing::Test {
 protected:
  TuneSchedule() {
    elsewhere_.add(machine("A"));
    for (int64_t filters : {1, 64}) {
      for (int64_t height : {28, 56, 112}) {
        TimingSample s;
        s.rule = hash_;
        s.name = rules_.rules[0].name;
        s.device = o_.device;
        s.shapes = shapes(filters, height);
        s.engine = "onnxruntime";
        s.version = "1";
        s.isa = "avx512";
        s.machine = machine("A").name();
        s.pattern = 1e-6 * static_cast<double>(height * filters);
        s.replacement = s.pattern * (filters == 1 ? 0.25 : 4);
        elsewhere_.add(s);
      }
    }
  }

  static Machine machine(const char* vendor) { return {.vendor = vendor, .family = 1, .model = 1, .isa = "avx512"}; }
  static Bindings shapes(int64_t filters, int64_t height) {
    return {{"N", 1}, {"C", 8}, {"F", filters}, {"H", height}, {"W", 8}, {"R", 3}, {"S", 3}, {"P", 1}, {"Q", 1}};
  }
  std::vector<tune::Job> jobsAt(const std::vector<Bindings>& points) const {
    std::vector<tune::Job> jobs;
    for (const Bindings& at : points) {
      tune::Job job{&rules_.patterns[0], &rules_.rules[0], hash_, at, at};
      job.turn = static_cast<int>(jobs.size());
      jobs.push_back(job);
    }
    return jobs;
  }

  RuleSet rules_ =
      parseRules(testing_support::textOf(std::string(PET_SOURCE_DIR) + "/tests/data/conv.pet"), "conv.pet").value();
  std::string hash_ = ruleHash(rules_.patterns[0], rules_.rules[0]);
  tune::Options o_;
  Timings elsewhere_;
};

TEST_F(TuneSchedule, WhatPromisesMostComesFirst) {
  const auto jobs = jobsAt({shapes(64, 56), shapes(1, 28), shapes(1, 112)});
  const auto promised = tune::promisedSeconds(rules_, jobs, elsewhere_, machine("B"), o_);
  ASSERT_EQ(promised.size(), 3U);
  EXPECT_LT(promised[0], 0);
  EXPECT_GT(promised[2], promised[1]);
  EXPECT_THAT(tune::nextJobs(rules_, jobs, {0, 1, 2}, promised, {}, machine("B"), o_), testing::ElementsAre(2, 1, 0));
  EXPECT_THAT(tune::nextJobs(rules_, jobs, {0, 1}, promised, {}, machine("B"), o_), testing::ElementsAre(1, 0));
}

TEST_F(TuneSchedule, OfWhatNothingIsKnownComesAsPlannedBeforeWhatLoses) {
  const auto jobs = jobsAt({shapes(64, 56), shapes(1, 1'000'000), shapes(2'000'000, 28)});
  const auto promised = tune::promisedSeconds(rules_, jobs, elsewhere_, machine("B"), o_);
  EXPECT_THAT(tune::nextJobs(rules_, jobs, {0, 1, 2}, promised, {}, machine("B"), o_), testing::ElementsAre(1, 2, 0));
  const auto nothing = tune::promisedSeconds(rules_, jobs, {}, machine("B"), o_);
  EXPECT_THAT(nothing, testing::Each(0));
  EXPECT_THAT(tune::nextJobs(rules_, jobs, {0, 1, 2}, nothing, {}, machine("B"), o_), testing::ElementsAre(0, 1, 2));
}

TEST_F(TuneSchedule, OfADeviceThatNothingIsKnownOfWhatGainsOnOthersComesFirst) {
  auto jobs = jobsAt({shapes(64, 56), shapes(1, 28)});
  jobs[0].hash = "a rule that nobody timed";
  o_.device = "cuda:h200";
  const auto promised = tune::promisedSeconds(rules_, jobs, elsewhere_, machine("B"), o_);
  EXPECT_EQ(promised[0], 0);
  EXPECT_GT(promised[1], 0);
  EXPECT_LT(promised[1], 1e-8);
  EXPECT_THAT(tune::nextJobs(rules_, jobs, {0, 1}, promised, {}, machine("B"), o_), testing::ElementsAre(1, 0));
}

TEST_F(TuneSchedule, OfWhatNothingIsKnownWhatIsFarthestFromTheRooflineComesFirst) {
  Rule other = rules_.rules[0];
  other.name += "-too";
  rules_.rules.push_back(other);
  Timings timings;  // of another rule of the pattern, which says what the pattern takes
  for (TimingSample s : elsewhere_.all()) {
    s.rule = ruleHash(rules_.patterns[0], other);
    s.name = other.name;
    timings.add(s);
  }
  Machine here = machine("A");
  here.rates = {{o_.device, "onnxruntime", "1", 1, {1e11, 1e11, 1e10}}};
  const auto jobs = jobsAt({shapes(1, 28), shapes(1, 112), shapes(1'000'000, 28)});
  const auto promised = tune::promisedSeconds(rules_, jobs, timings, here, o_);
  EXPECT_GT(promised[0], 0);
  EXPECT_GT(promised[1], promised[0]);
  EXPECT_LT(promised[1], 1e-8) << "what is known to gain comes before all of these";
  EXPECT_EQ(promised[2], 0) << "the pattern at the roofline is as fast as its replacement there";
  EXPECT_THAT(tune::nextJobs(rules_, jobs, {0, 1, 2}, promised, {}, here, o_), testing::ElementsAre(1, 0, 2));
}

TEST_F(TuneSchedule, PointsAreTimedAsTheyAreNamed) {
  const std::string name = rules_.rules[0].name;
  const std::vector<tool::RulePoint> points{{name, shapes(1, 28), *surroundingsAt("first"), 18}, {name, shapes(1, 56)}};
  auto read = tool::parsePoints(print(points), "points.jsonl");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, points);
  const Grid grid = Grid::parse(R"({"patterns": {"conv": {"points": [], "opsets": [17, 19]}}})", "grid.json").value();
  auto jobs = tune::planned(rules_, *read, grid, o_);
  ASSERT_TRUE(jobs) << jobs.error().message();
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].beside, *surroundingsAt("first"));
  EXPECT_EQ((*jobs)[0].opset, 17) << "of the grid's, the nearest at most the model's";
  EXPECT_EQ((*jobs)[0].hash, hash_);
  EXPECT_EQ((*jobs)[1].turn, 1);
  o_.maxWork = 1;
  EXPECT_TRUE(tune::planned(rules_, *read, grid, o_)->empty());
  EXPECT_EQ(tune::planned(rules_, {{"nothing/there", {}}}, grid, o_).error().kind, ErrorKind::kUsage);
}

TEST_F(TuneSchedule, APointThatIsNoneIsNamedByItsLine) {
  for (const char* text :
       {"nonsense", "[]", "{}", R"({"rule": "a/b"})", R"({"rule": 1, "shapes": {}})",
        R"({"rule": "a/b", "shapes": {"N": "x"}})", R"({"rule": "a/b", "shapes": {}, "place": "up"})"}) {
    auto read = tool::parsePoints(R"({"rule": "a/b", "shapes": {"N": 1}})" + std::string("\n\n") + text + "\n", "p");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(read.error().where, "p:3") << text;
  }
}

TEST_F(TuneSchedule, WhatIsUnsureOfThisMachineIsTakenAgain) {
  TimingSample unsure;
  unsure.rule = hash_;
  unsure.device = o_.device;
  unsure.shapes = shapes(1, 28);
  RunnerHello here;
  here.engine = unsure.engine = "onnxruntime";
  here.version = unsure.version = "2";
  here.machine = machine("A");
  unsure.machine = here.machine.name();
  unsure.pattern = 1.1e-3;
  unsure.replacement = 1e-3;
  unsure.spread = 0.2;
  Timings timings;
  auto add = [&](int64_t height, auto change) {
    TimingSample s = unsure;
    s.shapes = shapes(1, height);
    change(s);
    timings.add(s);
  };
  add(28, [](TimingSample& s) { s.place = "first"; });
  add(29, [](TimingSample& s) { s.opset = 19; });
  add(30, [](TimingSample& s) { s.spread = 0.05; });          // gains for sure
  add(31, [](TimingSample& s) { s.replacement = 1.08e-3; });  // below the least gain, as it is
  add(32, [](TimingSample& s) { s.machine = "there"; });
  add(33, [](TimingSample& s) { s.threads = 2; });
  add(34, [](TimingSample& s) { s.weights = "warm"; });
  add(35, [](TimingSample& s) { s.rule = "another"; });
  add(36, [](TimingSample& s) { s.device = "mnn-cpu"; });
  add(37, [](TimingSample& s) { s.version = "1"; });
  const auto jobs = tune::retaken(rules_, timings, here, o_);
  ASSERT_TRUE(jobs) << jobs.error().message();
  std::vector<std::tuple<int64_t, std::string, int>> found;
  for (const tune::Job& job : *jobs)
    found.emplace_back(job.shapes.at("H"), job.beside.place(), job.opset);
  EXPECT_THAT(found, testing::UnorderedElementsAre(std::tuple(28, "first", 17), std::tuple(29, "between", 19)));
  o_.rules = {"nothing/*"};
  EXPECT_FALSE(tune::retaken(rules_, timings, here, o_));
}

}  // namespace
}  // namespace pet::tune_jobs_test
