// Operators by their definitions, and laws of functions: what is unfolded keeps its value. Against the kernels, for the
// prover's and for the checker's side.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rules/check/check.h"
#include "rules/check/meaning/function.h"
#include "rules/text.h"
#include "tests/unit/denotation_value.h"
#include "tests/unit/random_programs.h"
#include "tests/unit/text_file.h"

namespace pet::unfold_test {
namespace {

using ::testing::HasSubstr;

Program parsed(const std::string& text) {
  auto program = parseProgram(text, "case");
  EXPECT_TRUE(program) << text << ": " << (program ? "" : program.error().message());
  return program ? *program : *parseProgram("x: [N]\ny = Neg(x)", "");
}

Unfold all(const Program& program) {
  auto known = unfoldable(program);
  if (!known) return {};
  Unfold result = known->definitions;
  result.insert(known->laws.begin(), known->laws.end());
  result.emplace(kMultiples);
  return result;
}

bool has(const Program& program, std::string_view op) {
  return std::any_of(program.nodes().begin(), program.nodes().end(), [&](const Node& n) { return n.op->name == op; });
}

const char* const kDefined[] = {
    "Abs(x)",
    "Clip(x) min=-1 max=2",
    "Clip(x) min=0.1",
    "Clip(x) max=0.1",
    "Clip(x) max=0",
    "Clip(x)",
    "Clip(x) min=0",
    "Clip(x) min=-2 max=0",
    "Elu(x)",
    "Elu(x) alpha=-0.5",
    "Gelu(x)",
    "Gelu(x) approximate=tanh",
    "HardSigmoid(x)",
    "HardSigmoid(x) alpha=-3 beta=0.25",
    "HardSwish(x)",
    "LeakyRelu(x)",
    "Mish(x)",
    "Tanh(p)",
    "Swish(x)",
    "Swish(x) alpha=-1.5",
    "LeakyRelu(x) alpha=-2",
    "PRelu(x, s)",
    "Max(x, m)",
    "Max(m, x)",
    "Selu(x)",
    "Selu(x) alpha=-0.5 gamma=3",
    "Sigmoid(x)",
    "Sigmoid(d)",
    "Softplus(x)",
    "Square(x)",
};

TEST(Unfold, DefinitionsAreTheOperators) {
  const Tensor<double> x({13}, {-7, -3.5, -3, -2.25, -1, -0.25, 0, 0.1, 0.5, 1, 2.75, 3, 8}), s({1}, {0.375});
  for (const std::string call : kDefined) {
    const std::string op = call.substr(0, call.find('('));
    const Program program = parsed(
        "x: [13]\ns: [1]\nd = Sub(x, s)\np = Softplus(x)\nc = Clip(s) min=0.25 max=1\nm = Mul(c, x)\ny = " + call);
    auto ours = lower(program, {op});
    auto checkers = check::expanded(program, {op});
    ASSERT_TRUE(ours && checkers) << call;
    auto want = evaluate<double>(program, {}, {{"x", x}, {"s", s}});
    for (const Program* unfolded : {&*ours, &*checkers}) {
      EXPECT_FALSE(has(*unfolded, op)) << call;
      auto got = evaluate<double>(*unfolded, {}, {{"x", x}, {"s", s}});
      ASSERT_TRUE(want && got) << call;
      for (size_t i = 0; i < x.data.size(); ++i)
        EXPECT_NEAR((*got)[0].data[i], (*want)[0].data[i], 1e-12) << call << " at " << x.data[i];
    }
  }
}

TEST(Unfold, WithoutADefinitionAnOperatorStays) {
  for (const std::string call : {"LeakyRelu(x) alpha=inf", "Swish(x) alpha=inf", "HardSigmoid(x) alpha=-inf",
                                 "Clip(x) min=inf", "Clip(x) max=-inf", "Tanh(x)", "Max(x, h)", "Max(x, x)"}) {
    const std::string op = call.substr(0, call.find('('));
    const Program program = parsed("x: [2]\nt = Clip(x) min=0 max=1.5\nh = Mul(x, t)\ny = " + call);
    auto ours = lower(program, {op});
    auto checkers = check::expanded(program, {op});
    ASSERT_TRUE(ours && checkers) << call;
    EXPECT_TRUE(has(*ours, op) && has(*checkers, op)) << call;
  }
}

const char* const kPrograms[] = {
    "x: [N, W]\nc: [N, 1]\nt = Add(x, c)\ny = Softmax(t) axis=1",
    "x: [N, W]\nm = ReduceMax(x) axes=[1]\nt = Sub(x, m)\ny = Softmax(t) axis=1",
    "x: [N, W]\nc: [N, 1]\nr: [1, W]\nt = Add(x, c)\nu = Sub(t, r)\ny = Exp(u)",
    "x: [W, W]\nc: [W, 1]\nm = Band() shape=[W, W] lower=W upper=0\ni = Constant() value=-inf\nt = Add(x, c)\n"
    "u = Where(m, t, i)\ny = Softmax(u) axis=1",
    "x: [N, W]\ne = Exp(x)\nr = Reciprocal(e)\nt = Mul(r, e)\nu = Mul(t, x)\ny = Mul(u, r)",
    "x: [N, W]\nc = Constant() value=-6\nt = Mul(x, x)\nu = Add(t, t)\nv = Sub(c, u)\ny = Reciprocal(v)",
    "x: [N, W]\nz: [N, W]\nt = Sub(z, x)\nu = Tanh(t)\nn = Neg(t)\nv = Relu(n)\nw = Erf(n)\na = Mul(u, v)\ny = Add(a, "
    "w)",
    "x: [N, W]\nn = Neg(x)\np = Pad(n) pads=[0, 1, 0, 1]\nt = Tanh(p)\nr = Relu(p)\ny = Add(t, r)",
    "x: [N, W]\nt = HardSwish(x)\nu = Gelu(t)\nv = LeakyRelu(u)\nw = HardSigmoid(v)\ny = Sigmoid(w)",
    "x: [N, W]\nn = Neg(x)\nt = Clip(n) min=-1 max=1\ny = ReduceMax(t) axes=[1]",
    "x: [N, W]\nc = Constant() value=0.75\nt = Mul(x, c)\nu = Mul(x, x)\nv = Add(u, u)\nw = Sub(t, v)\ny = Add(w, c)",
    "x: [N, W]\nr = Relu(x)\nm = ReduceMax(r) axes=[1]\nn = Neg(r)\ns = Square(n)\nt = Add(r, s)\nu = Relu(m)\n"
    "v = Relu(n)\nw = Relu(t)\na = Add(v, w)\ny = Add(a, u)",
    "x: [N, W]\ne = Exp(x)\nt = Add(e, e)\nr = Reciprocal(t)\nn = Neg(r)\na = Relu(r)\nb = Relu(n)\ny = Sub(a, b)",
    "x: [N, W]\ns: [W]\ny = LayerNormalization(x, s) axis=1 epsilon=0.5",
};

TEST(Unfold, LawsKeepTheValue) {
  for (const char* text : kPrograms) {
    const Program program = parsed(text);
    for (const Bindings& symbols : {Bindings{{"N", 1}, {"W", 1}}, Bindings{{"N", 2}, {"W", 3}}})
      EXPECT_TRUE(testing_support::denotationIsTheValue(program, symbols, 5, all(program)));
  }
}

RC_GTEST_PROP(UnfoldProperty, KeepsTheValue, ()) {
  auto p = *testing_support::randomProgram(5, testing_support::Vocabulary::kFunctions);
  RC_LOG() << print(p.program);
  NameSource names;
  const Unfold unfold = all(p.program);
  if (!denote(p.program, p.program.outputs()[0], names, unfold)) RC_DISCARD("beyond the calculus");
  auto result = testing_support::denotationIsTheValue(p.program, p.symbols, 3, unfold);
  RC_LOG() << result.message();
  RC_ASSERT(static_cast<bool>(result));
}

// --- Records ---

constexpr const char* kRule = R"(pattern p {
  shape N W
  x: [N, W]
  y = Square(x)
}

rule r of p {
  class N W : 1 <= N, 1 <= W
  numerics unbounded, spreads NaN
  replacement {
    y = Mul(x, x)
  }
  proof {
    unfold Square
    forward 0 -> 0 []
    backward 0 -> 0 []
  }
}
)";

std::string verdictOf(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  auto set = parseRules(text, "text");
  if (!set) return set.error().message();
  CheckReport report = checkRule(set->patterns[0], set->rules[0]);
  return report.proved() ? "proved" : report.reason();
}

TEST(Unfold, ARecordSaysWhat) {
  EXPECT_EQ(verdictOf(kRule, "unfold Square\n", "unfold Square\n"), "proved");
  EXPECT_EQ(verdictOf(kRule, "unfold Square\n", "unfold Gelu, Square\n"), "proved");
  EXPECT_NE(verdictOf(kRule, "unfold Square\n", ""), "proved");
  EXPECT_NE(verdictOf(kRule, "unfold Square\n", "unfold Gelu\n"), "proved");
  for (const char* op : {"Conv", "Sqrt", "Square'", "Frobnicate"})
    EXPECT_EQ(verdictOf(kRule, "unfold Square\n", "unfold " + std::string(op) + "\n"),
              "unfold " + std::string(op) + ": no operator with a definition or a law");
  EXPECT_THAT(verdictOf(kRule, "unfold Square\n", "unfold Square, Gelu\n"), HasSubstr("in order, each once"));
  EXPECT_THAT(verdictOf(kRule, "unfold Square\n", "unfold Square, Square\n"), HasSubstr("in order, each once"));
  EXPECT_THAT(verdictOf(kRule, "unfold Square\n", "forward 0 -> 0 []\n unfold Square\n"), HasSubstr("expected"));
}

TEST(Unfold, RoundingIsThatOfTheDefinition) {
  for (const char* said : {"bit-equal", "same-terms", "conditioned 1e30", "unbounded"})
    EXPECT_EQ(verdictOf(kRule, "unbounded, spreads NaN", said), "proved");
}

/// A bound is for alternatives of maxima alone.
TEST(Unfold, ABoundIsNoEquation) {
  EXPECT_THAT(verdictOf(kRule, "forward 0 -> 0", "forward 0 <= 0"), HasSubstr("expected"));
  auto set = parseRules(kRule, "text");
  ASSERT_TRUE(set);
  set->rules[0].proofs[0].forward[0].atMost = true;
  EXPECT_THAT(checkRule(set->patterns[0], set->rules[0]).reason(), HasSubstr("a bound instead of an equation"));
}

}  // namespace
}  // namespace pet::unfold_test
