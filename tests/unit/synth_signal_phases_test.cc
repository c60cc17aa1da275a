// Transposed Convs along one axis with their phases as channels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_signal_phases_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::pattern;

std::vector<Template> templatesOf(const std::string& attributes) {
  return signalPhaseTemplates(
      pattern("pattern p { shape N C L F R\n x: [N, C, L]\n w: const [C, F, R]\n y = "
              "ConvTranspose(x, w) " +
              attributes + " }"));
}

TEST(SignalPhases, AreAConvOfOneOutputPerPhase) {
  const auto templates = templatesOf("strides=[3]");
  ASSERT_THAT(testing_support::namesOf(templates), ElementsAre("phases", "row-phases"));
  for (const Template& t : templates) {
    ASSERT_THAT(t.where, SizeIs(1));
    EXPECT_EQ(t.where[0].first, "R");
    EXPECT_EQ(t.where[0].second, Expr::variable("R2") * 3);
    const Node& back = t.program.node(t.program.outputs()[0]);
    ASSERT_TRUE(back.is(ops::kLayout));
    const Node& conv = t.program.node(back.operands[0]);
    ASSERT_TRUE(conv.is(ops::kConv));
    EXPECT_EQ(conv.shapes[0].size(), t.name == "phases" ? 3U : 4U);
    EXPECT_EQ(conv.shapes[0][1], Dim(Expr::variable("F") * 3));
  }
}

TEST(SignalPhases, AreCutByPads) {
  const auto templates = templatesOf("strides=[3] pads=[1, 2]");
  ASSERT_THAT(templates, SizeIs(2));
  for (const Template& t : templates) {
    const Node& cut = t.program.node(t.program.outputs()[0]);
    ASSERT_TRUE(cut.is(ops::kSlice));
    EXPECT_EQ(cut.list("starts"), (std::vector<Expr>{1}));
    EXPECT_EQ(cut.list("ends")[0], (Expr::variable("L") + Expr::variable("R2") - 1) * 3 - 2);
  }
}

TEST(SignalPhases, OthersAreNone) {
  EXPECT_THAT(templatesOf("strides=[1]"), IsEmpty());
  EXPECT_THAT(templatesOf("strides=[3] dilations=[2]"), IsEmpty());
  EXPECT_THAT(templatesOf("strides=[3] output_padding=[1]"), IsEmpty());
  EXPECT_THAT(signalPhaseTemplates(pattern("convtranspose-s2")), IsEmpty()) << "along two axes";
  EXPECT_THAT(signalPhaseTemplates(pattern("conv1d-s2")), IsEmpty());
}

}  // namespace
}  // namespace pet::synth_signal_phases_test
