// Convs without the taps that see nothing but padding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "synth/analysis/seeing_taps.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_seeing_taps_test {
namespace {

using ::testing::IsEmpty;
using testing_support::pattern;

/// A Conv along one axis of `taps` taps on `extent` positions, by the definition: the taps that see one of them.
std::vector<int64_t> seeing(
    int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t begin, int64_t end) {
  std::vector<int64_t> see;
  const int64_t out = (extent + begin + end - (taps - 1) * dilation - 1) / stride + 1;
  for (int64_t r = 0; r < taps; ++r) {
    bool any = false;
    for (int64_t h = 0; h < out; ++h) {
      const int64_t at = h * stride + r * dilation - begin;
      any = any || (0 <= at && at < extent);
    }
    if (any) see.push_back(r);
  }
  return see;
}

TEST(SeeingTaps, AreThoseOfTheDefinition) {
  for (auto [stride, dilation] : {std::pair{1, 1}, {1, 3}, {2, 1}, {2, 3}}) {
    const Pattern p = pattern(
        "pattern p { shape C H R P Q : 0 <= P, 0 <= Q\n x: [1, C, H]\n w: const [1, C, R]\n"
        " y = Conv(x, w) pads=[P, Q] strides=[" +
        std::to_string(stride) + "] dilations=[" + std::to_string(dilation) + "] }");
    const auto taps = tapsThatSee(p);
    ASSERT_TRUE(taps);
    for (int64_t h = 1; h <= 4; ++h) {
      for (int64_t r = 1; r <= 6; ++r) {
        for (int64_t begin = 0; begin <= 6; ++begin) {
          for (int64_t end = 0; end <= 6; ++end) {
            if (h + begin + end < (r - 1) * dilation + 1) continue;
            const auto see = seeing(h, r, stride, dilation, begin, end);
            const Bindings at{{"C", 1}, {"H", h}, {"R", r}, {"P", begin}, {"Q", end}};
            const int64_t first = std::max<int64_t>(0, *(*taps)[0].first.evaluate(at));
            const int64_t last = std::min(r - 1, *(*taps)[0].last.evaluate(at));
            // Where steps pass over a tap between two others, it is kept.
            if (see.empty()) continue;
            EXPECT_LE(first, see.front());
            EXPECT_GE(last, see.back());
            if (stride == 1) {
              EXPECT_EQ(first, see.front());
              EXPECT_EQ(last, see.back());
            }
          }
        }
      }
    }
  }
}

TEST(SeeingTaps, AreAllThatIsLeft) {
  const auto templates = seeingTapTemplates(pattern("conv-beyond"));
  ASSERT_EQ(templates.size(), 1U);
  const Program& p = templates[0].program;
  const Node& conv = p.node(p.outputs()[0]);
  EXPECT_EQ(p.shape(conv.operands[1])[2], Dim(1));
  EXPECT_EQ(p.shape(conv.operands[1])[3], Dim(1));
  EXPECT_EQ(conv.list("dilations"), (std::vector<Expr>{1, 1}));
  EXPECT_EQ(conv.list("pads"), std::vector<Expr>(4, 0));
}

TEST(SeeingTaps, AreLeftAlongAnAxis) {
  const auto templates =
      seeingTapTemplates(pattern("pattern p { shape N C H W F S : W + S + 1 <= 2S, 1 <= S\n x: [N, C, H, W]\n"
                                 " w: const [F, C, 3, 2S]\n y = Conv(x, w) pads=[1, S, 1, S] }"));
  ASSERT_EQ(templates.size(), 1U);
  const Program& p = templates[0].program;
  const Node& conv = p.node(p.outputs()[0]);
  EXPECT_EQ(p.shape(conv.operands[1])[2], Dim(3)) << "as it was";
  const Expr w = Expr::variable("W");
  EXPECT_EQ(p.shape(conv.operands[1])[3], Dim(w * 2));
  EXPECT_EQ(conv.list("pads"), (std::vector<Expr>{1, w, 1, w}));
}

TEST(SeeingTaps, OthersAreNone) {
  EXPECT_THAT(seeingTapTemplates(pattern("conv")), IsEmpty());
  EXPECT_THAT(seeingTapTemplates(pattern("conv-d2")), IsEmpty());
  EXPECT_THAT(seeingTapTemplates(pattern("convtranspose")), IsEmpty());
  EXPECT_THAT(seeingTapTemplates(pattern("conv-bn")), IsEmpty()) << "more than a Conv";
  EXPECT_FALSE(tapsThatSee(pattern("pattern p { shape N C H\n x: [N, C, H]\n w: [1, C, 1]\n y = Conv(x, w) }")))
      << "no constant";
  EXPECT_FALSE(
      tapsThatSee(pattern("pattern p { shape N C H A\n x: [N, C, (H A)]\n w: const [1, C, 1]\n y = Conv(x, w) }")))
      << "an extent that is a product";
}

TEST(SeeingTaps, OfSomePatternsAreNotAll) {
  EXPECT_TRUE(hasBlindTaps(pattern("conv-beyond")));
  EXPECT_TRUE(
      hasBlindTaps(pattern("pattern p { shape N C H R P : H + P + 1 <= R\n x: [N, C, H]\n w: const [1, C, R]\n"
                           " y = Conv(x, w) pads=[P, P] }")));
  EXPECT_FALSE(hasBlindTaps(pattern("conv3d-frame"))) << "along one axis of three";
  EXPECT_FALSE(hasBlindTaps(pattern("conv")));
  EXPECT_FALSE(hasBlindTaps(pattern("conv-d2")));
  EXPECT_FALSE(hasBlindTaps(pattern("matmul")));
}

}  // namespace
}  // namespace pet::synth_seeing_taps_test
