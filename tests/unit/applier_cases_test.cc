// Models of one node each that tests/e2e/apply_operators.py wrote, with ONNX Runtime's results in them: pet's
// evaluation must agree, and the node that pet writes in its place is left beside for ONNX Runtime. Without
// PET_ONNX_CASES there are none.

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "applier/onnx/model.h"
#include "applier/read/normalise.h"
#include "applier/write/emit.h"
#include "ir/evaluate.h"

namespace pet::applier_cases_test {
namespace {

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> paths;
  const char* folder = std::getenv("PET_ONNX_CASES");
  if (!folder) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".onnx") && !name.ends_with(".anew.onnx")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void expectEqual(const Tensor<float>& is, const Graph& graph, const std::string& output) {
  for (const Initializer& i : graph.initializers) {
    if (i.name != "expected/" + output) continue;
    Tensor<float> expected = i.value.values<float>();
    ASSERT_EQ(is.extents, expected.extents) << output;
    for (size_t e = 0; e < expected.data.size(); ++e) {
      float tolerance = 1e-4F * std::max(1.0F, std::abs(expected.data[e]));
      ASSERT_NEAR(is.data[e], expected.data[e], tolerance) << output << " at " << e;
    }
  }
}

TEST(ApplierCases, EvaluateLikeOnnxRuntime) {
  for (const auto& path : cases()) {
    SCOPED_TRACE(path.filename().string());
    auto model = load(path.string());
    ASSERT_TRUE(model.has_value()) << model.error().message();
    auto whole = toProgram(model->graph);
    EXPECT_TRUE(whole.has_value()) << whole.error().message();
    if (!whole) continue;
    std::map<std::string, Tensor<float>> inputs;
    for (const auto& [name, c] : whole->constants)
      inputs.emplace(name, c.values<float>());
    auto results = evaluate<float>(whole->program, {}, inputs);
    EXPECT_TRUE(results.has_value()) << results.error().message();
    if (!results) continue;
    for (size_t i = 0; i < results->size(); ++i)
      expectEqual((*results)[i], model->graph, model->graph.outputs[i]);
  }
}

TEST(ApplierCases, AreWrittenAnew) {
  for (const auto& path : cases()) {
    SCOPED_TRACE(path.filename().string());
    auto model = load(path.string());
    ASSERT_TRUE(model.has_value()) << model.error().message();
    View view = normalise(model->graph).view, anew = view;
    for (Provenance& p : anew.provenance)
      p.origin = -1;
    auto graph = emit(model->graph, view, anew);
    EXPECT_TRUE(graph.has_value()) << graph.error().message();
    if (!graph) continue;
    auto bytes = serialize({*graph, model->file});
    ASSERT_TRUE(bytes.has_value()) << bytes.error().message();
    auto beside = path;
    ASSERT_TRUE(writeModel(*bytes, beside.replace_extension(".anew.onnx").string()).has_value());
  }
}

}  // namespace
}  // namespace pet::applier_cases_test
