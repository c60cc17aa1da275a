// Sums that a LayerNormalization reads, as differences.

#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_differences_test {
namespace {

using testing_support::pattern;

TEST(Differences, AreFromTheNegatedAddend) {
  const std::vector<Template> templates = differenceTemplates(pattern("sum-layernorm"));
  ASSERT_EQ(templates.size(), 1U);
  const Program& p = templates[0].program;
  const Node& last = p.node(p.outputs()[0]);
  ASSERT_TRUE(last.is(ops::kLayerNormalization));
  EXPECT_EQ(last.scalar("axis"), Expr(2));
  const Node& difference = p.node(last.operands[0]);
  ASSERT_TRUE(difference.is(ops::kSub));
  EXPECT_EQ(difference.operands[0], p.find("x"));
  EXPECT_TRUE(p.node(difference.operands[1]).is(ops::kNeg));
  for (const Node& n : p.nodes())
    EXPECT_FALSE(n.is(ops::kAdd));
}

TEST(Differences, AreNoneElsewhere) {
  for (const char* other :
       {"layernorm-matmul", "pattern p { shape M K\n x: [M, K]\n z: [M, K]\n t = Add(x, z)\n y = Softmax(t) axis=1 }",
        "pattern p { shape M K\n x: [M, K]\n s: const [K]\n a: const [K]\n y = LayerNormalization(x, s, a) axis=1 }"})
    EXPECT_TRUE(differenceTemplates(pattern(other)).empty()) << other;
}

}  // namespace
}  // namespace pet::synth_differences_test
