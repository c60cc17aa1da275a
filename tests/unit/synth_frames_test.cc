// Convs over frames, as Convs of images, where windows leave a remainder of a row unread.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "synth/judge/pipeline.h"
#include "synth/propose/skeletons/skeleton_generator.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_frames_test {
namespace {

using testing_support::pattern;

/// The rules of a depthwise Conv over three frames.
std::vector<Rule> rulesOf(const std::string& attributes) {
  const Pattern p = pattern(
      "pattern p { shape N C D H W R S P Q : 0 <= P, 0 <= Q, 2 <= D\n x: [N, C, D, H, W]\n w: const [C, 1, 3, R, S]\n"
      " y = Conv(x, w) group=C " +
      attributes + " }");
  std::vector<Rule> rules;
  auto generator = skeletonGenerator(p, 4);
  EXPECT_TRUE(generator) << generator.error();
  const Pipeline pipeline(p, {});
  for (size_t unit = 0; generator && unit < (*generator)->size(); ++unit) {
    (*generator)->propose(unit, [&](Candidate candidate) {
      Judged judged = pipeline.judge(std::move(candidate));
      if (auto* rule = std::get_if<Rule>(&judged.verdict)) rules.push_back(std::move(*rule));
      return false;
    });
  }
  return rules;
}

TEST(SynthFrames, HaveTheConvsOwnPadsWhateverTheStride) {
  for (const int stride : {2, 3, 8}) {
    const auto rules = rulesOf(fmt::format("strides=[1, {0}, {0}] pads=[1, P, Q, 1, P, Q]", stride));
    size_t convs = 0;
    for (const Rule& rule : rules) {
      for (const Node& n : rule.replacement.nodes()) {
        if (!n.is(ops::kConv)) continue;
        ++convs;
        EXPECT_EQ(n.list("pads"), (std::vector<Expr>{Expr::variable("P"), Expr::variable("Q"), Expr::variable("P"),
                                                     Expr::variable("Q")}))
            << rule.name;
      }
      for (const int64_t height : {16, 17, 18, 19}) {
        const Bindings at{{"N", 1}, {"C", 2}, {"D", 4}, {"H", height}, {"W", 20},
                          {"R", 1}, {"S", 3}, {"P", 0}, {"Q", 1}};
        EXPECT_TRUE(rule.shapes.contains(at)) << rule.name << " of " << height << " rows";
      }
    }
    EXPECT_GT(convs, 0U) << stride;
  }
}

}  // namespace
}  // namespace pet::synth_frames_test
