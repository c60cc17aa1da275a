#include "tools/common/runner.h"

#include <algorithm>
#include <filesystem>

#include "tools/common/cuda_device.h"
#include "tools/common/share.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

struct DeviceRow {
  std::string_view device, runner;
  std::string_view script;       ///< in the share folder; empty: a program of ours beside the tools
  std::string_view environment;  ///< of the source tree: has the Python that has the engine
  std::string_view engine = "";  ///< which one, of a script that has several
};

constexpr DeviceRow kDevices[] = {
    {"ort-cpu", "ort", "ort/runner.py", ".venv"},
    {"onednn-cpu", "onednn", "", ""},
    {"openvino-cpu", "openvino", "ort/openvino_runner.py", ".engines/openvino"},
    {"mnn-cpu", "mnn", "ort/mnn_runner.py", ".engines/mnn"},
    {"ncnn-cpu", "ncnn", "ort/ncnn_runner.py", ".engines/ncnn"},
    {"litert-cpu", "litert", "ort/litert_runner.py", ".engines/litert"},
    {"torch-cpu", "torch", "ort/torch_runner.py", ".engines/torch", "torch"},
    {"inductor-cpu", "inductor", "ort/torch_runner.py", ".engines/torch", "torch-inductor"},
    {"torch-cuda", "torch-cuda", "ort/torch_runner.py", ".engines/torch", "torch-cuda"},
    {"ort-cuda", "ort-cuda", "ort/accelerator_runner.py", ".engines/cuda", "onnxruntime-cuda"},
    {"tensorrt", "tensorrt", "ort/accelerator_runner.py", ".engines/cuda", "onnxruntime-tensorrt"},
};

Expected<const DeviceRow*> rowOf(std::string_view device) {
  const auto* row =
      std::find_if(std::begin(kDevices), std::end(kDevices), [&](const DeviceRow& d) { return d.device == device; });
  if (row != std::end(kDevices)) return row;
  const std::set<std::string> known = devices();
  return unknownName("device", std::string(device), {known.begin(), known.end()});
}

/// The Python that has the engine: the one asked for, else that of the source tree's environment, else the system's.
std::string pythonOf(const std::string& asked, std::string_view environment) {
  std::error_code ignored;
  fs::path python = binFolder() / "../.." / environment / "bin/python";
  if (!asked.empty()) return asked;
  return fs::exists(python, ignored) ? python.lexically_normal().string() : "python3";
}

/// The program of ours that runs models.
std::string ownRunner(const std::string& asked) {
  return asked.empty() ? (binFolder() / "pet-runner").string() : asked;
}

}  // namespace

Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice) {
  auto gpu = cudaDevice(choice.device);
  if (!gpu) return tl::unexpected(gpu.error());
  if (*gpu) return std::vector{ownRunner(choice.path), std::string("--device"), (*gpu)->str()};
  auto found = rowOf(choice.device);
  if (!found) return tl::unexpected(found.error());
  const DeviceRow& row = **found;
  if (row.script.empty()) return std::vector{ownRunner(choice.path)};
  auto script = choice.path.empty() ? shareFile(std::string(row.script)) : Expected<std::string>(choice.path);
  if (!script) return tl::unexpected(script.error());
  std::vector command{pythonOf(choice.python, row.environment), std::move(*script)};
  if (!row.engine.empty()) command.insert(command.end(), {"--engine", std::string(row.engine)});
  return command;
}

Expected<std::string> deviceNamed(const std::string& name) {
  auto gpu = cudaDevice(name);
  if (!gpu) return tl::unexpected(gpu.error());
  if (*gpu) return (*gpu)->str();
  const auto* row =
      std::find_if(std::begin(kDevices), std::end(kDevices), [&](const DeviceRow& d) { return d.runner == name; });
  auto found = row != std::end(kDevices) ? row : rowOf(name);
  return found.map([](const DeviceRow* r) { return std::string(r->device); });
}

bool isProcessor(std::string_view device) {
  return device.ends_with("-cpu");
}

std::set<std::string> devices() {
  std::set<std::string> names;
  for (const DeviceRow& d : kDevices)
    names.emplace(d.device);
  for (const std::string& gpu : describedGpus())
    names.insert(CudaDevice{gpu}.str());
  return names;
}

}  // namespace pet::tool
