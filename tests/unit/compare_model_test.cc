// Whole models, original against rewritten: in float on an engine, part by part, in double.

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "ir/text.h"
#include "runtime/compare.h"
#include "runtime/draw.h"
#include "runtime/elements.h"
#include "tests/unit/program_text.h"

namespace pet::compare_model_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::program;
using Verdict = Comparison::Verdict;

TEST(CompareModel, RoundingHoldsAndMistakesFail) {
  std::string inputs = "x: [1, 8, 12, 12]\n w: const [8, 8, 3, 3]\n k: const [8, 8, 3, 3]\n";
  Program original = program(inputs + "t = Conv(x, w) pads=[1, 1, 1, 1]\n y = Conv(t, k) pads=[1, 1, 1, 1]");
  Program same = program(inputs +
                         "v = IndexMap(w) [c:8, f:8, r:3, s:3] -> [f, c, 2 - r, 2 - s]\n"
                         "t = ConvTranspose(x, v) pads=[1, 1, 1, 1]\n y = Conv(t, k) pads=[1, 1, 1, 1]");
  Program wrong = program(inputs +
                          "v = IndexMap(w) [c:8, f:8, r:3, s:3] -> [f, c, 2 - r, 2 - s] where 1 <= r + s + c + f\n"
                          "t = ConvTranspose(x, v) pads=[1, 1, 1, 1]\n y = Conv(t, k) pads=[1, 1, 1, 1]");
  TensorMap weights;
  weights.emplace("w", drawReal(Draw(3, "w"), {8, 8, 3, 3}));
  weights.emplace("k", drawReal(Draw(3, "k"), {8, 8, 3, 3}));
  auto compare = [](const Program& first, const TensorMap& own, const Program& second, const TensorMap& others) {
    return compareWholeModel({first, inputsFrom<float>(own)}, {second, inputsFrom<float>(others)});
  };
  Comparison good = compare(original, weights, same, weights);
  EXPECT_EQ(good.verdict, Verdict::kHolds) << good.reason;
  EXPECT_THAT(good.scope, HasSubstr("in double: y: error"));
  Comparison bad = compare(original, weights, wrong, weights);
  EXPECT_EQ(bad.verdict, Verdict::kFails);
  EXPECT_THAT(bad.reason, HasSubstr("y: off by"));

  TensorMap other = weights;
  other.at("w").data[100] += 1e-3f;
  EXPECT_EQ(compare(original, weights, original, other).verdict, Verdict::kFails);
  other.at("w").data[100] = std::nanf("");
  EXPECT_EQ(compare(original, weights, original, other).verdict, Verdict::kFails);
  EXPECT_EQ(compare(original, other, original, other).verdict, Verdict::kNotPossible);
}

/// A product, and an engine for it that counts how often it is asked; `spoil` may change what a run computes, by its
/// number: the original, the rewritten one, its parts.
class CompareModelOnAnEngine : public testing::Test {
 protected:
  Comparison compare(const TensorMap& others, const Bindings& symbols = {}, bool rounds = false) {
    const Program& p = symbols.empty() ? numbers_ : open_;
    auto round = [](int, Tensor<float>&) {};
    ModelProgram original{p, inputsFrom<float>(weights_)}, rewritten{p, inputsFrom<float>(others)};
    if (rounds) original.round = round;
    return compare(original, rewritten, symbols);
  }

  Comparison compare(const ModelProgram& original, const ModelProgram& rewritten, const Bindings& symbols = {}) {
    runs_ = 0;
    ready_.clear();
    options_.engine = [this](const Program& program, const Weights& weights) -> Expected<FloatRun> {
      ready_.push_back(print(program));
      if (refuses_) return fail(ErrorKind::kUnsupported, "no such operator");
      return [&, weights](const TensorMap& inputs, const ReportShare& progress) {
        return run(program, weights.tensors, inputs, progress);
      };
    };
    options_.progress = [&](std::string_view way, double share) { shares_[std::string(way)].push_back(share); };
    return compareWholeModel(original, rewritten, symbols, options_);
  }

  Expected<std::vector<Tensor<float>>> run(const Program& program,
                                           const InputSource<float>& weights,
                                           const TensorMap& inputs,
                                           const ReportShare& progress) {
    ++runs_;
    auto results = execute<float>(program, {}, firstOf(inputsFrom<float>(inputs), weights), {progress});
    if (!results) return tl::unexpected(results.error());
    std::vector<Tensor<float>> tensors;
    for (const auto& result : *results)
      tensors.push_back(*result);
    if (auto spoil = spoil_.find(runs_); spoil != spoil_.end()) spoil->second(tensors[0]);
    return tensors;
  }

  using Spoil = std::function<void(Tensor<float>&)>;
  /// The largest number becomes larger by so many floors.
  static Spoil offBy(float floors) {
    return [floors](Tensor<float>& y) { *std::max_element(y.data.begin(), y.data.end()) *= 1 + floors * 0x1p-20F; };
  }

  Program numbers_ = program("x: [4, 8]\nw: const [8, 3]\nt = MatMul(x, w)\ny = Relu(t)");
  const Program open_ = program("x: [N, 8]\nw: const [8, 3]\nt = MatMul(x, w)\ny = Relu(t)");
  TensorMap weights_{{"w", drawReal(Draw(3, "w"), {8, 3})}};
  ModelOptions options_;
  int runs_ = 0;
  std::vector<std::string> ready_;  ///< the programs that were made ready
  bool refuses_ = false;
  std::map<int, Spoil> spoil_;
  std::map<std::string, std::vector<double>> shares_;  ///< by the way of comparing
};

TEST_F(CompareModelOnAnEngine, ASmallDifferenceDecides) {
  Comparison same = compare(weights_);
  EXPECT_TRUE(same.holds());
  EXPECT_THAT(same.scope, HasSubstr("in float: y: difference 0"));
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(shares_.size(), 1U);
  const std::vector<double>& shares = shares_["in float"];
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  spoil_[2] = offBy(0.25F);
  Comparison near = compare(weights_);
  EXPECT_THAT(near.scope, HasSubstr("in float: y: difference"));
  EXPECT_NEAR(near.worst, 0.25, 0.04);
}

TEST_F(CompareModelOnAnEngine, WhatItDoesNotDecideIsComparedInDouble) {
  TensorMap other = weights_;
  other.at("w").data[5] += 1e-4F;
  Comparison wrong = compare(other);
  EXPECT_EQ(wrong.verdict, Verdict::kFails);
  EXPECT_THAT(wrong.reason, HasSubstr("off by"));
  const Spoil kFaults[] = {
      offBy(4),
      [](Tensor<float>& y) { y.data[3] = std::nanf(""); },
      [](Tensor<float>& y) {
        y = Tensor<float>({4, 4});
      },
  };
  for (const Spoil& fault : kFaults) {  // the engine's own
    spoil_[2] = fault;
    Comparison right = compare(weights_);
    EXPECT_TRUE(right.holds()) << right.reason;
    EXPECT_THAT(right.scope, HasSubstr("in double: y: error"));
    EXPECT_THAT(right.scope, HasSubstr("not decided in float: y: "));
  }
  spoil_.clear();
  refuses_ = true;
  EXPECT_THAT(compare(weights_).scope, HasSubstr("not decided in float: no such operator"));
  TensorMap none = weights_;
  none.at("w").data[5] = std::nanf("");
  weights_ = none;
  EXPECT_EQ(compare(none).verdict, Verdict::kNotPossible);
}

/// The rewritten model computes "u" of "t" in another way, and "y" of "u" as the original does.
class CompareModelByParts : public CompareModelOnAnEngine {
 protected:
  Comparison compareThem() {
    options_.counterparts = {};
    for (size_t i = 0; i < rewritten_.nodes().size(); ++i) {
      const std::string& name = rewritten_.nodes()[i].names[0];
      options_.counterparts.same.push_back(!own_.contains(name));
      if (auto value = original_.find(name))
        options_.counterparts.values.emplace(Value{static_cast<int>(i), 0}, *value);
    }
    return compare(ModelProgram{original_, inputsFrom<float>(weights_)},
                   ModelProgram{rewritten_, inputsFrom<float>(weights_)});
  }

  static Program ending(const std::string& text) {
    return program("x: [4, 8]\nw: const [8, 3]\nv: const [3, 5]\nt = MatMul(x, w)\n" + text);
  }

  CompareModelByParts() {
    weights_.emplace("v", drawReal(Draw(3, "v"), {3, 5}));
    options_.keptShare = 1;
  }

  std::set<std::string> own_ = {"c", "u"};  ///< the rewritten model's own values
  Program original_ = ending("a = Relu(t)\nu = Add(a, a)\ny = MatMul(u, v)");
  Program rewritten_ = ending("c = Add(t, t)\nu = Relu(c)\ny = MatMul(u, v)");
};

TEST_F(CompareModelByParts, WhatBothComputeAlikeIsComputedOnce) {
  Comparison same = compareThem();
  EXPECT_TRUE(same.holds()) << same.reason;
  ASSERT_EQ(runs_, 2);
  EXPECT_THAT(ready_[1], AllOf(HasSubstr("t: [4, 3]"), HasSubstr("y = MatMul(u, v)")));
  EXPECT_THAT(ready_[1], Not(AnyOf(HasSubstr("x: "), HasSubstr("w: "))));
}

TEST_F(CompareModelByParts, AnOutputThatIsTheOriginalsIsNotCompared) {
  original_ = rewritten_ = ending("y = Mul(t, t)");
  Comparison same = compareThem();
  EXPECT_EQ(same.scope, "every output is the original's");
  EXPECT_TRUE(same.holds());
  EXPECT_EQ(runs_, 0);
}

TEST_F(CompareModelByParts, PartsDecideWhereDifferencesGrow) {
  spoil_[2] = offBy(20);
  Comparison grown = compareThem();
  EXPECT_TRUE(grown.holds()) << grown.reason;
  EXPECT_THAT(grown.scope,
              AllOf(HasSubstr("in float: y: difference"), HasSubstr("of 1 rewritten values, each by itself")));
  EXPECT_NEAR(grown.worst, 20. / 49, 0.04);
  ASSERT_EQ(runs_, 3);
  EXPECT_THAT(ready_[2], AllOf(HasSubstr("t: [4, 3]"), HasSubstr("Relu(c)"), Not(HasSubstr("MatMul"))));
  EXPECT_EQ(shares_["part by part"].back(), 1);
  spoil_[2] = offBy(60);
  EXPECT_THAT(compareThem().scope, HasSubstr("in double"));
  EXPECT_EQ(runs_, 2);
}

/// Behind what jumps any difference may be what becomes of a rounding.
TEST_F(CompareModelByParts, PartsDecideWhereAValueJumps) {
  for (const char* jump : {"y = Greater(z, k)", "y = Floor(z)", "f = Ceil(z)\ny = Add(f, f)", "y = Mod(z) divisor=1"}) {
    const std::string tail = std::string("z = MatMul(u, v)\nk = Constant() value=0.5\n") + jump;
    original_ = ending("a = Relu(t)\nu = Add(a, a)\n" + tail);
    rewritten_ = ending("c = Add(t, t)\nu = Relu(c)\n" + tail);
    spoil_ = {{2, [](Tensor<float>& y) { y.data[3] = 1 - y.data[3]; }}};
    EXPECT_THAT(compareThem().scope, HasSubstr("of 1 rewritten values, each by itself")) << jump;
    spoil_[3] = offBy(9);
    EXPECT_THAT(compareThem().scope, HasSubstr("in double")) << jump;
  }
}

TEST(CompareModel, FewTurnedComparisonsDecideNothing) {
  const Program original = program("x: [128, 8]\ny = ArgMax(x) axis=1"),
                few = program("x: [128, 8]\nw: const [128, 8]\nz = Add(x, w)\ny = ArgMax(z) axis=1");
  auto compare = [&](size_t rows) {
    TensorMap weights;
    Tensor<float>& w = weights.emplace("w", Tensor<float>({128, 8})).first->second;
    for (size_t r = 0; r < rows; ++r)
      w.data[8 * r + r % 8] = 9;
    return compareWholeModel({original, inputsFrom<float>(weights)}, {few, inputsFrom<float>(weights)}).verdict;
  };
  EXPECT_EQ(compare(0), Verdict::kHolds);
  EXPECT_EQ(compare(2), Verdict::kNotPossible);
  EXPECT_EQ(compare(128), Verdict::kFails);
}

TEST_F(CompareModelByParts, APartThatDiffersDecidesNothing) {
  spoil_[2] = offBy(20);
  for (const Spoil& fault : {offBy(9), Spoil([](Tensor<float>& u) { u.data[2] = std::nanf(""); })}) {
    spoil_[3] = fault;
    EXPECT_THAT(compareThem().scope, AllOf(HasSubstr("in double"), HasSubstr("not decided in float: y: off by")));
    EXPECT_EQ(runs_, 3);
  }
  spoil_[3] = offBy(7);
  EXPECT_THAT(compareThem().scope, HasSubstr("each by itself: 0.87"));
  rewritten_ = ending("c = Add(t, t)\nu = Relu(t)\ny = MatMul(u, v)");
  spoil_.clear();
  EXPECT_EQ(compareThem().verdict, Verdict::kFails);
}

TEST_F(CompareModelByParts, NoPartsDecideNothing) {
  original_ = ending("k = Relu(v)\ny = MatMul(t, k)");
  rewritten_ = ending("k = Relu(v)\ny = MatMul(t, k)");
  own_ = {"k"};  // it is constant, and none of the parts
  spoil_[2] = offBy(20);
  EXPECT_THAT(compareThem().scope, HasSubstr("in double"));
  EXPECT_EQ(runs_, 2);
}

TEST_F(CompareModelByParts, WhatIsInfiniteInBothIsAlike) {
  const std::string tail = "d = Reciprocal(u)\ny = MatMul(d, v)";
  original_ = ending("a = Relu(t)\nb = Reciprocal(a)\nu = Add(b, b)\n" + tail);
  rewritten_ = ending("e = Relu(t)\nc = Reciprocal(e)\nu = Add(c, c)\n" + tail);
  own_ = {"e", "c", "u"};
  spoil_[2] = offBy(20);
  Comparison same = compareThem();
  EXPECT_THAT(same.scope, HasSubstr("of 1 rewritten values")) << same.reason;
}

TEST_F(CompareModelByParts, TheOriginalRunsAgainWherePartsTakeMuchOfIt) {
  options_.keptShare = 0.1;
  spoil_[2] = offBy(20);
  EXPECT_THAT(compareThem().scope, HasSubstr("of 1 rewritten values"));
  ASSERT_EQ(runs_, 4);
  EXPECT_THAT(ready_[0], HasSubstr("return y, t\n"));
  EXPECT_THAT(ready_[2], AllOf(HasSubstr("u = Add"), Not(HasSubstr("y = "))));
}

TEST_F(CompareModelByParts, WhereMemoryIsShortTheOriginalRunsForEachGroup) {
  original_ = ending("a = Relu(t)\nu = Add(a, a)\nz = MatMul(u, v)\nb = Relu(z)\nr = Add(b, b)\ny = Add(r, r)");
  rewritten_ = ending("c = Add(t, t)\nu = Relu(c)\nz = MatMul(u, v)\ne = Add(z, z)\nr = Relu(e)\ny = Add(r, r)");
  own_ = {"c", "u", "e", "r"};
  spoil_[2] = offBy(20);
  EXPECT_THAT(compareThem().scope, HasSubstr("of 2 rewritten values"));
  EXPECT_EQ(runs_, 3);
  options_.mostFloats = 1;
  EXPECT_THAT(compareThem().scope, HasSubstr("of 2 rewritten values"));
  EXPECT_EQ(runs_, 6);
  EXPECT_THAT(ready_[2], AllOf(HasSubstr("u = "), Not(HasSubstr("MatMul(u"))));
  EXPECT_THAT(ready_[5], AllOf(HasSubstr("z: [4, 5]"), Not(HasSubstr("MatMul"))));
  spoil_[6] = offBy(9);
  EXPECT_THAT(compareThem().scope, HasSubstr("in double"));
}

TEST_F(CompareModelOnAnEngine, SymbolsAndOtherPrecisionsAreNotForIt) {
  EXPECT_THAT(compare(weights_, {{"N", 4}}).scope, HasSubstr("in double"));
  EXPECT_THAT(compare(weights_, {}, true).scope, HasSubstr("in double"));
  EXPECT_EQ(runs_, 0);
}

TEST(CompareModel, ReportsProgressOverAllExecutions) {
  Program p = program("x: [1, 2]\n w: const [2, 2]\n y = MatMul(x, w)");
  TensorMap weights;
  weights.emplace("w", drawReal(Draw(3, "w"), {2, 2}));
  std::vector<double> done;
  const ModelProgram model{p, inputsFrom<float>(weights)};
  compareWholeModel(model, model, {}, {.progress = [&](std::string_view way, double share) {
                      EXPECT_EQ(way, "in double");
                      done.push_back(share);
                    }});
  EXPECT_EQ(done, (std::vector<double>{0, 0, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 1}));
}

}  // namespace
}  // namespace pet::compare_model_test
