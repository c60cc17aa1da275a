#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "synth/analysis/depth.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_mutant_test {
namespace {

using testing_support::convText;
using testing_support::mutantOf;

// Patterns of their own, so that the texts below do not change with the canonical ones.
const std::string kConv = convText("Conv(x, w) pads=[P, Q, P, Q]");
const std::string kDilated = convText("Conv(x, w) dilations=[2, 2] pads=[P, Q, P, Q]");
const std::string kPlain = convText("Conv(x, w)");
const std::string kStrided = convText("Conv(x, w) strides=[2, 1] pads=[1, 0, 1, 0]");
const std::string kPointwise = convText("Conv(x, w)", "[F, C, 1, 1]");
const std::string kPointwiseStrided = convText("Conv(x, w) strides=[2, 2]", "[F, C, 1, 1]");
const std::string kGrouped = convText("Conv(x, w) group=G pads=[P, Q, P, Q]", "[(G F), C, R, S]", "[N, (G C), H, W]");
const std::string kTransposed = convText("ConvTranspose(x, w) pads=[P, Q, P, Q]", "[C, F, R, S]");
const std::string kTransposedStrided = convText("ConvTranspose(x, w) strides=[2, 1]", "[C, F, R, S]");
const std::string kMatMul = "pattern p { shape B M K N : 1 <= B\n x: [B, M, K]\n w: const [K, N]\n y = MatMul(x, w) }";

/// "where N = 2N2; operators 3, main y1" and the statements.
std::string text(const Mutant& m) {
  std::string where;
  for (const auto& [symbol, value] : m.where)
    where += fmt::format("{}{} = {}", where.empty() ? "where " : ", ", symbol, value.str());
  return fmt::format("{}{}operators {}, main {}\n{}", where, where.empty() ? "" : "; ", operatorsOf(m.program),
                     m.program.name(m.main), printStatements(m.program));
}

struct Built {
  std::string pattern, plan, mutant;
};

const Built kBuilt[] = {
    {kConv, "conv", R"(
operators 1, main y1
y1 = Conv(x, w) pads=[P, Q, P, Q]
)"},
    {kConv, "convtranspose", R"(
operators 1, main y1
u = IndexMap(w)  [c:C, f:F, qh:R, qw:S] -> [f, c, R - qh - 1, S - qw - 1]
y1 = ConvTranspose(x, u) pads=[R - P - 1, S - Q - 1, R - P - 1, S - Q - 1]
)"},
    {kConv, "conv+offset", R"(
operators 2, main y2
u = IndexMap(w)  [(f:F qh:R qw:S), c:C, _0:1, _1:1] -> [f, c, qh, qw]
y1 = Conv(x, u)
y2 = OffsetReduce(y1) kernel_shape=[R, S] pads=[P, Q, P, Q]
)"},
    {kConv, "matmul+offset", R"(
operators 4, main y2
u = IndexMap(w)  [(f:F qh:R qw:S), c:C] -> [f, c, qh, qw]
t = Layout(x)  n c h w -> n c (h w)
y1 = MatMul(u, t)
ys = Layout(y1)  n (f:F qh:R qw:S) (h:H w:W) -> n (f qh qw) h w
y2 = OffsetReduce(ys) kernel_shape=[R, S] pads=[P, Q, P, Q]
)"},
    {kConv, "exchange_conv", R"(
operators 3, main y1
u = IndexMap(w)  [f:F, c:C, qw:S, qh:R] -> [f, c, qh, qw]
t = Layout(x)  n c h w -> n c w h
y1 = Conv(t, u) pads=[Q, P, Q, P]
z = Layout(y1)  n f w h -> n f h w
)"},
    {kConv, "n.in2-outer1_conv", R"(
where N = 2N2; operators 3, main y1
t = Layout(x)  (n 2) c h w -> n c h (2 w)
y1 = Conv(t, w) pads=[P, Q, P, S - Q - 1]
z = Layout(y1)  n f h (2 w) -> (n 2) f h w
y = Slice(z) axes=[3] starts=[0] ends=[2Q + W - S + 1]
)"},
    {kConv, "n.in2-outer1-sep_conv", R"(
where N = 2N2; operators 3, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 0, 0, Q]
t = Layout(xp)  (n 2) c h w -> n c h (2 w)
y1 = Conv(t, w) pads=[P, Q, P, S - Q - 1]
z = Layout(y1)  n f h (2 w) -> (n 2) f h w
y = Slice(z) axes=[3] starts=[0] ends=[2Q + W - S + 1]
)"},
    {kConv, "n.in4-inner0_conv", R"(
where N = 4N4; operators 3, main y1
t = Layout(x)  (n 4) c h w -> n c (h 4) w
y1 = Conv(t, w) dilations=[4, 1] pads=[4P, Q, 4P, Q]
z = Layout(y1)  n f (h 4) w -> (n 4) f h w
)"},
    {kConv, "n.merge-outer0_conv", R"(
operators 3, main y1
t = Layout(x)  n c h w -> 1 c (n h) w
y1 = Conv(t, w) pads=[P, Q, R - P - 1, Q]
z = Layout(y1)  1 f (n:N h:H) w -> n f h w
y = Slice(z) axes=[2] starts=[0] ends=[H + 2P - R + 1]
)"},
    {kConv, "c.pad4_conv", R"(
operators 2, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 4floor((C + 3)/4) - C, 0, 0]
u = IndexMap(w)  [f:F, c:4floor((C + 3)/4), qh:R, qw:S] -> [f, c, qh, qw]
y1 = Conv(xp, u) pads=[P, Q, P, Q]
)"},
    {kConv, "f.pad16_conv", R"(
operators 2, main y1
u = IndexMap(w)  [f:16floor((F + 15)/16), c:C, qh:R, qw:S] -> [f, c, qh, qw]
y1 = Conv(x, u) pads=[P, Q, P, Q]
y = Slice(y1) axes=[1] starts=[0] ends=[F]
)"},
    {kConv, "w.out2-batch_conv", R"(
where S = 2Q + 1, W = 2W2; operators 3, main y1
t = Layout(x)  n c h (2 w) -> (n 2) c h w
y1 = Conv(t, w) pads=[P, Q, P, Q]
z = Layout(y1)  (n 2) f h w -> n f h (2 w)
)"},
    {kConv, "w.halo2_conv", R"(
operators 3, main y1
xp = Pad(x) pads=[0, 0, 0, Q, 0, 0, 0, Q + 2floor((S + W)/2) - S - W + 1]
xw0 = Slice(xp) axes=[3] starts=[0] ends=[Q + floor((S + W)/2)]
xw1 = Slice(xp) axes=[3] starts=[Q + floor((S + W)/2) - S + 1] ends=[2Q + 2floor((S + W)/2) - S + 1]
xw = Concat(xw0, xw1) axis=0
y1 = Conv(xw, w) pads=[P, 0, P, 0]
z = Layout(y1)  (2 n) f h w -> n f h (2 w)
y = Slice(z) axes=[3] starts=[0] ends=[2Q + W - S + 1]
)"},
    {kConv, "h.whole_w.whole_matmul", R"(
operators 3, main y1
u = IndexMap(w)  [(h:H w:W c:C), (oh:{H + 2P - R + 1} ow:{2Q + W - S + 1} f:F)] -> [f, c, P + h - oh, Q + w - ow]
t = Layout(x)  n c h w -> n (h w c)
y1 = MatMul(t, u)
z = Layout(y1)  n (oh:{H + 2P - R + 1} ow:{2Q + W - S + 1} f:F) -> n f oh ow
)"},
    {kDilated, "w.in2-batch_conv", R"(
where Q = 2Q2; operators 3, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 0, 0, W - 2floor((W)/2)]
t = Layout(xp)  n c h (w 2) -> (n 2) c h w
y1 = Conv(t, w) dilations=[2, 1] pads=[P, Q2, P, Q2]
z = Layout(y1)  (n 2) f h w -> n f h (w 2)
y = Slice(z) axes=[3] starts=[0] ends=[4Q2 + W - 2S + 2]
)"},
    {kDilated, "w.in2-outer1_conv", R"(
where Q = 2Q2; operators 3, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 0, 0, W - 2floor((W)/2)]
t = Layout(xp)  n c h (w 2) -> n c h (2 w)
y1 = Conv(t, w) dilations=[2, 1] pads=[P, Q2, P, S - Q2 - 1]
z = Layout(y1)  n f h (2 w) -> n f h (w 2)
y = Slice(z) axes=[3] starts=[0] ends=[4Q2 + W - 2S + 2]
)"},
    {kDilated, "h.keep_conv", R"(
operators 1, main y1
u = IndexMap(w)  [f:F, c:C, qh:{2R - 1}, qw:S] -> [f, c, floor((qh)/2), qw] where 2floor((qh)/2) = qh
y1 = Conv(x, u) dilations=[1, 2] pads=[P, Q, P, Q]
)"},
    {kPlain, "w.in2-chio_conv", R"(
operators 3, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 0, 0, W - 2floor((W)/2)]
u = IndexMap(w)  [(ow:2 f:F), (pw:2 c:C), qh:R, qw:{floor((S)/2) + 1}] -> [f, c, qh, pw + 2qw - ow]
t = Layout(xp)  n c h (w 2) -> n (2 c) h w
y1 = Conv(t, u) pads=[0, 0, 0, floor((S)/2) + floor((S + W)/2) + floor((W)/2) - S - W + 1]
z = Layout(y1)  n (2 f) h w -> n f h (w 2)
y = Slice(z) axes=[3] starts=[0] ends=[W - S + 1]
)"},
    {kStrided, "h.in2-chi_conv", R"(
operators 2, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 0, H - 2floor((H)/2), 0]
u = IndexMap(w)  [f:F, (ph:2 c:C), qh:{floor((R)/2) + 1}, qw:S] -> [f, c, ph + 2qh - 1, qw]
t = Layout(xp)  n c (h 2) w -> n (2 c) h w
y1 = Conv(t, u) pads=[1, 0, floor((H)/2) + floor((H + R)/2) + floor((R)/2) - H - R + 1, 0]
)"},
    {kStrided, "h.in2-chis_conv", R"(
operators 2, main y1
xp = Pad(x) pads=[0, 0, 1, 0, 0, 0, 2floor((H + R)/2) - H - 2floor((R)/2) + 1, 0]
u = IndexMap(w)  [f:F, (ph:2 c:C), qh:{R - floor((R)/2)}, qw:S] -> [f, c, ph + 2qh, qw]
t = Layout(xp)  n c (h 2) w -> n (2 c) h w
y1 = Conv(t, u)
)"},
    {kPointwise, "matmul", R"(
operators 3, main y1
u = IndexMap(w)  [c:C, f:F] -> [f, c, 0, 0]
t = Layout(x)  n c h w -> (n h w) c
y1 = MatMul(t, u)
z = Layout(y1)  (n:N h:H w:W) f -> n f h w
)"},
    {kPointwise, "matmul-left", R"(
operators 3, main y1
u = IndexMap(w)  [f:F, c:C] -> [f, c, 0, 0]
t = Layout(x)  n c h w -> n c (h w)
y1 = MatMul(u, t)
z = Layout(y1)  n f (h:H w:W) -> n f h w
)"},
    {kPointwise, "n.to0_conv", R"(
operators 3, main y1
t = Layout(x)  n c h w -> 1 c (n h) w
y1 = Conv(t, w)
z = Layout(y1)  1 f (n:N h:H) w -> n f h w
)"},
    {kPointwiseStrided, "h.in2-chi_w.in2-chi_conv", R"(
operators 2, main y1
xp = Pad(x) pads=[0, 0, 0, 0, 0, 0, H - 2floor((H)/2), W - 2floor((W)/2)]
xs = Slice(xp) axes=[2, 3] starts=[0, 0] ends=[2H - 2floor((H)/2), 2W - 2floor((W)/2)] steps=[2, 2]
y1 = Conv(xs, w)
)"},
    {kGrouped, "g.whole_conv", R"(
operators 1, main y1
u = IndexMap(w)  [(og:G f:F), (pg:G c:C), qh:R, qw:S] -> [og : f, c, qh, qw] where pg = og
y1 = Conv(x, u) pads=[P, Q, P, Q]
)"},
    {kGrouped, "g.in2-batch_conv", R"(
where G = 2G2; operators 1, main y1
u = IndexMap(w)  [(g:G2 og:2 f:F), (pg:2 c:C), qh:R, qw:S] -> [2g + og : f, c, qh, qw] where pg = og
y1 = Conv(x, u) pads=[P, Q, P, Q] group=G2
)"},
    {kTransposed, "conv", R"(
operators 1, main y1
u = IndexMap(w)  [f:F, c:C, qh:R, qw:S] -> [c, f, R - qh - 1, S - qw - 1]
y1 = Conv(x, u) pads=[R - P - 1, S - Q - 1, R - P - 1, S - Q - 1]
)"},
    {kTransposedStrided, "h.in2-cho_conv", R"(
operators 2, main y1
u = IndexMap(w)  [(oh:2 f:F), c:C, qh:{R - floor((R)/2)}, qw:S] -> [c, f, 2R + oh - 2qh - 2floor((R)/2) - 2, S - qw - 1]
y1 = Conv(x, u) pads=[R - floor((R)/2) - 1, S - 1, R - floor((R)/2) - 1, S - 1]
z = Layout(y1)  n (2 f) h w -> n f (h 2) w
y = Slice(z) axes=[2] starts=[0] ends=[2H + R - 2]
)"},
    {kMatMul, "conv", R"(
operators 3, main y1
u = IndexMap(w)  [n:N, k:K, _0:1, _1:1] -> [k, n]
t = Layout(x)  b m k -> b k m 1
y1 = Conv(t, u)
z = Layout(y1)  b n m 1 -> b m n
)"},
    {kMatMul, "b.to0_conv", R"(
operators 3, main y1
u = IndexMap(w)  [n:N, k:K, _0:1, _1:1] -> [k, n]
t = Layout(x)  b m k -> 1 k (b m) 1
y1 = Conv(t, u)
z = Layout(y1)  1 n (b:B m:M) 1 -> b m n
)"},
    {kMatMul, "n.pad4_matmul", R"(
operators 3, main y1
u = IndexMap(w)  [k:K, n:4floor((N + 3)/4)] -> [k, n]
t = Layout(x)  b m k -> (b m) k
y1 = MatMul(t, u)
z = Layout(y1)  (b:B m:M) n -> b m n
y = Slice(z) axes=[2] starts=[0] ends=[N]
)"},
};

TEST(SynthMutant, IsDerivedFromItsPlan) {
  for (const Built& c : kBuilt) {
    auto m = mutantOf(c.pattern, c.plan);
    ASSERT_TRUE(m) << c.plan << ": " << m.error().detail;
    EXPECT_EQ("\n" + text(*m), c.mutant) << c.plan;
  }
}

// --- Plans that lead nowhere ---

std::string text(PlanFailure::Why why) {
  switch (why) {
    case PlanFailure::Why::kNotApplicable:
      return "not applicable";
    case PlanFailure::Why::kNoVote:
      return "no vote";
    case PlanFailure::Why::kShape:
      return "shape";
    case PlanFailure::Why::kEmptyClass:
      return "empty class";
  }
  return "";
}

struct Failed {
  std::string pattern, plan, failure;
};

const std::string kOddBatch =
    "pattern p { shape N C H W F R S : N % 2 = 1\n x: [N, C, H, W]\n w: const [F, C, R, S]\n y = Conv(x, w) }";

const Failed kFailed[] = {
    {kConv, "matmul", "not applicable: the target does not slide"},
    {kConv, "h.whole_w.whole_matmul-left", "not applicable: no positions to multiply"},
    {kConv, "h.halo2_matmul", "not applicable: only a Conv reads a tile's halo"},
    {kConv, "w.out2-outer1-sep_conv", "not applicable: a separator between the digits of a cut"},
    {kConv, "n.in2-outer1_convtranspose", "not applicable: images share a slot of a Conv only"},
    {kConv, "h.out2-outer0_w.out2-outer1_conv+offset", "not applicable: several images under one sum over offsets"},
    {kPointwise, "conv+offset", "not applicable: no taps to sum over"},
    {kPointwise, "w.to0_conv", "built"},
    {kPointwiseStrided, "n.in2-inner0_conv", "not applicable: a stride over inner digits"},
    {kPointwiseStrided, "h.in2-chis_conv", "not applicable: h: no pad to move in front of the cut"},
    {kDilated, "w.out2-batch_conv", "built"},
    {kConv, "n.merge-outer0-sep_conv", "built"},
    {kPlain, "n.merge-outer0-sep_conv", "not applicable: nothing to separate"},
    {kConv, "w.keep-d2_conv", "no vote: w: a weight has no slot"},
    {kConv, "w.keep-s2_conv", "no vote: w: the number of slots is piecewise"},
    {kConv, "h.in2-batch_conv", "no vote: h: a weight has no slot"},
    {kStrided, "h.in2-batch-s2_conv", "no vote: h: the weights differ from phase to phase"},
    {kGrouped, "c.pad4_conv", "shape: Pad of the product dimension (G C)"},
    {kGrouped, "f.pad4_conv", "shape: (4G floor((F + 3)/4)) is not cropped to (G F)"},
    {kGrouped, "matmul+offset", "shape: MatMul of [(G F R S), C] and [N, (G C), (H W)]"},
    {kOddBatch, "n.in2-inner0_conv", "empty class: never N = 2floor((N)/2) + 1"},
    {kOddBatch, "n.merge-outer0_conv", "built"},
};

TEST(SynthMutant, OrThereIsAReason) {
  for (const Failed& c : kFailed) {
    auto m = mutantOf(c.pattern, c.plan);
    EXPECT_EQ(m ? "built" : fmt::format("{}: {}", text(m.error().why), m.error().detail), c.failure)
        << c.pattern << " " << c.plan;
  }
}

}  // namespace
}  // namespace pet::synth_mutant_test
