// The models that the engine is for, small, and forms that rules rewrite them to: all nodes by oneDNN or kernels of
// ours, and the reference's numbers.

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "runtime/onednn/float_engine.h"
#include "runtime/onednn/onednn.h"
#include "tests/unit/engine_models.h"

namespace pet::onednn_models_test {
namespace {

using namespace testing_support;

TEST(OneDnnModels, AreComputedWithoutTheReference) {
  for (const EngineModel& c : kEngineModels) {
    SCOPED_TRACE(c.name);
    auto program = parseProgram(c.text, "test");
    ASSERT_TRUE(program) << program.error().message();
    TensorMap tensors = drawModel(*program);
    auto wanted = execute<double>(*program, {}, inputsFrom<double>(tensors));
    ASSERT_TRUE(wanted) << wanted.error().message();
    for (bool winograd : {false, true}) {
      auto model = OneDnnModel::prepare(*program, tensors, {.threads = 2, .winograd = winograd});
      ASSERT_TRUE(model) << model.error().message();
      for (const EngineNote& note : model->notes())
        EXPECT_FALSE(note.reference) << note.node << ": " << note.op << ": " << note.how;
      auto found = model->run(tensors);
      ASSERT_TRUE(found) << found.error().message();
      double worst = 0, most = 0;
      const Tensor<double>& y = *(*wanted)[0];
      ASSERT_EQ((*found)[0].extents, y.extents);
      for (size_t i = 0; i < y.data.size(); ++i) {
        worst = std::max(worst, std::abs((*found)[0].data[i] - y.data[i]));
        most = std::max(most, std::abs(y.data[i]));
      }
      EXPECT_LE(worst, (winograd ? 1e-4 : 1e-5) * most);
      EXPECT_GT(most, 1e-3);
    }
  }
}

/// The check of whole models: weights may not change. (A single one may meet a zero.)
TEST(OneDnnModels, AreToldFromThoseWithOtherWeights) {
  ModelOptions options;
  options.engine = oneDnnFloatEngine(1);
  for (const EngineModel& c : kEngineModels) {
    SCOPED_TRACE(c.name);
    auto program = parseProgram(c.text, "test");
    ASSERT_TRUE(program) << program.error().message();
    const TensorMap all = drawModel(*program);
    TensorMap weights = all;
    for (Value v : program->inputs()) {
      if (!isConstant(*program, v)) weights.erase(program->name(v));
    }
    const ModelProgram model{*program, inputsFrom<float>(weights)};
    const Comparison same = compareWholeModel(model, model, {}, options);
    EXPECT_TRUE(same.holds()) << same.reason;
    EXPECT_EQ(same.scope.rfind("in float", 0), 0U) << same.scope;
    for (const auto& [name, tensor] : weights) {
      TensorMap others = weights;
      auto& data = others.at(name).data;
      for (size_t i = 0; i < data.size(); i += 2)
        data[i] *= 1.01F;
      const Comparison other = compareWholeModel(model, {*program, inputsFrom<float>(others)}, {}, options);
      EXPECT_EQ(other.verdict, Comparison::Verdict::kFails) << name << ": " << other.scope;
    }
  }
}

/// What no lowering takes is left to the reference, and the rest stays with the engine.
TEST(OneDnnModels, OperatorsThatItLacksAreNoObstacle) {
  auto program = parseProgram(
      "x: [1, 8, 12, 12]\n w: const [8, 8, 3, 3]\n k: [8, 8, 1, 1]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n"
      "n = Not(t)\n u = Conv(t, k)\n y = Where(n, t, u)",
      "test");
  ASSERT_TRUE(program) << program.error().message();
  TensorMap weights{{"w", drawReal(Draw(3, "w"), {8, 8, 3, 3})}};
  ModelOptions options;
  options.engine = oneDnnFloatEngine(1);
  const ModelProgram model{*program, inputsFrom<float>(weights)};
  const Comparison same = compareWholeModel(model, model, {}, options);
  EXPECT_EQ(same.scope.rfind("in float", 0), 0U) << same.scope << same.reason;
}

/// On every thread, and for the caller as before when it is done.
TEST(OneDnnModels, TakeTinyNumbersAsZeroWhileTheyRun) {
  const Extents extents{512, 1024};
  auto program = parseProgram("x: [512, 1024]\n w: const [1024, 8]\n t = Mul(x, x)\n y = MatMul(t, w)", "test");
  ASSERT_TRUE(program) << program.error().message();
  TensorMap inputs;
  Tensor<float>& x = inputs.emplace("x", Tensor<float>(extents)).first->second;
  std::fill(x.data.begin(), x.data.end(), 1e-20F);
  TensorMap weights{{"w", Tensor<float>({1024, 8})}};
  std::fill(weights.at("w").data.begin(), weights.at("w").data.end(), 1e30F);
  for (int threads : {1, 2}) {
    auto model = OneDnnModel::prepare(*program, weights, {.threads = threads});
    ASSERT_TRUE(model) << model.error().message();
    auto found = model->run(inputs);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_THAT((*found)[0].data, testing::Each(0.F));
    const volatile float small = x.data[0];
    EXPECT_GT(small * small, 0);
  }
}

/// Results that an engine may take as 0 decide nothing.
TEST(OneDnnModels, TinyResultsAreComparedByTheReference) {
  auto program = parseProgram("x: [4, 8]\n w: const [8, 3]\n y = MatMul(x, w)", "test");
  ASSERT_TRUE(program) << program.error().message();
  TensorMap weights{{"w", drawReal(Draw(3, "w"), {8, 3})}};
  for (float& w : weights.at("w").data)
    w *= 1e-40F;
  TensorMap others = weights;
  others.at("w").data[5] *= 2;
  ModelOptions options;
  options.engine = oneDnnFloatEngine(1);
  const ModelProgram model{*program, inputsFrom<float>(weights)}, other{*program, inputsFrom<float>(others)};
  EXPECT_THAT(compareWholeModel(model, model, {}, options).scope, testing::StartsWith("in double"));
  EXPECT_EQ(compareWholeModel(model, other, {}, options).verdict, Comparison::Verdict::kFails);
}

}  // namespace
}  // namespace pet::onednn_models_test
