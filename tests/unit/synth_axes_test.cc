#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/synth_support.h"

namespace pet::synth_axes_test {
namespace {

using testing_support::convText;

std::string text(const Axis& a) {
  switch (a.kind) {
    case Axis::Kind::kEqual:
      return fmt::format("{} equal {}", a.name, a.inExtent.str());
    case Axis::Kind::kGroup:
      return fmt::format("{} group {}", a.name, a.inExtent.str());
    case Axis::Kind::kReduce:
      return fmt::format("{} sum {}", a.name, a.inExtent.str());
    case Axis::Kind::kOut:
      return fmt::format("{} out {}", a.name, a.outExtent.str());
    case Axis::Kind::kWindow:
      return fmt::format("{} window {} -> {} by {}: {} = 0", a.name, a.inExtent.str(), a.outExtent.str(), a.taps.str(),
                         a.relation.str());
  }
  return "";
}

struct Analysed {
  std::string pattern;
  std::string axes;
};

const Analysed kAnalysed[] = {
    {"conv",
     "n equal N | c sum C | f out F | h window H -> H + 2P - R + 1 by R: P + x - r - v = 0 | w window W -> 2Q + W - S "
     "+ 1 by S: Q + x - r - v = 0"},
    {"conv-s2",
     "n equal N | c sum C | f out F | h window H -> floor((H + P + PE + R)/2) - R + 1 by R: P + x - r - 2v = 0 | w "
     "window W -> floor((Q + QE + S + W)/2) - S + 1 by S: Q + x - r - 2v = 0"},
    {"conv-d2",
     "n equal N | c sum C | f out F | h window H -> H + 2P - 2R + 2 by R: P + x - 2r - v = 0 | w window W -> 2Q + W - "
     "2S + 2 by S: Q + x - 2r - v = 0"},
    {"conv-1x1", "n equal N | h equal H | w equal W | c sum C | f out F"},
    {"conv-1x1-s2",
     "n equal N | c sum C | f out F | h window H -> H - floor((H)/2) by 1: x - r - 2v = 0 | w window W -> W - "
     "floor((W)/2) by 1: x - r - 2v = 0"},
    {"conv-grouped",
     "n equal N | g group G | c sum C | f out F | h window H -> H + 2P - R + 1 by R: P + x - r - v = 0 | w window W -> "
     "2Q + W - S + 1 by S: Q + x - r - v = 0"},
    {"convtranspose",
     "n equal N | c sum C | f out F | h window H -> H + R - 2P - 1 by R: r + x - P - v = 0 | w window W -> S + W - 2Q "
     "- 1 by S: r + x - Q - v = 0"},
    {"convtranspose-s2",
     "n equal N | c sum C | f out F | h window H -> 2H + R - P - PE - 2 by R: r + 2x - P - v = 0 | w window W -> "
     "S + 2W - Q - QE - 2 by S: r + 2x - Q - v = 0"},
    {"matmul", "b equal B | m equal M | k sum K | n out N"},
    {convText("Conv(x, w) pads=[P, 0, 0, Q] strides=[2, 1] dilations=[3, 1]"),
     "n equal N | c sum C | f out F | h window H -> floor((H + P + R)/2) - 2R + 2 by R: P + x - 3r - 2v = 0 | w window "
     "W -> Q + W - S + 1 by S: x - r - v = 0"},
};

TEST(SynthAxes, AreReadOffTheDenotation) {
  for (const Analysed& c : kAnalysed) {
    auto m = analyse(testing_support::pattern(c.pattern).program);
    ASSERT_TRUE(m) << c.pattern;
    std::string axes;
    for (const Axis& a : m->axes)
      axes += (axes.empty() ? "" : " | ") + text(a);
    EXPECT_EQ(axes, c.axes) << c.pattern;
    EXPECT_EQ(m->program.name(m->x), "x");
    EXPECT_EQ(m->program.name(m->w), "w");
  }
}

TEST(SynthAxes, PlacesAreDigitsOfTheTensors) {
  auto m = analyse(testing_support::pattern("conv-grouped").program);
  ASSERT_TRUE(m);
  auto places = [](const Axis* a) {
    return fmt::format("{}.{} {}.{} {}.{}", a->in.dim, a->in.atom, a->weight.dim, a->weight.atom, a->out.dim,
                       a->out.atom);
  };
  EXPECT_EQ(places(m->find("g")), "1.0 0.0 1.0");
  EXPECT_EQ(places(m->find("c")), "1.1 1.0 -1.0");
  EXPECT_EQ(places(m->find("f")), "-1.0 0.1 1.1");
  EXPECT_EQ(places(m->find("w")), "3.0 3.0 3.0");
  EXPECT_EQ(m->find("z"), nullptr);
}

struct Refused {
  std::string pattern, why;
};

const Refused kRefused[] = {
    {convText("Add(x, x)"), "not one product"},
    {convText("MaxPool(x) kernel_shape=[2, 2]"), "not one product"},
    {convText("Relu(x)"), "not one product"},
    {convText("Conv(a, w)", "[F, C, R, S]\n a = Add(x, x)"), "not one product"},
    {convText("Conv(a, w)", "[F, C, R, S]\n a = ReduceMean(x) axes=[2]"), "not one product"},
    {"pattern p { shape N\n x: [N, N]\n w: const [N, N]\n a = MatMul(w, w)\n y = Add(a, x) }", "not one product"},
    {"pattern p { shape N\n x: [N, N]\n w: const [N, N]\n a = MatMul(w, w) }", "not one product"},
    {"pattern p { shape N C\n x: [N, C]\n y = Add(x, x) }", "not one activation and one weight"},
    {"pattern p { shape N\n x: [N, N]\n v: [N, N]\n w: const [N, N]\n y = MatMul(x, w) }",
     "not one activation and one weight"},
    {"pattern p { shape N\n x: [N, N]\n z: [N, N]\n y = MatMul(x, z) }", "not one activation and one weight"},
    {"pattern p { shape N\n v: const [N, N]\n w: const [N, N]\n y = MatMul(v, w) }",
     "not one activation and one weight"},
    {convText("Conv(a, w)", "[F, C, R, S]\n a = Relu(x)"), "not one product"},
};

TEST(SynthAxes, OtherProgramsAreErrors) {
  for (const Refused& c : kRefused) {
    auto m = analyse(testing_support::pattern(c.pattern).program);
    ASSERT_FALSE(m) << c.pattern;
    EXPECT_EQ(m.error().kind, ErrorKind::kUnsupported);
    EXPECT_THAT(m.error().what, ::testing::HasSubstr(c.why));
  }
}

}  // namespace
}  // namespace pet::synth_axes_test
