// Comparisons of two programs where an engine runs them in float before the reference does.

#include <cmath>

#include <gmock/gmock.h>

#include "ir/text.h"
#include "runtime/compare.h"
#include "runtime/elements.h"
#include "tests/unit/program_text.h"

namespace pet::runtime_engine_test {
namespace {

using testing::HasSubstr;
using testing_support::program;
using Verdict = Comparison::Verdict;

/// An engine that counts its runs; `spoil` may change what the second one computes.
class OnAnEngine : public testing::Test {
 protected:
  FloatEngine engine() {
    return [this](const Program& p, const Weights& weights) -> Expected<FloatRun> {
      if (refuses_) return fail(ErrorKind::kUnsupported, "no such operator");
      return [this, p, weights](const TensorMap& inputs, const ReportShare&) -> Expected<std::vector<Tensor<float>>> {
        ++runs_;
        auto results = execute<float>(p, {}, firstOf(inputsFrom<float>(inputs), weights.tensors));
        if (!results) return tl::unexpected(results.error());
        std::vector<Tensor<float>> tensors{*(*results)[0]};
        if (runs_ % 2 == 0 && spoil_) spoil_(tensors[0]);
        return tensors;
      };
    };
  }

  static Program product(const std::string& rest) {
    return program("x: [4, 8]\nw: const [8, 3]\nt = MatMul(x, w)\n" + rest);
  }

  const Program pattern_ = product("y = Relu(t)");
  /// Without the last term of each sum.
  const Program shorter_ = program(
      "x: [4, 8]\nw: const [8, 3]\na = Slice(x) axes=[1] starts=[0] ends=[7]\nb = Slice(w) axes=[0] starts=[0] "
      "ends=[7]\nt = MatMul(a, b)\ny = Relu(t)");
  int runs_ = 0;
  bool refuses_ = false;
  std::function<void(Tensor<float>&)> spoil_ = nullptr;
};

const std::function<void(Tensor<float>&)> kFaults[] = {
    [](Tensor<float>& y) { y.data[3] += 1; },
    [](Tensor<float>& y) { y.data[3] = std::nanf(""); },
    [](Tensor<float>& y) {
      y = Tensor<float>({2, 2});
    },
};

TEST_F(OnAnEngine, ProbesThatItFindsEqualAre) {
  Comparison same = compareIntegerProbes(pattern_, pattern_, {}, {.ringWork = 0, .engine = engine()});
  EXPECT_TRUE(same.holds());
  EXPECT_EQ(runs_, 8);  // two dense probes, a negative one, impulses; both programs
}

TEST_F(OnAnEngine, OtherProbesTheReferenceDecides) {
  Comparison wrong = compareIntegerProbes(pattern_, shorter_, {}, {.engine = engine()});
  EXPECT_EQ(wrong.verdict, Verdict::kFails);
  EXPECT_THAT(wrong.reason, HasSubstr("probe dense 0"));
  for (const auto& fault : kFaults) {  // the engine's own
    spoil_ = fault;
    EXPECT_TRUE(compareIntegerProbes(pattern_, pattern_, {}, {.engine = engine()}).holds());
  }
  refuses_ = true;
  EXPECT_TRUE(compareIntegerProbes(pattern_, pattern_, {}, {.engine = engine()}).holds());
  EXPECT_EQ(compareIntegerProbes(pattern_, shorter_, {}, {.engine = engine()}).verdict, Verdict::kFails);
}

TEST_F(OnAnEngine, AQuickProbeIsOneInFloat) {
  Comparison same = compareIntegerProbes(pattern_, pattern_, {}, {.quick = true});
  EXPECT_EQ(same.scope, "1 probes of integers to 15 in float");
  EXPECT_EQ(compareIntegerProbes(pattern_, shorter_, {}, {.quick = true}).verdict, Verdict::kFails);
  Comparison tooLong = compareIntegerProbes(pattern_, pattern_, {}, {.exactBelow = 4, .quick = true});
  EXPECT_EQ(tooLong.verdict, Verdict::kNotPossible);
  EXPECT_THAT(tooLong.reason, HasSubstr("not exact in float"));
}

TEST_F(OnAnEngine, RealWeightsThatAgreeInFloatAreNotComparedInDouble) {
  Comparison same = compareRealWeights(pattern_, pattern_, {}, {}, {.engine = engine()});
  EXPECT_TRUE(same.holds());
  EXPECT_EQ(same.scope, "in float");
  spoil_ = [](Tensor<float>& y) { *std::max_element(y.data.begin(), y.data.end()) *= 1 + 0x1p-22F; };
  Comparison near = compareRealWeights(pattern_, pattern_, {}, {}, {.engine = engine()});
  EXPECT_EQ(near.scope, "in float");
  EXPECT_NEAR(near.worst, 0.25, 0.04);
}

TEST_F(OnAnEngine, OtherRealWeightsTheReferenceDecides) {
  Comparison wrong = compareRealWeights(pattern_, shorter_, {}, {}, {.inFloat = false, .engine = engine()});
  EXPECT_EQ(wrong.verdict, Verdict::kFails);
  EXPECT_THAT(wrong.reason, HasSubstr("double"));
  for (const auto& fault : kFaults) {
    spoil_ = fault;
    Comparison right = compareRealWeights(pattern_, pattern_, {}, {}, {.inFloat = false, .engine = engine()});
    EXPECT_TRUE(right.holds()) << right.reason;
    EXPECT_EQ(right.scope, "double");
  }
  refuses_ = true;
  EXPECT_EQ(compareRealWeights(pattern_, pattern_, {}, {}, {.inFloat = false, .engine = engine()}).scope, "double");
  Program root = program("x: [4, 8]\ny = Sqrt(x)");  // no number where x < 0
  EXPECT_THAT(compareRealWeights(root, root, {}, {}, {.inFloat = false, .engine = engine()}).scope,
              HasSubstr("double"));
}

TEST_F(OnAnEngine, SymbolsAreNotForIt) {
  Program open = program("x: [N, 8]\ny = Relu(x)");
  EXPECT_TRUE(compareIntegerProbes(open, open, {{"N", 4}}, {.engine = engine()}).holds());
  EXPECT_TRUE(compareRealWeights(open, open, {{"N", 4}}, {}, {.engine = engine()}).holds());
  EXPECT_EQ(runs_, 0);
}

}  // namespace
}  // namespace pet::runtime_engine_test
