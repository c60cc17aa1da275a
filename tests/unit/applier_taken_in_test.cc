// A scale and a bias that an engine takes into the Conv in front by itself.

#include <gtest/gtest.h>

#include "tests/unit/applier_support.h"

namespace pet::applier_taken_in_test {
namespace {

using namespace testing_support;

constexpr const char* kScaleBias = R"(
pattern scale-bias { shape N C H W : 1 <= N, 1 <= C, 1 <= H, 1 <= W
  x: [N, C, H, W]
  s: const [C, 1, 1]
  b: const [C, 1, 1]
  t = Mul(x, s)
  y = Add(t, b) }
rule conv of scale-bias {
  class N C H W : 1 <= N, 1 <= C, 1 <= H, 1 <= W
  numerics same-terms
  replacement {
    v = IndexMap(s) [f:C, c:1, r:1, s:1] -> [f, 0, 0]
    t = Conv(x, v) group=C
    y = Add(t, b)
  }
})";

struct Case {
  std::string front;  ///< what computes x
  std::string why;    ///< not; empty: the rule fires
};

TEST(TakenIn, IsWhatAConvInFrontGivesToNothingElse) {
  const std::string takenIn = "engines take it into the Conv in front";
  const std::string plain = "no layout of the engine's is beside it";
  const std::string weights = "s: const [4, 1, 1]  b: const [4, 1, 1]  ";
  const std::string conv = "i: [1, 3, 6, 6]  w: const [4, 3, 3, 3]  a: const [4, 1, 1]  c = Conv(i, w)  ";
  const std::string behind = "  t = Mul(x, s)  y = Add(t, b)";
  for (const Case& c : {Case{conv + "x = Add(c, a)", takenIn}, Case{conv + "x = Relu(c)", ""},
                        Case{conv + "x = Add(c, a)  z = Relu(x)", ""}, Case{"x: [1, 4, 6, 6]", plain},
                        Case{"k: const [2, 4, 1, 1]  x: [1, 4, 6, 6]", ""}}) {
    std::string text = weights + c.front + behind;
    if (c.front.find("z =") != std::string::npos) text += "  o = Add(y, z)";
    if (c.front.find("k:") != std::string::npos) text += "  o = Conv(y, k)";
    const Model model = modelOf(text);
    const ApplyReport report = applied(model, rulesOf(kScaleBias), {}, costsOf({{"conv", ratioOf(1.5, 1.3)}})).report;
    EXPECT_EQ(report.fired.empty(), !c.why.empty()) << c.front;
    EXPECT_EQ(report.refused.size(), c.why.empty() ? 0U : 1U);
    for (const Refused& r : report.refused)
      EXPECT_EQ(r.reason.detail, c.why);
    EXPECT_EQ(applied(model, rulesOf(kScaleBias), all()).report.fired.size(), 1U) << "whatever the gain";
  }
}

/// As of networks that nobody has trained.
TEST(TakenIn, IsNotAskedOfNumbersThatChangeNothing) {
  for (const float scale : {1.0F, 2.0F}) {
    Model model = modelOf(
        "s: const [4, 1, 1]  b: const [4, 1, 1]  i: [1, 3, 6, 6]  w: const [4, 3, 3, 3]  c = Conv(i, w)  x = Relu(c)  "
        "t = Mul(x, s)  y = Add(t, b)");
    for (Initializer& i : model.graph.initializers) {
      const float all = i.name == "s" ? scale : 0.0F;
      if (i.name == "s" || i.name == "b") i.value = Constant::of(Tensor<float>({4, 1, 1}, {all, all, all, all}));
    }
    const ApplyReport report = applied(model, rulesOf(kScaleBias), {}, costsOf({{"conv", ratioOf(1.5, 1.3)}})).report;
    EXPECT_EQ(report.fired.size(), scale == 1 ? 0U : 1U);
    for (const Refused& r : report.refused)
      EXPECT_EQ(r.reason.detail, "its numbers change nothing");
  }
}

}  // namespace
}  // namespace pet::applier_taken_in_test
