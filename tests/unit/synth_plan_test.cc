#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "synth/analysis/depth.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_plan_test {
namespace {

const std::string kCanonical[] = {"conv",    "conv-1x1",      "conv-1x1-s2",      "conv-d2", "conv-grouped",
                                  "conv-s2", "convtranspose", "convtranspose-s2", "matmul"};

MainOperator analysed(const std::string& nameOrText) {
  auto op = analyse(testing_support::pattern(nameOrText).program);
  EXPECT_TRUE(op) << nameOrText;
  return *op;
}

// --- The size of the declared space: it changes only on purpose ---

const std::pair<std::string, size_t> kSizes[] = {
    {"conv", 2814},    {"conv-1x1", 66},        {"conv-1x1-s2", 2814},      {"conv-d2", 2814}, {"conv-grouped", 2832},
    {"conv-s2", 2814}, {"convtranspose", 2814}, {"convtranspose-s2", 2814}, {"matmul", 54},    {"conv3d", 25},
};

TEST(SynthPlan, SpaceIsDeclared) {
  for (const auto& [name, size] : kSizes)
    EXPECT_EQ(enumeratePlans(analysed(name)).size(), size) << name;
}

TEST(SynthPlan, NamesAreUniqueAndWords) {
  for (const std::string& pattern : kCanonical) {
    auto op = analysed(pattern);
    std::set<std::string> names;
    for (const Plan& p : enumeratePlans(op)) {
      std::string name = planName(op, p);
      EXPECT_TRUE(names.insert(name).second) << pattern << "/" << name;
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._+-"), std::string::npos) << name;
      EXPECT_NE(planFamily(op, p), "") << name;
    }
  }
}

// --- The moves of each axis, by the names of their plans on a Conv ---

/// What stands between "w." and "_conv" where just this axis moves, less the steps "-s2" and "-d2": in the order of the
/// space, with the number of steps that each comes with unless that is 1.
std::string movesOf(const MainOperator& op, const std::string& axis) {
  std::vector<std::pair<std::string, int>> moves;
  for (const Plan& p : enumeratePlans(op)) {
    std::string name = planName(op, p);
    if (p.target != Target::kConv || !name.starts_with(axis + ".")) continue;
    std::string move = name.substr(axis.size() + 1, name.rfind('_') - axis.size() - 1);
    if (move.find('_') != std::string::npos) continue;  // both window axes
    for (const char* step : {"-d2", "-s2", "-s4"}) {
      if (move.ends_with(step)) move.resize(move.size() - 3);
    }
    if (moves.empty() || moves.back().first != move) moves.emplace_back(move, 0);
    ++moves.back().second;
  }
  std::string text;
  for (const auto& [move, steps] : moves)
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", move, steps == 1 ? "" : fmt::format("*{}", steps));
  return text;
}

struct Moves {
  std::string pattern, axis, moves;
};

const Moves kMoves[] = {
    {"conv", "n",
     "merge-outer0 in2-outer0 in4-outer0 merge-outer0-sep in2-outer0-sep in4-outer0-sep in2-inner0 in4-inner0 "
     "merge-outer1 in2-outer1 in4-outer1 merge-outer1-sep in2-outer1-sep in4-outer1-sep in2-inner1 in4-inner1"},
    {"conv-1x1", "n", "to0 to1"},
    {"conv-1x1", "h", "keep to1"},
    {"conv-1x1", "w", "keep to0"},
    {"matmul", "b", "to0 to1"},
    {"matmul", "k", "pad4 pad16"},
    {"conv", "c", "pad4 pad16"},
    {"conv", "f", "pad4 pad16"},
    {"conv-grouped", "g", "whole in2-batch in4-batch"},
    {"conv-grouped-s2", "g", "whole in2-batch in4-batch"},
    {"conv", "w",
     "whole keep*3 "
     "halo2*4 in2-batch*4 in2-outer0*4 in2-outer0-sep*4 in2-inner0*4 in2-outer1*4 in2-outer1-sep*4 in2-inner1*4 "
     "out2-batch*4 out2-outer0*4 out2-outer0-sep*4 out2-inner0*4 out2-outer1*4 out2-outer1-sep*4 out2-inner1*4 "
     "halo4*4 in4-batch*4 in4-outer0*4 in4-outer0-sep*4 in4-inner0*4 in4-outer1*4 in4-outer1-sep*4 in4-inner1*4 "
     "out4-batch*4 out4-outer0*4 out4-outer0-sep*4 out4-inner0*4 out4-outer1*4 out4-outer1-sep*4 out4-inner1*4 "
     "in2-chi*4 in2-cho*4 in2-chio*4 in2-chis*4 in2-chos*4 in2-chios*4 in4-cho"},
};

TEST(SynthPlan, MovesOfAnAxis) {
  for (const Moves& c : kMoves)
    EXPECT_EQ(movesOf(analysed(c.pattern), c.axis), c.moves) << c.pattern << " " << c.axis;
}

TEST(SynthPlan, EveryMoveMeetsEveryTarget) {
  for (const std::string& pattern : kCanonical) {
    auto op = analysed(pattern);
    std::map<std::string, std::set<std::string>> targets;
    for (const Plan& p : enumeratePlans(op)) {
      std::string name = planName(op, p);
      size_t cut = name.rfind('_');
      targets[cut == std::string::npos ? "" : name.substr(0, cut)].insert(name.substr(cut + 1));
    }
    for (const auto& [moves, names] : targets) {
      EXPECT_EQ(fmt::format("{}", fmt::join(names, " ")),
                "conv conv+offset convtranspose matmul matmul+offset matmul-left")
          << pattern << "/" << moves;
    }
  }
}

/// Of three axes that slide all move alike, into channels.
TEST(SynthPlan, AVolumesBlocksBecomeChannels) {
  auto op = analysed("conv3d");
  std::string names;
  for (const Plan& p : enumeratePlans(op)) {
    if (p.moves[op.axes.size() - 1].stride != 1 || p.moves[op.axes.size() - 1].dilation != 1) continue;
    names += planName(op, p) + "\n";
  }
  EXPECT_EQ(names,
            "d.in2-chi_h.in2-chi_w.in2-chi_conv\nd.in2-cho_h.in2-cho_w.in2-cho_conv\n"
            "d.in2-chio_h.in2-chio_w.in2-chio_conv\nd.in2-chis_h.in2-chis_w.in2-chis_conv\n"
            "d.in2-chos_h.in2-chos_w.in2-chos_conv\nd.in2-chios_h.in2-chios_w.in2-chios_conv\n");
}

// --- Families: the words of docs and of the pack's column ---

const std::pair<std::string, std::string> kFamilies[] = {
    {"conv/conv", "conv"},
    {"conv/exchange_conv", "exchange"},
    {"conv/exchange_convtranspose", "exchange+convtranspose"},
    {"conv/conv+offset", "offset-reduce"},
    {"conv/matmul+offset", "offset-reduce"},
    {"conv/h.keep-s2_conv", "conv"},
    {"conv/n.in2-outer1_conv", "images-side-by-side"},
    {"conv/n.merge-outer0-sep_conv", "images-side-by-side"},
    {"conv/n.in4-inner0_conv", "images-interleaved"},
    {"conv/c.pad4_conv", "padded-channels"},
    {"conv/w.halo4_conv", "tiles-with-halo"},
    {"conv/h.out2-batch_w.out2-batch_conv", "tiles-in-batch"},
    {"conv/h.out2-outer0_w.out2-outer1_conv", "tiles-side-by-side"},
    {"conv/w.in2-batch_conv", "phases-in-batch"},
    {"conv/w.in2-inner1_conv", "phases-interleaved"},
    {"conv/w.in2-outer1_conv", "phases-side-by-side"},
    {"conv/h.in2-chi_w.in2-chi_conv", "space-to-depth"},
    {"conv/h.in2-cho_conv", "depth-to-space"},
    {"conv/h.in2-chios_conv", "blocks-as-channels"},
    {"conv/h.whole_w.whole_matmul", "toeplitz+matmul"},
    {"conv3d/d.in2-cho-s2_h.in2-cho-s2_w.in2-cho-s2_conv", "depth-to-space"},
    {"conv-grouped/g.whole_conv", "dense-groups"},
    {"conv-grouped/g.in4-batch_convtranspose", "wider-groups+convtranspose"},
    {"conv-1x1/matmul-left", "matmul"},
    {"matmul/b.to1_conv", "conv"},
};

TEST(SynthPlan, Families) {
  for (const auto& [key, family] : kFamilies) {
    auto op = analysed(key.substr(0, key.find('/')));
    auto plan = testing_support::planNamed(op, key.substr(key.find('/') + 1));
    ASSERT_TRUE(plan);
    EXPECT_EQ(planFamily(op, *plan), family) << key;
  }
}

// --- Depth ---

struct Depths {
  std::string statements;
  int operators, depth;
};

const Depths kDepths[] = {
    {"y = Conv(x, w)", 1, 1},
    {"t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n y = Conv(t, w)", 2, 1},
    {"t = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n u = Layout(t) n c h w -> n c w h\n y = Conv(u, w)", 2, 1},  // a chain
    {"a = Slice(x) axes=[3] starts=[0] ends=[4]\n b = Slice(x) axes=[3] starts=[4] ends=[8]\n"
     " c = Concat(a, b) axis=0\n y = Conv(c, w)",
     2, 1},                                                                           // siblings
    {"u = IndexMap(w) [f:F, c:C, a:5, b:5] -> [f, c, a, b]\n y = Conv(x, u)", 1, 1},  // constants are folded
    {"a = Conv(x, w)\n b = Relu(a)\n y = Layout(b) n f h w -> n f w h", 3, 2},
    {"a = Conv(x, w)\n b = Conv(x, w)\n y = Add(a, b)", 2, 2},
    {"a = Relu(x)\n b = Relu(a)\n c = Add(a, b)\n y = Add(c, x)", 3, 3},  // a sum of three
    {"c = Constant() value=4\n a = Mul(x, c)\n b = Sub(a, x)\n d = Neg(b)\n y = Conv(d, w)", 2,
     2},  // with coefficients
    {"s = Slice(w) axes=[0, 2, 3] starts=[0, 0, 0] ends=[1, 1, 1]\n t = Layout(s) 1 c 1 1 -> c 1 1\n a = Mul(x, t)\n"
     " y = Add(a, x)",
     2, 2},  // a weight is none
};

TEST(SynthPlan, DepthCountsOperatorsOnActivations) {
  for (const auto& [statements, operators, depth] : kDepths) {
    auto p = parseProgram("x: [N, C, 8, 8]\n w: const [F, C, 3, 3]\n " + statements, "test");
    ASSERT_TRUE(p) << p.error().message();
    EXPECT_EQ(operatorsOf(*p), operators) << statements;
    EXPECT_EQ(depthOf(*p), depth) << statements;
  }
}

}  // namespace
}  // namespace pet::synth_plan_test
