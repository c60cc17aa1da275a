// Which layout operators open and close a program, and what such a chain computes alone.

#include <gtest/gtest.h>

#include "applier/measure/layout_ends.h"
#include "ir/evaluate.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_layouts_test {
namespace {

using namespace testing_support;

/// "a b | c": chains of node names, parted by bars.
std::string namesOf(const Program& program, const std::vector<std::vector<int>>& chains) {
  std::string text;
  for (const auto& chain : chains) {
    if (&chain != &chains.front()) text += " |";
    for (int node : chain)
      text += " " + program.nodes()[static_cast<size_t>(node)].names[0];
  }
  return text;
}

TEST(ApplierLayoutEnds, AreChainsOfValuesThatAreReadOnce) {
  struct Case {
    std::string program, openings, closings;
  };
  const Case kCases[] = {
      {"x: [4, 3, 5, 5]  w: const [6, 3, 1, 1]  t = Layout(x) (n 2) c h w -> n c h (2 w)  u = Conv(t, w)  "
       "y = Layout(u) n f h (2 w) -> (n 2) f h w",
       " t |", " y"},
      {"x: [2, 3]  a = Transpose(x) perm=[1, 0]  b = Pad(a) pads=[0, 1, 0, 1]  c = Relu(b)  y = Transpose(c) perm=[1, "
       "0]",
       " a b", " y"},
      {"x: [2, 3]  a = Transpose(x) perm=[1, 0]  y = Add(x, x)  z = Relu(a)  return y, z", "",
       " |"},  // x is read more than once
      {"x: [2, 2]  a = Transpose(x) perm=[1, 0]  y = Add(a, a)", " a", ""},
      {"x: [2, 3]  y = Relu(x)", "", ""},
      {"x: [2, 3]  a = Relu(x)  t = Transpose(a) perm=[1, 0]  b = Relu(t)  y = Concat(t, b) axis=0", "", ""},
      {"x: [2, 3]  a = Relu(x)  y = Transpose(a) perm=[1, 0]  z = Relu(y)  return y, z", "", " |"},  // y is read, too
      {"x: [2, 3]  a = Relu(x)  y = Transpose(a) perm=[1, 0]  z = Relu(a)  return y, z", "", " y |"},
      {"x: [2, 3]  y = Transpose(x) perm=[1, 0]", " y", ""},  // counted once
  };
  for (const Case& c : kCases) {
    Program program = parsed(c.program);
    LayoutEnds ends = layoutEnds(program);
    EXPECT_EQ(namesOf(program, ends.openings), c.openings) << c.program;
    EXPECT_EQ(namesOf(program, ends.closings), c.closings) << c.program;
  }
}

TEST(ApplierLayoutEnds, AChainAloneComputesWhatItDoesInTheProgram) {
  Program program = parsed(
      "x: [4, 3, 5, 5]  w: const [6, 3, 1, 1]  s = Slice(x) axes=[1] starts=[0] ends=[3]  "
      "t = Layout(s) (n 2) c h w -> n c h (2 w)  u = Conv(t, w)  "
      "v = Layout(u) n f h (2 w) -> (n 2) f h w  y = Pad(v) pads=[0, 0, 1, 1, 0, 0, 1, 1]");
  LayoutEnds ends = layoutEnds(program);
  ASSERT_EQ(namesOf(program, ends.openings), " s t |");
  ASSERT_EQ(namesOf(program, ends.closings), " v y");
  for (const auto& nodes : {ends.openings[0], ends.closings[0]}) {
    Program chain = layoutChain(program, nodes);
    ASSERT_EQ(chain.inputs().size(), 1U);
    Value from = program.nodes()[static_cast<size_t>(nodes.front())].operands[0], to{nodes.back(), 0};
    EXPECT_EQ(chain.shape(chain.inputs()[0]), program.shape(from));
    EXPECT_EQ(chain.shape(chain.outputs()[0]), program.shape(to));
    EXPECT_EQ(chain.nodes().size(), nodes.size() + 1);
    // As a program whose input is what the chain reads: the same nodes give the same values.
    std::map<std::string, Tensor<float>> inputs{
        {chain.name(chain.inputs()[0]), integers(concrete(program.shape(from)), 3)}};
    auto alone = evaluate<float>(chain, {}, inputs);
    ASSERT_TRUE(alone.has_value()) << alone.error().message();
    Tensor<float> at = inputs.begin()->second;
    for (int node : nodes) {
      auto next = evaluateNode<float>(program, node, {}, {&at});
      ASSERT_TRUE(next.has_value());
      at = (*next)[0];
    }
    EXPECT_EQ((*alone)[0].data, at.data);
  }
}

}  // namespace
}  // namespace pet::applier_layouts_test
