#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synth/propose/plans/vote.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_vote_test {
namespace {

using testing_support::convText;

std::string text(const Voted& v) {
  if (!v) return v.error();
  std::string guards;
  for (const Constraint& g : v->guards)
    guards += (guards.empty() ? " where " : ", ") + g.str();
  return fmt::format("{} taps, pad {}, r = {}{}{}", v->taps.str(), v->padBegin.str(), v->source.str(), guards,
                     v->selected ? fmt::format(", fi = {}", *v->selected) : "");
}

struct Case {
  std::string pattern;
  std::string axis;
  WindowCut cut;
  std::string vote;
};

WindowCut conv(int64_t stride = 1, int64_t dilation = 1) {
  return {.stride = stride, .dilation = dilation};
}
WindowCut transposed(int64_t stride = 1, int64_t dilation = 1) {
  return {.transposed = true, .stride = stride, .dilation = dilation};
}
/// The digits of both sides stay equal.
WindowCut phases(int64_t n, int64_t stride = 1, int64_t dilation = 1) {
  return {.inFactor = n, .outFactor = n, .equal = true, .stride = stride, .dilation = dilation};
}
/// They become channels.
WindowCut blocks(int64_t in, int64_t out, int64_t stride = 1, int64_t dilation = 1) {
  return {.inFactor = in, .outFactor = out, .stride = stride, .dilation = dilation};
}

/// x is shifted first, so that blocks begin where the first window does.
WindowCut shifted(int64_t in, int64_t out, const std::string& by) {
  WindowCut cut = blocks(in, out);
  cut.shift = Expr::variable(by);
  return cut;
}

const std::string kEvenPads = convText("Conv(x, w) pads=[2P, Q, 2P, Q] dilations=[2, 2]");

// w -> which weight r the slot q (and the digits fi, fo) holds. See docs/search-space.md, The symbolic vote.
const Case kCases[] = {
    // the same operator
    {"conv", "h", conv(), "R taps, pad P, r = q"},
    {"conv-s2", "h", conv(2), "R taps, pad P, r = q"},
    {"conv-d2", "h", conv(1, 2), "R taps, pad P, r = q"},
    {"convtranspose", "h", transposed(), "R taps, pad P, r = q"},
    {"convtranspose-s2", "h", transposed(2), "R taps, pad P, r = q"},
    // the other one, with the flipped kernel
    {"conv", "h", transposed(), "R taps, pad R - P - 1, r = R - q - 1"},
    {"conv-d2", "w", transposed(1, 2), "S taps, pad 2S - Q - 2, r = S - q - 1"},
    {"convtranspose", "h", conv(), "R taps, pad R - P - 1, r = R - q - 1"},
    // a kernel with holes
    {"conv-d2", "h", conv(), "2R - 1 taps, pad P, r = floor((q)/2) where 2floor((q)/2) = q"},
    // no sliding of one kind is that of another
    {"conv-s2", "h", conv(), "the number of slots is piecewise"},
    {"conv-s2", "h", transposed(2), "the number of slots is piecewise"},
    {"convtranspose-s2", "h", conv(), "the number of slots is piecewise"},
    {"conv", "h", conv(1, 2), "a weight has no slot"},
    // a pair of images: within an image the slots hold what they do in the pattern
    {"conv", "w", conv(), "S taps, pad Q, r = q"},
    // space to depth
    {"conv-s2", "h", shifted(2, 1, "P"), "R - floor((R)/2) taps, pad 0, r = fi + 2q"},
    {"conv-s2", "h", blocks(2, 1),
     "P + R - floor((P)/2) - floor((P + R)/2) taps, pad P - floor((P)/2), r = fi + 2q + 2floor((P)/2) - P"},
    {"conv", "h", blocks(2, 2),
     "floor((P + R)/2) - floor((P)/2) + 1 taps, pad P - floor((P)/2), r = fi + 2q + 2floor((P)/2) - P - fo"},
    {"conv-1x1-s2", "h", blocks(2, 1), "1 taps, pad 0, r = 0 where fi = 0, fi = 0"},
    {"convtranspose-s2", "h", blocks(1, 2),
     "P + R - floor((P)/2) - floor((P + R)/2) taps, pad R - floor((P + R)/2) - 1, r = P + 2R + fo - 2q - "
     "2floor((P + R)/2) - 2"},
    {"conv", "h", blocks(1, 2, 2), "R + 1 taps, pad P, r = q - fo"},
    // phases: only where the shift is a multiple
    {kEvenPads, "h", phases(2), "R taps, pad P, r = q"},
    {"conv-d2", "h", phases(2), "for some shapes no slot meets a weight"},
    {kEvenPads, "h", phases(4), "for some shapes no slot meets a weight"},
    {"conv", "h", phases(2), "for some shapes no slot meets a weight"},
};

TEST(SynthVote, OnWindows) {
  for (const Case& c : kCases) {
    Pattern p = testing_support::pattern(c.pattern);
    auto m = analyse(p.program);
    ASSERT_TRUE(m) << c.pattern;
    EXPECT_EQ(text(VoteTable().window(p.shapes, *m->find(c.axis), c.cut)), c.vote)
        << c.pattern << " " << c.axis << " in " << c.cut.inFactor << " out " << c.cut.outFactor;
  }
}

const std::pair<std::string, std::string> kWhole[] = {
    {"conv", "1 taps, pad 0, r = P + fi - fo"},
    {"conv-s2", "1 taps, pad 0, r = P + fi - 2fo"},
    {"conv-d2", "1 taps, pad 0, r = floor((P + fi + fo)/2) - fo where 2floor((P + fi + fo)/2) = P + fi + fo"},
    {"convtranspose", "1 taps, pad 0, r = P + fo - fi"},
    {"convtranspose-s2", "1 taps, pad 0, r = P + fo - 2fi"},
};

// Nearest up-scaling by 2, then a convolution: x = floor((v + r - P)/2), so that a slot of a phase meets two weights.
// Their sum would be right; this vote has no sums, and says so.
TEST(SynthVote, SeveralWeightsForASlotAreNoVote) {
  Pattern p = testing_support::pattern(convText("Conv(x, w) pads=[P, Q, P, Q]"));
  auto m = analyse(p.program);
  ASSERT_TRUE(m);
  Axis axis = *m->find("h");
  axis.relation = floorDiv(Expr::variable("v") + Expr::variable("r") - Expr::variable("P"), 2) - Expr::variable("x");
  EXPECT_EQ(text(VoteTable().window(p.shapes, axis, blocks(1, 2))), "a slot meets several weights");
  EXPECT_EQ(text(VoteTable().whole(p.shapes, axis)), "a slot meets several weights");
}

TEST(SynthVote, OnWholeAxes) {
  for (const auto& [name, vote] : kWhole) {
    Pattern p = testing_support::pattern(name);
    auto m = analyse(p.program);
    ASSERT_TRUE(m);
    EXPECT_EQ(text(VoteTable().whole(p.shapes, *m->find("h"))), vote) << name;
  }
}

TEST(SynthVote, ATableRemembersByQuestion) {
  VoteTable table;
  Pattern p = testing_support::pattern("conv");
  auto m = analyse(p.program);
  ASSERT_TRUE(m);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(text(table.window(p.shapes, *m->find("h"), conv())), "R taps, pad P, r = q");
    EXPECT_EQ(text(table.window(p.shapes, *m->find("w"), conv())), "S taps, pad Q, r = q");
    EXPECT_EQ(text(table.window(p.shapes, *m->find("h"), transposed())), "R taps, pad R - P - 1, r = R - q - 1");
    EXPECT_EQ(text(table.whole(p.shapes, *m->find("h"))), "1 taps, pad 0, r = P + fi - fo");
  }
}

}  // namespace
}  // namespace pet::synth_vote_test
