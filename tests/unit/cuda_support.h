// Programs that tests run on a device, or on what stands for one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_model.h"
#include "tests/unit/engine_cases.h"
#include "tests/unit/engine_models.h"

namespace pet::testing_support {

using cuda::CudaModel;

/// A program on its way through a device.
struct DeviceRun {
  std::string name;
  Program program;
  TensorMap tensors;
  double tolerance;
  std::unique_ptr<CudaModel> model;
};

/// The programs whose text `isTaken`. All are prepared before the first one runs, so that their kernels are compiled as
/// one file.
inline std::vector<DeviceRun> prepared(
    const std::shared_ptr<cuda::Device>& device,
    const std::function<bool(const std::string&)>& isTaken = [](const std::string&) { return true; }) {
  std::vector<DeviceRun> runs;
  auto add = [&](const std::string& name, const std::string& text, bool integers, double tolerance) {
    if (!isTaken(text)) return;
    auto program = parseProgram(text, "test");
    ASSERT_TRUE(program) << program.error().message();
    TensorMap tensors = integers || tolerance > 0 ? draw(*program, integers) : drawModel(*program);
    runs.push_back({name, *program, std::move(tensors), tolerance, nullptr});
  };
  for (const EngineCase& c : engineCases())
    add(c.name, c.text, c.tolerance == 0, c.tolerance);
  for (const EngineModel& m : kEngineModels)
    add(m.name, m.text, false, 0);
  for (DeviceRun& run : runs) {
    SCOPED_TRACE(run.name);
    auto model = CudaModel::prepare(run.program, inputsFrom<float>(run.tensors), device);
    EXPECT_TRUE(model) << model.error().message();
    if (model) run.model = std::move(*model);
  }
  return runs;
}

inline std::vector<Tensor<float>> results(const DeviceRun& run) {
  std::vector<const float*> inputs;
  for (Value v : run.program.inputs()) {
    if (run.program.node(v).scalar("constant") == Expr(0))
      inputs.push_back(run.tensors.at(run.program.name(v)).data.data());
  }
  std::vector<Tensor<float>> found;
  for (Value v : run.program.outputs())
    found.emplace_back(*evaluate(run.program.shape(v), {}));
  std::vector<float*> outputs;
  for (auto& tensor : found)
    outputs.push_back(tensor.data.data());
  auto ok = run.model->execute(inputs, outputs);
  EXPECT_TRUE(ok) << ok.error().message();
  return found;
}

inline std::string notesOf(const CudaModel& model) {
  std::string notes;
  for (const EngineNote& note : model.notes())
    notes += note.node + ": " + note.op + ", " + note.how + "\n";
  return notes;
}

/// Twice, so that nothing of the first run is left in the second; `least`: what the tolerance is at least.
inline void expectReference(const DeviceRun& run, double least) {
  SCOPED_TRACE(run.name);
  ASSERT_TRUE(run.model);
  const auto wanted = expected(run.program, run.tensors);
  const double tolerance = std::max(run.tolerance > 0 ? run.tolerance : 1e-5, least);
  for (int again = 0; again < 2; ++again) {
    const auto found = results(run);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_LE(distance(found[i], wanted[i]), tolerance) << notesOf(*run.model);
  }
}

/// The program on the device, compared with the reference, on numbers or `integers`; null where it cannot be prepared,
/// which is a failure.
inline std::unique_ptr<CudaModel> modelOn(const std::shared_ptr<cuda::Device>& device,
                                          const std::string& text,
                                          bool integers = false) {
  auto program = parseProgram(text, "test");
  EXPECT_TRUE(program) << program.error().message();
  DeviceRun run{"test", *program, draw(*program, integers), 1e-5, nullptr};
  auto model = CudaModel::prepare(*program, inputsFrom<float>(run.tensors), device);
  EXPECT_TRUE(model) << model.error().message();
  if (!model) return {};
  run.model = std::move(*model);
  expectReference(run, 0);
  return std::move(run.model);
}

/// The nodes of the launches, in their order ("out": they bring an output to its place).
inline std::string launchesOf(CudaModel& model) {
  auto steps = model.profile();
  EXPECT_TRUE(steps) << steps.error().message();
  std::string nodes;
  for (const StepTime& step : steps ? *steps : std::vector<StepTime>())
    nodes += (nodes.empty() ? "" : " ") + (step.node.empty() ? "out" : step.node);
  return nodes;
}

}  // namespace pet::testing_support
