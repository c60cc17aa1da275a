// What pet-apply says where nothing fired, and the commands that it names.

#include "tools/apply/next_step.h"

#include <gmock/gmock.h>

#include "tools/apply/command.h"
#include "tools/apply/report.h"

namespace pet::next_step_test {
namespace {

using namespace tool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Refused refused(const char* site, const char* rule, ReasonKind kind) {
  return {site, "conv", rule, {kind, "detail"}};
}

/// With an option's value, and a gain of so much of a millisecond.
Refused unlockable(const char* site, ReasonKind kind, const char* value, double ratio) {
  Refused r = refused(site, "conv/pair", kind);
  r.reason.value = value;
  r.reason.ratio = ratio;
  r.reason.saves = (ratio - 1) * 1e-3;
  return r;
}

Refused slow(const char* site, double ratio) {
  Refused r = refused(site, "conv/pair", ReasonKind::kNoGain);
  r.reason.ratio = ratio;
  return r;
}

/// `pet-apply model.onnx rules.db`
ApplyArguments given() {
  ApplyArguments o;
  o.model = "model.onnx";
  o.output = "model.pet.onnx";
  o.pack = "rules.db";
  return o;
}

ApplyReport reportOf(std::vector<Refused> all, size_t matched = 2) {
  ApplyReport report;
  report.refused = std::move(all);
  report.matched = matched;
  report.nodesBefore = 3;
  return report;
}

struct Case {
  const char* name;
  std::vector<Refused> refused;
  std::string why;
  std::vector<std::string> commands;
};

TEST(NextStep, SaysWhyAndWhatToTry) {
  using enum ReasonKind;
  const std::string again = "pet-apply model.onnx rules.db";
  const std::vector<Case> cases = {
      {"an option",
       {unlockable("conv1", kOpenSizes, "batch % 2 == 0", 1.4), unlockable("conv2", kOpenSizes, "batch % 2 == 0", 1.3)},
       "conv/pair of 2 sites would be 1.40 times as fast, but it does not hold for every size that the model leaves "
       "open",
       {again + " --assume 'batch % 2 == 0'"}},
      {"an option that would not help",
       {unlockable("conv1", kOpenSizes, "batch % 2 == 0", 1.0)},
       "conv/pair comes nearest, at conv1, but it does not hold for every size that the model leaves open",
       {again + " --assume 'batch % 2 == 0'"}},
      {"not tuned",
       {refused("conv1", "conv/pair", kNotTuned), refused("conv2", "conv/pair", kFarSizes)},
       "rules fit at 2 sites, but were not tuned on ort-cpu at sizes like these",
       {"pet-tune rules.db -o model.timings.jsonl --shapes-from model.onnx --budget 600 --rules conv/pair",
        again + " --more-timings model.timings.jsonl"}},
      {"no gain",
       {slow("conv1", 0.93), slow("conv2", 0.97)},
       "rules fit at 2 sites, but none is expected to gain enough: at best 0.97 times as fast, at conv2",
       {again + " --explain conv2"}},
      {"no gain at one site, none that is known at the other",
       {slow("conv1", 0.93), refused("conv2", "conv/pair", kOpenSizes)},
       "rules fit at 2 sites, but none is expected to gain enough: at best 0.93 times as fast, at conv1",
       {again + " --explain conv1"}},
      {"weights that a caller may replace",
       {refused("conv1", "", kReplaceable)},
       "conv comes nearest, at conv1, but it needs weights, and a caller may replace the model's",
       {again + " --freeze-inputs"}},
      {"nothing that an option would do",
       {refused("conv1", "conv/pair", kLiveOut)},
       "conv/pair comes nearest, at conv1, but an intermediate result is used elsewhere, too",
       {again + " --explain conv1"}},
      {"nothing is left", {}, "no rule is left to try", {}},
  };
  for (const Case& c : cases) {
    const NextStep next = nextStep(reportOf(c.refused), given());
    EXPECT_EQ(next.why, c.why) << c.name;
    EXPECT_EQ(next.commands, c.commands) << c.name;
  }
}

TEST(NextStep, ADeviceThatNothingWasTimedOnIsUntuned) {
  ApplyReport report = reportOf({refused("conv1", "conv/pair", ReasonKind::kNotTuned)});
  report.isDeviceTuned = false;
  EXPECT_EQ(nextStep(report, given()).why, "rules fit at 1 site, but ort-cpu is untuned: nothing was timed on it");
}

constexpr const char* kSearch = "pet-synth --from model.onnx -o model.rules.db --budget 10m";

/// Of a model with operators that pet knows.
ApplyReport minable(std::vector<Refused> all, size_t matched) {
  ApplyReport report = reportOf(std::move(all), matched);
  report.canBeMined = true;
  return report;
}

TEST(NextStep, WhereNothingFitsTheModelsOwnPatternsAreSearched) {
  ApplyArguments o = given();
  o.only = {"conv/*"};
  const NextStep next = nextStep(minable({}, 0), o);
  EXPECT_EQ(next.why, "no rule fits any of its 3 nodes");
  EXPECT_THAT(next.commands, ElementsAre(kSearch, "pet-apply model.onnx model.rules.db"));
}

TEST(NextStep, TheSearchOfItsOwnPatternsIsNotNamedTwice) {
  ApplyArguments o = given();
  o.pack = "model.rules.db";
  const NextStep nothing = nextStep(minable({}, 0), o);
  EXPECT_EQ(nothing.why, "no rule fits any of its 3 nodes, and the search of its own patterns found none");
  EXPECT_THAT(nothing.commands, IsEmpty());
  const NextStep near = nextStep(minable({refused("conv1", "conv/pair", ReasonKind::kOtherShape)}, 1), o);
  EXPECT_THAT(near.commands, ElementsAre("pet-apply model.onnx model.rules.db --explain conv1"));
}

TEST(NextStep, WhereNoOptionWouldDoTheModelsOwnPatternsAreSearched) {
  for (ReasonKind kind : {ReasonKind::kOtherShape, ReasonKind::kOtherValues, ReasonKind::kQuantized,
                          ReasonKind::kOtherSizes, ReasonKind::kLiveOut, ReasonKind::kVariable}) {
    const NextStep next = nextStep(minable({refused("conv1", "conv/pair", kind)}, 1), given());
    EXPECT_THAT(next.commands, ElementsAre("pet-apply model.onnx rules.db --explain conv1", kSearch,
                                           "pet-apply model.onnx model.rules.db"));
  }
}

TEST(NextStep, OperatorsThatPetDoesNotKnowAreNotSearched) {
  ApplyReport report = reportOf({}, 0);
  report.untouched = {{"gru1", "GRU", "pet does not know it"}};
  ApplyArguments o = given();
  const NextStep next = nextStep(report, o);
  EXPECT_EQ(next.why, "pet cannot look into its 3 nodes");
  EXPECT_THAT(next.commands, ElementsAre("pet-apply model.onnx rules.db --verbose"));
  o.verbose = true;
  EXPECT_THAT(nextStep(report, o).commands, IsEmpty()) << "the same command";
  report.untouched.clear();
  EXPECT_THAT(nextStep(report, o).commands, ElementsAre("pet-apply model.onnx rules.db --types"));
}

TEST(NextStep, ALaterOpsetIsWrittenByOnnxItself) {
  const NextStep next = nextStep(reportOf({unlockable("conv1", ReasonKind::kOpset, "18", 1.4)}), given());
  EXPECT_EQ(next.why, "conv/pair of 1 site would be 1.40 times as fast, but it needs operators of opset 18");
  ASSERT_EQ(next.commands.size(), 2U);
  EXPECT_THAT(next.commands[0], StartsWith("python3 -c 'import sys, onnx"));
  EXPECT_THAT(next.commands[0], HasSubstr("convert_version(onnx.load(sys.argv[1]), 18)"));
  EXPECT_THAT(next.commands[0], HasSubstr("' model.onnx model.opset18.onnx"));
  EXPECT_EQ(next.commands[1], "pet-apply model.opset18.onnx rules.db -o model.pet.onnx");
}

TEST(NextStep, TheDefaultPackIsNotNamed) {
  ApplyArguments o = given();
  o.pack.clear();
  const NextStep next = nextStep(reportOf({refused("conv1", "conv/pair", ReasonKind::kNotTuned)}), o);
  EXPECT_THAT(next.commands,
              ElementsAre("pet-tune -o model.timings.jsonl --shapes-from model.onnx --budget 600 --rules conv/pair",
                          "pet-apply model.onnx --more-timings model.timings.jsonl"));
}

TEST(NextStep, TuningIsForTheDeviceAndManyRulesAreNotNamed) {
  ApplyArguments o = given();
  o.device = "onednn-cpu";
  o.threads = 2;
  std::vector<Refused> many;
  for (const char* rule : {"a", "b", "c", "d", "e"})
    many.push_back(refused("conv1", rule, ReasonKind::kNotTuned));
  EXPECT_EQ(nextStep(reportOf(many), o).commands.at(0),
            "pet-tune rules.db -o model.timings.jsonl --shapes-from model.onnx --budget 600 --device onednn-cpu "
            "--threads 2");
}

TEST(NextStep, TimingsThatWereNamedAreTunedFurther) {
  for (auto named : {&ApplyArguments::timings, &ApplyArguments::moreTimings}) {
    ApplyArguments o = given();
    o.*named = "t.jsonl";
    const std::string option = named == &ApplyArguments::timings ? "--timings" : "--more-timings";
    EXPECT_THAT(nextStep(reportOf({refused("conv1", "conv/pair", ReasonKind::kNotTuned)}), o).commands,
                ElementsAre("pet-tune rules.db -o t.jsonl --shapes-from model.onnx --budget 600 --rules conv/pair",
                            "pet-apply model.onnx rules.db " + option + " t.jsonl"));
  }
}

TEST(NextStep, OfASiteOnlyItsBestRuleSaves) {
  auto saves = [](std::vector<Refused> all) { return nextStep(reportOf(std::move(all)), given()).saves; };
  const Refused half = unlockable("conv1", ReasonKind::kFloatOnly, "", 1.5),
                all = unlockable("conv1", ReasonKind::kFloatOnly, "", 2.0),
                other = unlockable("conv2", ReasonKind::kFloatOnly, "", 1.25);
  EXPECT_DOUBLE_EQ(saves({half, all, other}), 1.25e-3);
  EXPECT_EQ(saves({slow("conv1", 0.93)}), 0);
}

TEST(NextStep, WhatSavesTheMostSecondsIsNamed) {
  Refused small = unlockable("conv1", ReasonKind::kGrowth, "9.5", 1.5),
          large = unlockable("conv2", ReasonKind::kFloatOnly, "", 1.2);
  small.reason.saves = 2e-6;
  large.reason.saves = 3e-4;
  const NextStep next = nextStep(reportOf({small, large}), given());
  EXPECT_THAT(next.why, StartsWith("conv/pair of 1 site would be 1.20 times as fast, but its gain is known in float"));
  EXPECT_THAT(next.commands, ElementsAre("pet-apply model.onnx rules.db --measure"));
  std::vector<Refused> many;  // of one option, together more
  const std::vector<std::string> sites = {"a", "b", "c"};
  for (const std::string& site : sites) {
    many.push_back(small);
    many.back().site = site;
    many.back().reason.saves = 2e-4;
  }
  many.push_back(large);
  EXPECT_THAT(nextStep(reportOf(many), given()).commands,
              ElementsAre("pet-apply model.onnx rules.db --max-growth 9.5"));
}

TEST(NextStep, WhatWouldNotBeNoticedIsNoAdvice) {
  Refused small = unlockable("conv1", ReasonKind::kGrowth, "9.5", 1.5);
  small.reason.saves = 1.5e-6;
  ApplyReport report = reportOf({small, slow("conv2", 0.93)});
  EXPECT_THAT(nextStep(report, given()).commands, ElementsAre("pet-apply model.onnx rules.db --max-growth 9.5"))
      << "how long a run takes is not known";
  report.runSeconds = 31e-3;
  const NextStep next = nextStep(report, given());
  EXPECT_EQ(next.why,
            "rules fit, but would gain less than 1 % of a run: conv/pair of 1 site would save 1.5 us of some 31 ms, "
            "but the weights would grow more than is allowed");
  EXPECT_THAT(next.commands, IsEmpty());
  report.refused.push_back(refused("conv3", "conv/pair", ReasonKind::kNotTuned));
  report.refused.push_back(refused("conv4", "conv/pair", ReasonKind::kNotTuned));
  EXPECT_THAT(nextStep(report, given()).why, StartsWith("rules fit at 2 sites, but were not tuned"));
}

TEST(NextStep, TheSummarySaysWhatIsKnownOfTheWholeModel) {
  ApplyReport report = reportOf({unlockable("conv1", ReasonKind::kFloatOnly, "", 2.0)});
  EXPECT_THAT(textOf(report, given()), HasSubstr("\nThe whole model: expected to save up to 1 ms a run\n"));
  report.runSeconds = 5e-3;
  EXPECT_THAT(textOf(report, given()),
              HasSubstr("\nThe whole model: expected to be up to 1.25 times as fast: saves 1 ms of some 5 ms a run\n"));
  report.refused = {slow("conv1", 0.93)};
  EXPECT_THAT(textOf(report, given()), HasSubstr("\nThe whole model: as fast as it was, some 5 ms a run\n"));
  report.runSeconds.reset();
  EXPECT_THAT(textOf(report, given()), HasSubstr("the timings do not tell how long a run takes\n"));
}

TEST(NextStep, ProgramsThatAreNotInstalledAreSaidToBe) {
  const std::string text = nextText({"pet-no-such x", "python3 -c y"});
  EXPECT_EQ(text,
            "Next: pet-no-such x\n      python3 -c y\n"
            "pet-no-such is not installed here: it comes with pet's component 'tools' (docs/install.md)\n");
  EXPECT_EQ(nextText({}), "");
}

TEST(Summary, NodesThatAreNotLookedInto) {
  ApplyReport report = reportOf({}, 0);
  for (const char* type : {"GRU", "LSTM", "GRU", "NonZero", "Loop", "If", "Scan", "RNN"})
    report.untouched.push_back({std::string("n") + std::to_string(report.untouched.size()), type, "its reason"});
  ApplyArguments o = given();
  EXPECT_THAT(textOf(report, o), HasSubstr("Left as they are: 8 of the nodes, GRU x2, If x1, LSTM x1, Loop x1, "
                                           "NonZero x1, RNN x1, ... (--verbose says why)\n"));
  o.verbose = true;
  const std::string text = textOf(report, o);
  EXPECT_THAT(text, HasSubstr("LEFT AS IT IS  OPERATOR  BECAUSE\n"));
  EXPECT_THAT(text, HasSubstr("n3             NonZero   its reason\n"));
  EXPECT_THAT(text, Not(HasSubstr("Left as they are")));
}

TEST(Summary, NamesTheGuardsThatWereLeftOut) {
  ApplyReport report = reportOf({}, 0);
  report.leftOut = {"where1", "where2"};
  report.written = {"out.onnx"};
  const std::string text = textOf(report, given());
  EXPECT_THAT(text, HasSubstr("2 needless guards left out, no rule fires: "));
  EXPECT_THAT(text, HasSubstr("Left out: 2 guards of rows of a Softmax that cannot be empty (--skip row-guards keeps"));
  EXPECT_THAT(text, Not(HasSubstr("a copy")));
}

TEST(Summary, OfManySizesTheFirst) {
  ApplyReport report;
  report.fired.emplace_back();
  for (int64_t batch = 1; batch <= 6; ++batch)
    report.sizes.push_back({{"batch", batch}});
  ApplyArguments o = given();
  EXPECT_THAT(textOf(report, o), HasSubstr("batch=4 and 2 more (--verbose)\n"));
  o.verbose = true;
  EXPECT_THAT(textOf(report, o), HasSubstr("batch=6\n"));
}

TEST(Summary, NamesTheDataFileAsWell) {
  ApplyReport report;
  report.written = {"out.onnx", "out.onnx.00.data"};
  EXPECT_THAT(textOf(report, given()), HasSubstr("Written: out.onnx with out.onnx.00.data, a copy, in "));
}

TEST(Command, ChoicesAreTheOptionsThatAreNotTheDefaults) {
  ApplyArguments o = given();
  EXPECT_THAT(choicesOf(o), IsEmpty());
  o.timings = "my timings.jsonl";
  o.moreTimings = "more.jsonl";
  o.trustPack = o.all = true;
  o.only = {"a", "b*"};
  o.seed = "7";
  EXPECT_THAT(choicesOf(o), ElementsAre("--all", "--only 'a,b*'", "--timings 'my timings.jsonl'",
                                        "--more-timings more.jsonl", "--seed 7", "--trust-pack"));
}

TEST(Command, AgainWithReplacesAnOptionAndKeepsTheOthers) {
  ApplyArguments o = given();
  o.numerics = "any";
  o.timings = "t.jsonl";
  o.python = "/opt/python3";
  o.sizes.assume = {"batch <= 8"};
  EXPECT_EQ(
      againWith(o, "--assume 'batch % 2 == 0'"),
      "pet-apply model.onnx rules.db --assume 'batch <= 8' --timings t.jsonl --numerics any --python /opt/python3 "
      "--assume 'batch % 2 == 0'");
  EXPECT_EQ(againWith(o, "--numerics bounded"),
            "pet-apply model.onnx rules.db --assume 'batch <= 8' --timings t.jsonl --python /opt/python3 "
            "--numerics bounded");
}

TEST(Summary, SaysWhatIsExpected) {
  ApplyReport report;
  report.fired.emplace_back();
  ApplyArguments o = given();
  EXPECT_EQ(headlineOf(report, o), "1 site rewritten, expected to gain where their layouts meet");
  o.all = true;
  EXPECT_EQ(headlineOf(report, o), "1 site rewritten, whatever the gain");
  report.savedSeconds = 0.002;
  report.runSeconds = 0.012;
  EXPECT_THAT(headlineOf(report, o), StartsWith("1 site rewritten, expected to be 1.20 times as fast on "));
}

TEST(Summary, WhatWasNotComparedIsShort) {
  ApplyReport report;
  report.fired.emplace_back();
  for (int i = 0; i < 6; ++i)
    report.checks.push_back({"site" + std::to_string(i), "", false, "no finite values", 0});
  for (int i = 0; i < 5; ++i)
    report.unchecked.push_back({"label" + std::to_string(i), "", ""});
  ApplyArguments o = given();
  const std::string text = textOf(report, o);
  EXPECT_THAT(text, HasSubstr("Not compared: site3: no finite values\n  and 2 more (--verbose)\n"));
  EXPECT_THAT(text, Not(HasSubstr("site4")));
  EXPECT_THAT(text, HasSubstr("whole model: label3\n  and 1 more (--verbose)\n"));
  o.verbose = true;
  EXPECT_THAT(textOf(report, o), HasSubstr("Not compared: site5"));
}

}  // namespace
}  // namespace pet::next_step_test
