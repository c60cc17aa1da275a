// The declared facts of every row, on samples.

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "ir/text.h"

namespace pet::ops_facts_test {
namespace {

using Values = std::vector<double>;

// Every row that declares a fact, with attributes on both sides of what matters.
const std::string_view kPrograms[] = {
    "x: [8]  y = Relu(x)",
    "x: [8]  y = LeakyRelu(x)",
    "x: [8]  y = LeakyRelu(x) alpha=-2",
    "x: [8]  y = Sigmoid(x)",
    "x: [8]  y = Tanh(x)",
    "x: [8]  y = Erf(x)",
    "x: [8]  y = Sin(x)",
    "x: [8]  y = Cos(x)",
    "x: [8]  y = Exp(x)",
    "x: [8]  y = Log(x)",
    "x: [8]  y = Abs(x)",
    "x: [8]  y = Sqrt(x)",
    "x: [8]  y = Reciprocal(x)",
    "x: [8]  y = Square(x)",
    "x: [8]  y = Floor(x)",
    "x: [8]  y = Ceil(x)",
    "x: [8]  y = Mod(x) divisor=1",
    "x: [8]  y = Mod(x) divisor=3",
    "x: [8]  y = Not(x)",
    "x: [8]  y = Elu(x)",
    "x: [8]  y = Elu(x) alpha=-2",
    "x: [8]  y = Selu(x)",
    "x: [8]  y = Selu(x) gamma=-2",
    "x: [8]  y = Softplus(x)",
    "x: [8]  y = HardSwish(x)",
    "x: [8]  y = Swish(x)",
    "x: [8]  y = Swish(x) alpha=-2",
    "x: [8]  y = Mish(x)",
    "x: [8]  y = Pow(x) exponent=3",
    "x: [8]  y = HardSigmoid(x)",
    "x: [8]  y = HardSigmoid(x) alpha=-1",
    "x: [8]  y = Gelu(x)",
    "x: [8]  y = Gelu(x) approximate=tanh",
    "x: [8]  y = Clip(x) min=-1 max=1",
    "x: [8]  y = Clip(x) min=1 max=2",
    "x: [8]  s: [8]  y = PRelu(x, s)",
    "x: [8]  s: [8]  y = Max(x, s)",
    "x: [8]  y = Neg(x)",
    "x: [8]  y = Identity(x)",
    "x: [1, 2, 4]  y = MaxPool(x) kernel_shape=[2] strides=[2]",
    "x: [1, 2, 4]  y = AveragePool(x) kernel_shape=[2] pads=[1, 0]",
    "x: [1, 2, 4]  y = GlobalMaxPool(x)",
    "x: [1, 2, 4]  y = GlobalAveragePool(x)",
    "x: [1, 2, 4]  y = Col2Im(x) image_shape=[5] block_shape=[2]",
    "x: [2, 4]  y = ReduceSum(x) axes=[1]",
    "x: [2, 4]  y = ReduceMean(x) axes=[0]",
    "x: [2, 4]  y = ReduceMax(x)",
    "x: [2, 4]  y = Resize(x) scales=[1, 1, 3, 2]",
    "x: [2, 4]  y = Resize(x) scales=[1, 1, 3, 2] mode=linear",
    "x: [2, 4]  y = Resize(x) scales=[1, 1, 3, 2] mode=cubic",
};

/// The program as a function of its first input; further ones are fixed.
Values imageOf(const Program& program, const Values& x) {
  std::map<std::string, Tensor<double>> inputs;
  for (Value v : program.inputs()) {
    Tensor<double> t(*evaluate(program.shape(v), {}));
    for (size_t i = 0; i < t.data.size(); ++i)
      t.data[i] = inputs.empty() ? x[i] : static_cast<double>(i) / 2 - 1;
    inputs[program.name(v)] = t;
  }
  auto y = evaluate<double>(program, {}, inputs);
  EXPECT_TRUE(y) << (y ? "" : y.error().message());
  return (*y)[0].data;
}

Values scaled(Values x, double by) {
  for (double& v : x)
    v *= by;
  return x;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * (1 + std::abs(b));
}
bool same(const Values& a, const Values& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return same(x, y); });
}

void checkElementwise(const Program& program, const Values& x) {
  Values y = imageOf(program, x), reversed(x.rbegin(), x.rend()), back = imageOf(program, reversed);
  std::reverse(back.begin(), back.end());
  EXPECT_TRUE(same(y, back));
  Values other = x;
  other[3] += 1;
  Values changed = imageOf(program, other);
  changed[3] = y[3];
  EXPECT_TRUE(same(y, changed));
}

void checkMonotone(const Program& program, const Values& x, std::mt19937_64& random) {
  Values larger = x;
  for (double& v : larger)
    v += static_cast<double>(random() % 3);
  Values a = imageOf(program, x), b = imageOf(program, larger);
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isnan(a[i])) {
      EXPECT_LE(a[i], b[i] + 1e-12);
    }
  }
}

TEST(OpsFacts, HoldOnSamples) {
  std::mt19937_64 random(1);
  for (std::string_view text : kPrograms) {
    SCOPED_TRACE(text);
    auto program = parseProgram(text, "case");
    ASSERT_TRUE(program) << program.error().message();
    const Facts& facts = program->nodes().back().op->facts;
    for (int round = 0; round < 50; ++round) {
      Values x(8);
      for (double& v : x)
        v = random() % 8 == 0 ? 0 : (static_cast<double>(random() % 2001) - 1000) / 200;
      if (facts.elementwise) checkElementwise(*program, x);
      if (facts.monotone) checkMonotone(*program, x, random);
      if (facts.idempotent) {
        EXPECT_TRUE(same(imageOf(*program, imageOf(*program, x)), imageOf(*program, x)));
      }
      if (facts.positivePart) {
        Values positive = x;
        for (double& v : positive)
          v = std::max(v, 0.0);
        EXPECT_TRUE(same(imageOf(*program, x), positive));
      }
      if (facts.homogeneous) {
        EXPECT_TRUE(same(imageOf(*program, scaled(x, 3)), scaled(imageOf(*program, x), 3)));
      }
    }
    if (facts.ignoresMinusInfinity) {
      Values none = imageOf(*program, Values(8, -std::numeric_limits<double>::infinity()));
      EXPECT_TRUE(same(none, Values(none.size(), 0)));
    }
    if (facts.zeroPreserving || facts.homogeneous) {
      Values zero = imageOf(*program, Values(8, 0));
      EXPECT_TRUE(same(zero, Values(zero.size(), 0)));
    }
  }
}

TEST(OpsFacts, EveryRowWithFactsOccurs) {
  std::set<std::string_view> seen;
  for (std::string_view text : kPrograms) {
    if (auto program = parseProgram(text, "case")) seen.insert(program->nodes().back().op->name);
  }
  for (const OpRow* row : operatorTable()) {
    const Facts& f = row->facts;
    bool any =
        f.elementwise || f.zeroPreserving || f.monotone || f.idempotent || f.homogeneous || f.ignoresMinusInfinity;
    EXPECT_TRUE(!any || seen.contains(row->name)) << row->name;
  }
}

}  // namespace
}  // namespace pet::ops_facts_test
