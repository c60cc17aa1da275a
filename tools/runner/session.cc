#include "tools/runner/session.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/onnx/model.h"
#include "applier/read/normalise.h"
#include "runtime/draw.h"

namespace pet::runner {
namespace {

constexpr float kLeastPositive = 1.0F / 64;

/// Only floats of known extents come in.
Expected<void> checkInputs(const Graph& graph) {
  for (const std::string& name : graph.inputs) {
    auto type = graph.types.find(name);
    if (type == graph.types.end() || !type->second.extents()) {
      return fail(ErrorKind::kModel, fmt::format("input {}: a dimension is dynamic; dims cannot bind it here", name));
    }
    if (type->second.element != ElementType::kFloat) {
      return fail(ErrorKind::kModel,
                  fmt::format("input {}: no random values for its type {}", name, str(type->second.element)));
    }
  }
  return {};
}

}  // namespace

Session::Session(std::string path, OneDnnModel model, std::vector<std::string> outputNames)
    : path_(std::move(path)), model_(std::move(model)), outputNames_(std::move(outputNames)) {
  for (const Extents& extents : model_.outputExtents())
    outputs_.emplace_back(extents);
  for (auto& tensor : outputs_)
    outputPointers_.push_back(tensor.data.data());
}

Expected<Session> Session::open(const std::string& path, const OneDnnOptions& options) {
  auto cannotLoad = [&](const Error& error) {
    return fail(ErrorKind::kModel, fmt::format("{}: the engine cannot load it: {}", path, error.message()));
  };
  auto file = load(path);
  if (!file) return cannotLoad(file.error());
  if (auto ok = checkInputs(file->graph); !ok) return tl::unexpected(ok.error());
  auto whole = toProgram(file->graph);
  if (!whole) return cannotLoad(whole.error());
  TensorMap weights;
  for (const auto& [name, constant] : whole->constants)
    weights.emplace(name, constant.values<float>());
  auto model = OneDnnModel::prepare(whole->program, weights, options);
  if (!model) return cannotLoad(model.error());
  return Session(path, std::move(*model), file->graph.outputs);
}

NamedTensors Session::drawInputs(uint64_t seed, bool positive) const {
  NamedTensors inputs;
  for (size_t i = 0; i < model_.inputNames().size(); ++i) {
    const std::string& name = model_.inputNames()[i];
    auto& tensor = inputs.emplace(name, drawReal(Draw(seed, name), model_.inputExtents()[i])).first->second;
    if (!positive) continue;
    for (float& x : tensor.data)
      x = kLeastPositive + (1 - kLeastPositive) * std::abs(x);
  }
  return inputs;
}

Expected<void> Session::setInputs(const NamedTensors& inputs) {
  std::map<std::string, Extents> given, wanted;
  for (const auto& [name, tensor] : inputs)
    given[name] = tensor.extents;
  for (size_t i = 0; i < model_.inputNames().size(); ++i)
    wanted[model_.inputNames()[i]] = model_.inputExtents()[i];
  if (given != wanted) {
    auto text = [](const std::map<std::string, Extents>& all) {
      std::vector<std::string> words;
      for (const auto& [name, extents] : all)
        words.push_back(name + str(extents));
      return fmt::format("{}", fmt::join(words, ", "));
    };
    return fail(ErrorKind::kModel,
                fmt::format("{}: its inputs are {}, the first model's {}", path_, text(wanted), text(given)));
  }
  inputPointers_.clear();
  for (const std::string& name : model_.inputNames())
    inputPointers_.push_back(inputs.find(name)->second.data.data());
  return {};
}

Expected<void> Session::run() {
  auto ran = model_.execute(inputPointers_, outputPointers_);
  if (!ran)
    return fail(ErrorKind::kModel, fmt::format("{}: the engine cannot run it: {}", path_, ran.error().message()));
  return {};
}

Expected<void> readFloats(const std::string& path, Tensor<float>& into) {
  std::ifstream file(path, std::ios::binary);
  auto bytes = static_cast<std::streamsize>(into.data.size() * sizeof(float));
  file.read(reinterpret_cast<char*>(into.data.data()), bytes);
  if (!file || file.peek() != std::ifstream::traits_type::eof())
    return fail(ErrorKind::kUsage, fmt::format("it is not a file of {} bytes", bytes), path);
  return {};
}

Expected<void> writeFloats(const std::string& path, const Tensor<float>& tensor) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(tensor.data.data()),
             static_cast<std::streamsize>(tensor.data.size() * sizeof(float)));
  file.close();
  if (!file) return fail(ErrorKind::kUsage, "it cannot be written", path);
  return {};
}

}  // namespace pet::runner
