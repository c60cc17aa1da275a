#include <algorithm>

#include <gtest/gtest.h>

#include "ir/text.h"
#include "runtime/draw.h"
#include "runtime/reference/reference.h"
#include "tests/unit/program_text.h"

namespace pet::runtime_reference_test {
namespace {

using testing_support::program;

const char* const kChain = R"(
  x: [N, 3, H, W]
  w: const [4, 3, 3, 3]
  k: const [2, 4, 1, 1]
  t = Conv(x, w) pads=[1, 1, 1, 1]
  dead = Conv(t, k)
  a, b = Split(t) axis=1 split=[2, 2]
  u = Concat(b, a) axis=1
  y = Conv(u, k)
)";

TensorMap inputs() {
  TensorMap map;
  map.emplace("x", drawReal(Draw(1, "x"), {2, 3, 5, 4}));
  map.emplace("w", drawReal(Draw(1, "w"), {4, 3, 3, 3}));
  map.emplace("k", drawReal(Draw(1, "k"), {2, 4, 1, 1}));
  return map;
}

const Bindings kSymbols{{"N", 2}, {"H", 5}, {"W", 4}};

TEST(Reference, IsTheEvaluation) {
  Program p = program(kChain);
  TensorMap given = inputs();
  auto scheduled = execute<float>(p, kSymbols, inputsFrom<float>(given));
  ASSERT_TRUE(scheduled) << scheduled.error().message();
  auto evaluated = evaluate<float>(p, kSymbols, {given.begin(), given.end()});
  ASSERT_TRUE(evaluated) << evaluated.error().message();
  ASSERT_EQ(scheduled->size(), 1u);
  EXPECT_EQ(*(*scheduled)[0], (*evaluated)[0]);
}

TEST(Reference, ConvertsInputs) {
  TensorMap given = inputs();
  auto wide = execute<double>(program(kChain), kSymbols, inputsFrom<double>(given));
  auto narrow = execute<float>(program(kChain), kSymbols, inputsFrom<float>(given));
  ASSERT_TRUE(wide && narrow);
  for (size_t i = 0; i < (*wide)[0]->data.size(); ++i) {
    EXPECT_NEAR((*wide)[0]->data[i], static_cast<double>((*narrow)[0]->data[i]), 1e-5);
  }
}

TEST(Reference, FreesAfterTheLastUseAndSkipsTheDead) {
  Program p = program(kChain);
  TensorMap given = inputs();
  InputSource<float> source = [&](std::string_view name) {
    return std::make_shared<Tensor<float>>(given.find(name)->second);
  };
  std::vector<std::string> ran;
  std::weak_ptr<const Tensor<float>> x;
  InputSource<float> watched = [&](std::string_view name) {
    auto tensor = source(name);
    if (name == "x") x = tensor;
    return tensor;
  };
  NodeEvaluator<float> evaluator = [&](int node, const std::vector<const Tensor<float>*>& operands) {
    const Node& n = p.nodes()[static_cast<size_t>(node)];
    ran.push_back(n.names[0]);
    EXPECT_EQ(x.expired(), n.names[0] != "t") << n.names[0];
    return evaluateNode<float>(p, node, kSymbols, operands);
  };
  ASSERT_TRUE(executeWith<float>(p, kSymbols, watched, evaluator));
  EXPECT_EQ(ran, (std::vector<std::string>{"t", "a", "u", "y"}));
}

TEST(Reference, ReadsInputsWhenTheyAreNeeded) {
  Program p = program(kChain);
  TensorMap given = inputs();
  std::vector<std::string> done;
  InputSource<double> watched = [&](std::string_view name) {
    done.emplace_back(name);
    return inputsFrom<double>(given)(name);
  };
  NodeEvaluator<double> evaluator = [&](int node, const std::vector<const Tensor<double>*>& operands) {
    done.push_back(p.nodes()[static_cast<size_t>(node)].names[0]);
    return evaluateNode<double>(p, node, kSymbols, operands);
  };
  ASSERT_TRUE(executeWith<double>(p, kSymbols, watched, evaluator));
  EXPECT_EQ(done, (std::vector<std::string>{"x", "w", "t", "a", "u", "k", "y"}));
}

TEST(Reference, ReportsTheShareOfTheWork) {
  TensorMap given = inputs();
  std::vector<double> seen;
  ExecuteOptions options{[&](double share) { seen.push_back(share); }};
  ASSERT_TRUE(execute<float>(program(kChain), kSymbols, inputsFrom<float>(given), options));
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen[2], 0);    // inputs
  EXPECT_GT(seen[3], 0.5);  // the large Conv
  EXPECT_EQ(seen.back(), 1);
}

TEST(Reference, AnInputMayBeAnOutput) {
  Program p = program("x: [2]\nreturn x, x");
  TensorMap given;
  given.emplace("x", Tensor<float>({2}, {1, 2}));
  auto out = execute<float>(p, {}, inputsFrom<float>(given));
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ(*(*out)[1], given.at("x"));
}

TEST(Reference, MistakesAreErrors) {
  Program p = program(kChain);
  TensorMap given = inputs();
  auto message = [&](const Bindings& symbols, const TensorMap& tensors) {
    auto result = execute<float>(p, symbols, inputsFrom<float>(tensors));
    return result ? "" : result.error().message();
  };
  EXPECT_EQ(message({{"N", 2}, {"H", 5}}, given), "x: a symbol of [N, 3, H, W] is unbound");
  EXPECT_EQ(message({{"N", 2}, {"H", 5}, {"W", 5}}, given), "x: its value has extents [2, 3, 5, 4], not [2, 3, 5, 5]");
  given.erase("k");
  EXPECT_EQ(message(kSymbols, given), "k: no value for the input");
}

}  // namespace
}  // namespace pet::runtime_reference_test
