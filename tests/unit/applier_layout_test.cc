// Layouts as maps: regrouping, composition, and what a cleaned-up view still computes.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "applier/clean/simplify.h"
#include "ir/layout_algebra.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/random_programs.h"

namespace pet::applier_layout_test {
namespace {

using namespace testing_support;

LayoutSpec layoutOf(const std::string& text) {
  Program program = parsed(text);
  return std::get<LayoutSpec>(program.nodes().back().attributes.find("layout")->second);
}

std::string reducedText(const std::string& text) {
  return print(reduced(layoutOf(text)));
}

TEST(ApplierRegroup, FindsTheRegroupingOfAReshape) {
  struct Case {
    Extents from, to;
    bool found;
  };
  const Case kCases[] = {
      {{4, 6}, {2, 2, 6}, true}, {{4, 6}, {24}, true},        {{2, 3, 4}, {6, 4}, true}, {{4, 3}, {6, 2}, false},
      {{4, 6}, {8, 3}, true},    {{1, 5, 1}, {5}, true},      {{5}, {1, 1, 5}, true},    {{}, {1, 1}, true},
      {{2, 3}, {7}, false},      {{0, 3}, {0}, false},        {{1}, {}, true},           {{2, 3}, {2, 3}, true},
      {{6, 4}, {4, 6}, false},   {{2, 6, 2}, {4, 3, 2}, true}};
  for (const Case& c : kCases) {
    auto layout = regroup(shapeOf(c.from), shapeOf(c.to));
    ASSERT_EQ(layout.has_value(), c.found) << str(c.from) << " to " << str(c.to);
    if (!layout) continue;
    EXPECT_TRUE(movesNothing(*layout));
    ProgramBuilder builder;
    Value x = builder.input("x", shapeOf(c.from));
    auto y = builder.add("Layout", {x}, {{"layout", *layout}});
    ASSERT_TRUE(y.has_value()) << y.error().message();
    EXPECT_EQ(concrete(builder.shape(*y)), c.to);
  }
}

TEST(ApplierRegroup, WorksWithSymbols) {
  auto shape = [](std::string_view text) {
    return parsed("x: " + std::string(text) + "  y = Relu(x)").nodes()[0].shapes[0];
  };
  struct Case {
    std::string_view from, to;
    bool found;
  };
  const Case kCases[] = {{"[B, S, 12]", "[B, S, 3, 4]", true},   {"[B, S, 12]", "[(B S), 12]", true},
                         {"[(B S), 12]", "[B, S, 12]", true},    {"[B, 512, 1, 1]", "[B, 512]", true},
                         {"[B, 2S]", "[B, 2, S]", true},         {"[B, S]", "[S, B]", false},
                         {"[B, 6]", "[2, (B 3)]", false},        {"[B, S]", "[B, T]", false},
                         {"[B, S + 1]", "[(B {S + 1})]", true},  {"[4B, 3]", "[B, 12]", true},
                         {"[B, H, W, 4]", "[B, (H W), 4]", true}};
  for (const Case& c : kCases) {
    auto layout = regroup(shape(c.from), shape(c.to));
    ASSERT_EQ(layout.has_value(), c.found) << c.from << " to " << c.to;
    if (!layout) continue;
    EXPECT_TRUE(movesNothing(*layout));
    ProgramBuilder builder;
    auto y = builder.add("Layout", {builder.input("x", shape(c.from))}, {{"layout", *layout}});
    ASSERT_TRUE(y.has_value()) << y.error().message();
    EXPECT_EQ(builder.shape(*y), shape(c.to)) << c.from << " to " << c.to;
  }
}

TEST(ApplierRegroup, KeepsAsFewAxesAsPossible) {
  EXPECT_EQ(reducedText("x: [4, 3, 5]  y = Layout(x) (n 2) c h -> (n 2) (c h)"),
            reducedText("x: [4, 3, 5]  y = Layout(x) n c h -> n (c h)"));
  EXPECT_TRUE(movesNothing(layoutOf("x: [4, 3]  y = Layout(x) (n 2) c -> n 2 c")));
  EXPECT_FALSE(movesNothing(layoutOf("x: [4, 3]  y = Layout(x) (n 2) c -> 2 n c")));
  EXPECT_TRUE(movesNothing(layoutOf("x: [4, 1, 3]  y = Layout(x) a b c -> b a c")));
  EXPECT_EQ(asTranspose(layoutOf("x: [4, 2, 3]  y = Layout(x) a b c -> c a b")), (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(asTranspose(layoutOf("x: [4, 1, 3]  y = Layout(x) a b c -> c b a")), (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(asTranspose(layoutOf("x: [4, 2, 3]  y = Layout(x) a b c -> (c a) b")), std::nullopt);
  EXPECT_EQ(asTranspose(layoutOf("x: [4, 2]  y = Layout(x) (n 2) b -> (2 n) b")), std::nullopt);
}

// --- Property: a composition computes what its parts do ---

Tensor<float> applied(const LayoutSpec& layout, const Tensor<float>& x) {
  ProgramBuilder builder;
  Value in = builder.input("x", shapeOf(x.extents));
  auto y = builder.add("Layout", {in}, {{"layout", layout}});
  RC_ASSERT(y.has_value());
  auto out = evaluate<float>(std::move(builder).finish({*y}), {}, {{"x", x}});
  RC_ASSERT(out.has_value());
  return out->at(0);
}

RC_GTEST_PROP(ApplierRegroup, CompositionsComputeWhatTheirPartsDo, ()) {
  Extents extents;
  for (int64_t rank = draw(1, 3); rank-- > 0;)
    extents.push_back(draw(1, 12));
  Tensor<float> x(extents);
  for (size_t i = 0; i < x.data.size(); ++i)
    x.data[i] = static_cast<float>(i);
  LayoutSpec first = drawLayout(extents);
  Tensor<float> between = applied(first, x);
  LayoutSpec second = drawLayout(between.extents);
  Tensor<float> expected = applied(second, between);
  RC_ASSERT(applied(reduced(first), x) == between);
  if (auto both = compose(first, second)) RC_ASSERT(applied(*both, x) == expected);
  if (auto perm = asTranspose(first)) {
    for (size_t d = 0; d < perm->size(); ++d)
      RC_ASSERT(between.extents[d] == extents[static_cast<size_t>((*perm)[d])]);
  }
}

// --- Clean-up ---

struct Case {
  std::string program, simplified;
};

const Case kCases[] = {
    {"x: [2, 3]  a = Layout(x) n c -> c n  b = Layout(a) c n -> n c  y = Relu(b)", "Relu"},
    {"x: [4, 3]  a = Layout(x) (n 2) c -> n 2 c  b = Layout(a) n p c -> p (n c)  y = Relu(b)", "Layout Relu"},
    {"x: [4, 3]  a = Transpose(x) perm=[1, 0]  b = Reshape(a) shape=[3, 2, 2]  y = Relu(b)", "Layout Relu"},
    {"x: [4, 3]  a = Layout(x) a b -> (a b)  b = Reshape(a) shape=[6, 2]  c = Relu(b)  y = Reshape(c) shape=[4, 3]",
     "Layout Reshape Relu Reshape"},
    {"x: [4, 3]  a = Slice(x) axes=[0] starts=[0] ends=[4]  b = Pad(a) pads=[0, 0, 0, 0]  c = Concat(b) axis=1  y = "
     "Relu(c)",
     "Relu"},
    {"x: [4, 3]  a = Slice(x) axes=[0] starts=[1] ends=[1]  b = Relu(a)  y = Concat(b, x) axis=0  z = Relu(y)", "Relu"},
    {"x: [4, 3]  z: [2, 3]  a = Concat(x, z, x) axis=0  b = Slice(a) axes=[0] starts=[4] ends=[6]  y = Relu(b)",
     "Relu"},
    // Neighbouring parts of one value, in their order and without gaps.
    {"x: [4, 3]  a = Slice(x) axes=[0] starts=[0] ends=[1]  b = Slice(x) axes=[0] starts=[1] ends=[4]  c = Concat(a, "
     "b) axis=0  y = "
     "Relu(c)",
     "Relu"},
    {"x: [4, 3]  a = Slice(x) axes=[0, 1] starts=[1, 0] ends=[4, 2]  b = Slice(x) axes=[0, 1] starts=[1, 2] ends=[4, "
     "3]  c = "
     "Concat(a, b) axis=1  d = Slice(x) axes=[0] starts=[0] ends=[1]  e = Concat(d, c) axis=0  y = Relu(e)",
     "Relu"},
    {"x: [4, 3]  a = Slice(x) axes=[0] starts=[0] ends=[1]  b = Slice(x) axes=[0] starts=[1] ends=[3]  c = Concat(a, "
     "b) axis=0  y = "
     "Relu(c)",
     "Slice Relu"},
    {"x: [4, 3]  a = Slice(x) axes=[0] starts=[0] ends=[1]  b = Slice(x) axes=[0] starts=[2] ends=[4]  c = Concat(a, "
     "b) axis=0  y = "
     "Relu(c)",
     "Slice Slice Concat Relu"},
    {"x: [4, 3]  a = Slice(x) axes=[0] starts=[0] ends=[4] steps=[2]  b = Slice(x) axes=[0] starts=[2] ends=[4]  c = "
     "Concat(a, b) "
     "axis=0  y = Relu(c)",
     "Slice Slice Concat Relu"},
    {"x: [4, 3]  z: [4, 3]  a = Slice(x) axes=[0] starts=[0] ends=[1]  b = Slice(z) axes=[0] starts=[1] ends=[4]  c = "
     "Concat(a, b) "
     "axis=0  y = Relu(c)",
     "Slice Slice Concat Relu"},
    {"x: [4, 3]  z: [2, 3]  a = Concat(x, z, x) axis=0  b = Slice(a) axes=[0] starts=[3] ends=[6]  y = Relu(b)",
     "Concat Slice Relu"},
    // An output keeps its name although it is an input: an Identity.
    {"x: [2, 3]  a = Layout(x) n c -> c n  y = Layout(a) c n -> n c", "Identity"},
    // Functions move in front of layouts, to what computes.
    {"x: [2, 2, 4, 4]  w: const [3, 2, 3, 3]  u = Conv(x, w)  a = Layout(u) n f h w -> f n h w  y = Relu(a)",
     "Conv Relu Layout"},
    {"x: [2, 2, 4, 4]  w: const [3, 2, 3, 3]  b: const [3, 1, 1]  u = Conv(x, w)  a = Layout(u) n f h w -> n f (h w) 1 "
     " c = Add(a, b)  y = Relu(c)",
     "Conv Add Relu Layout"},
    {"x: [2, 2, 4, 4]  w: const [3, 2, 3, 3]  b: const [3, 1, 1]  u = Conv(x, w)  p = Slice(u) axes=[3] starts=[1] "
     "ends=[2]  q = Slice(u) axes=[3] "
     "starts=[0] ends=[1]  a = Concat(p, q) axis=3  y = Add(a, b)",
     "Conv Add Slice Slice Concat"},
    {"x: [2, 4, 3]  w: const [2, 3, 5]  c: const [5, 4]  u = MatMul(x, w)  a = Layout(u) n m k -> n k m  y = Add(a, c)",
     "MatMul Layout Add"},
    // … with channels that are one digit of several: the constant is spread over the others.
    {"x: [1, 2, 4, 4]  w: const [12, 2, 3, 3]  b: const [3, 1, 1]  u = Conv(x, w)  a = Layout(u) n (p:4 f) h w -> (p "
     "n) f h w  y = Add(a, b)",
     "Conv Add Layout"},
    {"x: [1, 2, 4, 4]  w: const [12, 2, 3, 3]  b: const [6, 1, 1]  u = Conv(x, w)  a = Layout(u) n (f:3 p:2 g:2) h w "
     "-> (p n) (g f) h w  y = Add(a, b)",
     "Conv Add Layout"},
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  b: const [8, 1, 1]  u = Conv(x, w)  a = Layout(u) n f (h) w -> n (f h w) "
     "1 1  e = Slice(a) axes=[1] "
     "starts=[0] ends=[8]  y = Add(e, b)",
     "Conv Layout Slice Add"},
    // Along the channels a Concat takes each its part of the constant.
    {"x: [1, 2, 4, 4]  v: const [1, 2, 3, 3]  w: const [2, 2, 3, 3]  b: const [3, 1, 1]  p = Conv(x, v)  q = Conv(x, "
     "w)  a = Concat(p, q) axis=1  "
     "y = Add(a, b)",
     "Conv Conv Add Add Concat"},
    // Blocks of a DepthToSpace have the constant each.
    {"x: [1, 2, 4, 4]  v: const [6, 2, 3, 3]  w: const [6, 2, 3, 3]  b: const [3, 1, 1]  p = Conv(x, v)  q = Conv(x, "
     "w)  a = Concat(p, q) axis=1  d = DepthToSpace(a) blocksize=2  e = Add(d, b)  y = Relu(e)",
     "Conv Conv Add Add Relu Relu Concat DepthToSpace"},
    {"x: [1, 2, 4, 4]  w: const [12, 2, 3, 3]  b: const [3, 1, 1]  p = Conv(x, w)  d = DepthToSpace(p) blocksize=2 "
     "mode=CRD  y = Add(d, b)",
     "Conv Add DepthToSpace"},
    // … of which one has one channel only, behind another layout.
    {"x: [1, 2, 4, 4]  v: const [1, 2, 3, 3]  w: const [2, 2, 3, 3]  b: const [3, 1]  p = Conv(x, v)  q = Conv(x, w)  "
     "r "
     "= Layout(p) n f h w -> n f (h w)  s = Layout(q) n f h w -> n f (h w)  a = Concat(r, s) axis=1  y = Add(a, b)",
     "Conv Conv Add Layout Add Layout Concat"},
    // A value that is met twice would take two constants.
    {"x: [1, 2, 4, 4]  w: const [2, 2, 3, 3]  b: const [4, 1, 1]  u = Conv(x, w)  a = Concat(u, u) axis=1  y = Add(a, "
     "b)",
     "Conv Concat Add"},
    {"x: [1, 2, 4, 4]  w: const [2, 2, 3, 3]  b: const [1]  u = Conv(x, w)  a = Concat(u, u) axis=1  y = Add(a, b)",
     "Conv Add Concat"},
    // Through a Pad only what keeps the fill.
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  u = Conv(x, w)  a = Pad(u) pads=[0, 0, 1, 1, 0, 0, 1, 1]  y = Relu(a)",
     "Conv Relu Pad"},
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  u = Conv(x, w)  a = Pad(u) pads=[0, 0, 1, 1, 0, 0, 1, 1]  y = Sigmoid(a)",
     "Conv Pad Sigmoid"},
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  u = Conv(x, w)  a = Pad(u) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode=edge  y = "
     "Sigmoid(a)",
     "Conv Sigmoid Pad"},
    // Not where somebody else reads what is between.
    {"x: [1, 2, 4, 4]  w: const [3, 2, 3, 3]  u = Conv(x, w)  a = Layout(u) n f h w -> n f (h w)  b = Relu(a)  y = "
     "Add(a, b)",
     "Conv Layout Relu Add"},
    // Two sites with a function between: closing and opening layout meet.
    {"x: [4, 2, 4, 4]  w: const [2, 2, 3, 3]  a = Layout(x) (n 2) c h w -> n c h (2 w)  u = Conv(a, w) pads=[1, 1, 1, "
     "1]  b = Layout(u) n c h (2 w) -> (n 2) "
     "c h w  r = Relu(b)  c = Layout(r) (n 2) c h w -> n c h (2 w)  v = Conv(c, w) pads=[1, 1, 1, 1]  y = Layout(v) n "
     "c h (2 w) -> (n 2) c h w",
     "Layout Conv Relu Conv Layout"},
};

TEST(ApplierSimplify, CleansUpAndComputesTheSame) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.program);
    Program program = parsed(c.program);
    Constants constants = constantsOf(program);
    View simple = simplify(newView(program));
    EXPECT_EQ(operators(simple), c.simplified);
    auto is = results(simple.program, constants), expected = results(program, constants);
    ASSERT_EQ(is.size(), expected.size());
    for (size_t i = 0; i < is.size(); ++i)
      EXPECT_EQ(is[i], expected[i]);
  }
}

TEST(ApplierSimplify, LeavesTheModelsOwnNodesAlone) {
  Model model = modelOf(
      "x: [2, 3]  a = Transpose(x) perm=[1, 0]  b = Transpose(a) perm=[1, 0]  c = Reshape(b) shape=[2, 3]  y = "
      "Relu(c)");
  View view = normalise(model.graph).view;
  EXPECT_EQ(operators(simplify(view)), operators(view));
}

}  // namespace
}  // namespace pet::applier_layout_test
