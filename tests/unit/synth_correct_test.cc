#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/exhaustive.h"
#include "synth/judge/correct.h"
#include "synth/judge/strips.h"
#include "synth/prove/prove.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_correct_test {
namespace {

using testing_support::convText;
using testing_support::mutantOf;

constexpr unsigned long kBudget = 4'000'000;  // isl operations

// Patterns of their own, so that the boxes below do not change with the canonical ones.
const std::string kConv = convText("Conv(x, w) pads=[P, Q, P, Q]");
const std::string kSame =
    "pattern p { shape N C H W F\n x: [N, C, H, W]\n w: const [F, C, 3, 3]\n"
    " y = Conv(x, w) pads=[1, 1, 1, 1] }";
const std::string kUneven = convText("Conv(x, w) pads=[0, P, 0, Q]");  // P columns at the left, Q at the right
const std::string kDilated = convText("Conv(x, w) dilations=[2, 2] pads=[P, Q, P, Q]");
const std::string kTransposed = convText("ConvTranspose(x, w) pads=[P, Q, P, Q]", "[C, F, R, S]");
const std::string kGrouped = convText("Conv(x, w) group=G pads=[P, Q, P, Q]", "[(G F), C, R, S]", "[N, (G C), H, W]");
const std::string kPointwiseStrided = convText("Conv(x, w) strides=[2, 2]", "[F, C, 1, 1]");

/// A mutant with what mends it, as a rule that is not proved yet; or the reason why there is none.
tl::expected<Rule, std::string> corrected(const Mutant& m, WriteBack where) {
  poly::Context context(m.shapes, kBudget);
  auto equality = proveEqual(context, m.source, m.program);
  if (std::holds_alternative<Proved>(equality)) return tl::unexpected(std::string("proved as it is"));
  if (auto* u = std::get_if<Unknown>(&equality)) return tl::unexpected(u->reason);
  const Uncorrected candidate{m.shapes, m.program, m.main};
  const PatternInstance source(m.source);
  auto ways = corrections(context, source, candidate, std::get<ProvedOutside>(equality).bad);
  auto c = ways.at(where == WriteBack::kBeforeLayout ? 0 : 1)();
  if (!c) return tl::unexpected(c.error());
  Rule rule;
  rule.name = "r";
  rule.pattern = "p";
  rule.where = m.where;
  rule.shapes = c->shapes;
  rule.mutant = m.program;
  rule.boxes = c->boxes;
  rule.replacement = c->replacement;
  return rule;
}

std::string text(const BoxRange& r) {
  return fmt::format("{}:{}{}", r.lower.str(), r.upper.str(), r.step == 1 ? "" : fmt::format(":{}", r.step));
}

std::string text(const Box& box) {
  std::string ranges;
  for (const BoxRange& r : box.ranges)
    ranges += (ranges.empty() ? "" : ", ") + text(r);
  return "[" + ranges + "]\n";
}

struct Mended {
  std::string pattern, plan, boxes;
  WriteBack where = WriteBack::kBeforeLayout;
};

// One line per box; then whether pattern and mutant really differ everywhere in the boxes, at the shapes tried. Where
// pads may be larger than the kernel, some borders are zero in both.
const Mended kMended[] = {
    // two images side by side: where they meet
    {kSame, "n.in2-outer1_conv", R"(
[0:2N2 - 1:2, 0:F, 0:H, W - 1:W]
[1:2N2:2, 0:F, 0:H, 0:1]
tight
)"},
    {kConv, "n.in2-outer1_conv", R"(
[0:2N2 - 1:2, 0:F, 0:H + 2P - R + 1, Q + W - S + 1:2Q + W - S + 1]
[1:2N2:2, 0:F, 0:H + 2P - R + 1, 0:Q]
)"},
    {kConv, "n.in2-outer0_conv", R"(
[0:2N2 - 1:2, 0:F, H + P - R + 1:H + 2P - R + 1, 0:2Q + W - S + 1]
[1:2N2:2, 0:F, 0:P, 0:2Q + W - S + 1]
)"},
    {kUneven, "n.in2-outer1_conv", R"(
[0:2N2 - 1:2, 0:F, 0:H - R + 1, P + W - S + 1:P + Q + W - S + 1]
[1:2N2:2, 0:F, 0:H - R + 1, 0:P]
tight
)"},
    {kDilated, "n.in2-outer1_conv", R"(
[0:2N2 - 1:2, 0:F, 0:H + 2P - 2R + 2, Q + W - 2S + 2:2Q + W - 2S + 2]
[1:2N2:2, 0:F, 0:H + 2P - 2R + 2, 0:Q]
)"},
    // four, or the whole batch: inner images have two neighbours, so both borders of all are mended
    {kConv, "n.in4-outer1_conv", R"(
[0:4N4, 0:F, 0:H + 2P - R + 1, 0:Q]
[0:4N4, 0:F, 0:H + 2P - R + 1, Q + W - S + 1:2Q + W - S + 1]
)"},
    {kConv, "n.merge-outer1_conv", R"(
[0:N, 0:F, 0:H + 2P - R + 1, 0:Q]
[0:N, 0:F, 0:H + 2P - R + 1, Q + W - S + 1:2Q + W - S + 1]
)"},
    {kConv, "n.merge-outer0_conv", R"(
[0:N, 0:F, 0:P, 0:2Q + W - S + 1]
[0:N, 0:F, H + P - R + 1:H + 2P - R + 1, 0:2Q + W - S + 1]
)"},
    {kSame, "n.merge-outer0_conv", R"(
[0:N, 0:F, 0:1, 0:W]
[0:N, 0:F, H - 1:H, 0:W]
)"},
    // tiles in the batch: where they were cut
    {kSame, "w.out2-batch_conv", R"(
[0:N, 0:F, 0:H, W2 - 1:W2 + 1]
tight
)"},
    {kConv, "w.out2-batch_conv", R"(
[0:N, 0:F, 0:H + 2P - R + 1, W2 - Q:Q + W2]
)"},
    {kConv, "w.out4-batch_conv", R"(
[0:N, 0:F, 0:H + 2P - R + 1, W4 - Q:Q + W4]
[0:N, 0:F, 0:H + 2P - R + 1, 2W4 - Q:Q + 2W4]
[0:N, 0:F, 0:H + 2P - R + 1, 3W4 - Q:Q + 3W4]
)"},
    {kConv, "h.out2-batch_conv", R"(
[0:N, 0:F, H2 - P:H2 + P, 0:2Q + W - S + 1]
)"},
    {kUneven, "w.out2-batch_conv", R"(
[0:N, 0:F, 0:H - R + 1, W2 - Q:P + W2]
tight
)"},
    // phases side by side: the end of the even ones, the beginning of the odd ones
    {kDilated, "w.in2-outer1_conv", R"(
[0:N, 0:F, 0:H + 2P - 2R + 2, 2Q2 + 2W - 2S - 2floor((W)/2) + 2:4Q2 + 2W - 2S - 2floor((W)/2) + 1:2]
[0:N, 0:F, 0:H + 2P - 2R + 2, 1:2Q2:2]
)"},
    {kDilated, "h.in2-outer0_w.in2-outer1_conv", R"(
[0:N, 0:F, 0:2P2, 0:4Q2 + W - 2S + 2]
[0:N, 0:F, 2H + 2P2 - 2R - 2floor((H)/2) + 2:H + 4P2 - 2R + 2, 0:4Q2 + W - 2S + 2]
[0:N, 0:F, 0:H + 4P2 - 2R + 2, 0:2Q2]
[0:N, 0:F, 0:H + 4P2 - 2R + 2, 2Q2 + 2W - 2S - 2floor((W)/2) + 2:4Q2 + W - 2S + 2]
)",
     WriteBack::kAfterLayout},
    {kConv, "h.out2-batch_w.out2-batch_conv", R"(
[0:N, 0:F, H2 - P:H2 + P, 0:2W2]
[0:N, 0:F, 0:2H2, W2 - Q:Q + W2]
tight
)",
     WriteBack::kAfterLayout},
};

TEST(SynthCorrect, BoxesHoldAllThatDiffers) {
  for (const Mended& c : kMended) {
    auto m = mutantOf(c.pattern, c.plan);
    ASSERT_TRUE(m) << c.plan << ": " << m.error().detail;
    auto rule = corrected(*m, c.where);
    ASSERT_TRUE(rule) << c.plan << ": " << rule.error();
    // Nothing of the prover: mutant and replacement are evaluated.
    Evaluation e = evaluateRule(testing_support::pattern(c.pattern), *rule, {.shapes = 40});
    EXPECT_TRUE(e.holds()) << c.plan << ": " << e.str();
    EXPECT_GT(e.differentPositions, 0) << c.plan;
    std::string boxes = "\n";
    for (const Box& b : rule->boxes)
      boxes += text(b);
    boxes += e.differentPositions == e.boxPositions ? "tight\n" : "";
    EXPECT_EQ(boxes, c.boxes) << c.plan;
  }
}

struct Uncovered {
  std::string pattern, plan, reason;
};

const Uncovered kUncovered[] = {
    {kConv, "n.in2-outer1-sep_conv", "proved as it is"},
    {kTransposed, "n.in2-outer1_conv", "corrections for this operator's windows are not derived"},
    {kGrouped, "n.in2-outer1_conv", "the output has product dimensions"},
    {kPointwiseStrided, "h.in2-batch-s2_conv", "the mismatch covers whole dimensions"},
};

TEST(SynthCorrect, OrThereIsAReason) {
  for (const Uncovered& c : kUncovered) {
    auto m = mutantOf(c.pattern, c.plan);
    ASSERT_TRUE(m) << c.plan << ": " << m.error().detail;
    auto rule = corrected(*m, WriteBack::kBeforeLayout);
    EXPECT_EQ(rule ? "corrected" : rule.error(), c.reason) << c.plan;
  }
}

}  // namespace
}  // namespace pet::synth_correct_test
