// What programs ask of a GPU, and what is guessed of rules by it.

#include "rules/gain/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "ir/text.h"
#include "rules/gain/steps.h"
#include "rules/text.h"

namespace pet::roofline_test {
namespace {

Program programOf(const std::string& text) {
  auto program = parseProgram(text, "test");
  EXPECT_TRUE(program) << text << ": " << program.error().message();
  return program ? *program : Program();
}

/// "y1 y: conv 256, 80 elements; …": each step's nodes, multiply-adds, and what it reads and writes.
std::string stepsText(const Program& program, const Bindings& symbols = {}) {
  auto steps = deviceSteps(program, symbols);
  if (!steps) return steps.error().what;
  std::vector<std::string> texts;
  for (const DeviceStep& step : *steps) {
    std::vector<std::string> names;
    for (int n : step.nodes)
      names.push_back(program.nodes()[static_cast<size_t>(n)].names[0]);
    std::string text = fmt::format("{}:", fmt::join(names, " "));
    if (step.gemm > 0) text += fmt::format(" gemm {},", step.gemm);
    if (step.conv > 0) text += fmt::format(" conv {},", step.conv);
    texts.push_back(text + fmt::format(" {} elements", step.elements));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

struct Case {
  const char* program;
  const char* steps;
};

constexpr Case kCases[] = {
    // A product with what follows it; the weights are read, too.
    {"x: [4, 8]\nw: const [8, 2]\ny = MatMul(x, w)", "y: gemm 64, 56 elements"},
    {"x: [4, 8]\nw: const [8, 2]\nb: const [2]\nt = MatMul(x, w)\ns = Add(t, b)\ny = Relu(s)",
     "t s y: gemm 64, 58 elements"},
    {"x: [1, 2, 4, 4]\nw: const [3, 2, 1, 1]\ny = Conv(x, w)", "y: conv 96, 86 elements"},
    // A value that is read twice is stored, and a sum with it reads it again.
    {"x: [4, 4]\nw: const [4, 4]\nt = MatMul(x, w)\nr = Relu(t)\ny = Add(r, t)",
     "t: gemm 64, 48 elements; r y: 32 elements"},
    // Two products of one value are two steps; their sum is one with the second.
    {"x: [4, 4]\nv: const [4, 4]\nw: const [4, 4]\na = MatMul(x, v)\nb = MatMul(x, w)\ny = Add(a, b)",
     "a y: gemm 64, 64 elements; b: gemm 64, 48 elements"},
    // Layouts and functions one after the other are one pass; behind a product a layout is a pass of its own.
    {"x: [4, 6]\nt = Transpose(x) perm=[1, 0]\nr = Relu(t)\ny = Transpose(r) perm=[1, 0]", "t r y: 48 elements"},
    {"x: [4, 4]\nw: const [4, 4]\nt = MatMul(x, w)\ny = Transpose(t) perm=[1, 0]",
     "t: gemm 64, 48 elements; y: 32 elements"},
    // What moves nothing is no step, and what leaves something out does not read it.
    {"x: [4, 6]\ny = Reshape(x) shape=[24]", ""},
    {"x: [4, 4]\nw: const [4, 4]\nt = MatMul(x, w)\nr = Reshape(t) shape=[16]\ny = Relu(r)",
     "t r y: gemm 64, 48 elements"},
    {"x: [8, 6]\ny = Slice(x) axes=[0] starts=[0] ends=[2]", "y: 24 elements"},
    // What is computed of constants is none either.
    {"x: [2, 4]\nv: const [4, 4]\nw: const [4, 4]\nk = MatMul(v, w)\ny = MatMul(x, k)", "y: gemm 32, 32 elements"},
    {"x: [4, 8]\ny = ReduceSum(x) axes=[1]", "y: 36 elements"},
};

TEST(DeviceSteps, AreWhatIsComputedInOneGo) {
  for (const Case& c : kCases)
    EXPECT_EQ(stepsText(programOf(c.program)), c.steps) << c.program;
}

TEST(DeviceSteps, NeedExtents) {
  const Program program = programOf("x: [N, 8]\ny = Relu(x)");
  EXPECT_EQ(stepsText(program, {{"N", 3}}), "y: 48 elements");
  EXPECT_EQ(stepsText(program), "its extents are not known");
  EXPECT_EQ(stepsText(program, {{"N", -1}}), "its extents are not known");
}

/// 1 GFLOP/s, 1 GB/s, a microsecond a step.
const Ceiling kSlow{{1e9, 1e9, 1e9}, 1e-6, 4};

double least(const std::string& text, const Ceiling& ceiling) {
  return leastSeconds(programOf(text), {}, ceiling).value();
}

TEST(LeastSeconds, AStepTakesTheLongerOfComputingAndMoving) {
  const std::string product = "x: [100, 100]\nw: const [100, 100]\ny = MatMul(x, w)";
  EXPECT_DOUBLE_EQ(least(product, kSlow), 2e6 / 1e9 + 1e-6);
  EXPECT_DOUBLE_EQ(least(product, {{1e12, 1e9, 1e9}, 1e-6, 4}), 4 * 3e4 / 1e9 + 1e-6);
  EXPECT_DOUBLE_EQ(least(product, {{1e12, 1e9, 1e9}, 1e-6, 2}), 2 * 3e4 / 1e9 + 1e-6);
  EXPECT_FLOAT_EQ(least("x: [1]\nt = ReduceSum(x) axes=[0]\ny = ReduceSum(t) axes=[0]", {{1e9, 1e9, 1e20}, 1e-6, 4}),
                  2e-6);
}

TEST(LeastSeconds, NeedRates) {
  const auto unknown = leastSeconds(programOf("x: [1]\ny = Relu(x)"), {}, {{1, 1, 0}, 0, 4});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "the rates are not known");
}

TEST(Load, IsWhatSecondsAreDividedInto) {
  const Program program = programOf(
      "x: [4, 8]\nw: const [8, 2]\nu: const [8, 2]\nv = Relu(u)\ns = Add(w, v)\nt = MatMul(x, s)\ny = Relu(t)");
  auto load = loadOf(program, {});
  ASSERT_TRUE(load) << load.error().message();
  EXPECT_EQ(load->gemm, 2 * 64);
  EXPECT_EQ(load->conv, 0);
  EXPECT_EQ(load->bytes, 4 * (32 + 16 + 8) + 2 * 4 * 8) << "of weights alone a result is read, and nothing else";
  EXPECT_DOUBLE_EQ(*rooflineSeconds(*load, {64, 1, 288}), 2 + 1);
  EXPECT_DOUBLE_EQ(*rooflineSeconds(*load, {0, 32, 288}), 4 + 1) << "by the rate of Convs";
  EXPECT_FALSE(rooflineSeconds(*load, {64, 1, 0}));
  EXPECT_FALSE(rooflineSeconds(*load, {0, 0, 288}));
  EXPECT_FALSE(loadOf(programOf("x: [N]\ny = Relu(x)"), {}));
}

constexpr const char* kTwoProducts = R"(
pattern pair {
  shape M K N
  x: [M, K]
  v: const [K, N]
  w: const [K, N]
  a = MatMul(x, v)
  b = MatMul(x, w)
  y = Add(a, b)
}
rule pair/one of pair {
  family f
  depth 2
  class M K N : 2 <= M
  replacement {
    s = Add(v, w)
    y = MatMul(x, s)
  }
}
)";

TEST(GuessedCost, IsMarked) {
  const auto parsed = parseRules(kTwoProducts, "test");
  ASSERT_TRUE(parsed) << parsed.error().message();
  const RuleSet& rules = *parsed;
  const Bindings shapes{{"M", 64}, {"K", 64}, {"N", 64}};
  const auto cost = guessedCost(rules.patterns[0], rules.rules[0], shapes, kSlow);
  ASSERT_TRUE(cost) << cost.error().message();
  EXPECT_TRUE(cost->guessed);
  EXPECT_FALSE(cost->measured);
  EXPECT_DOUBLE_EQ(cost->ratio(), 2);
  EXPECT_DOUBLE_EQ(cost->lower, 2 / kGuessMargin);
  EXPECT_EQ(cost->layouts, 0);
  EXPECT_FALSE(guessedCost(rules.patterns[0], rules.rules[0], {{"M", 1}, {"K", 64}, {"N", 64}}, kSlow))
      << "outside of the class";
  EXPECT_FALSE(guessedCost(rules.patterns[0], rules.rules[0], {{"M", 64}}, kSlow));
}

}  // namespace
}  // namespace pet::roofline_test
