#include "tools/common/runner.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "tools/common/share.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

struct DeviceRow {
  std::string_view device, runner;
  std::string_view script;       ///< in the share folder; empty: a program of ours beside the tools
  std::string_view environment;  ///< of the source tree: has the Python that has the engine
};

constexpr DeviceRow kDevices[] = {
    {"ort-cpu", "ort", "ort/runner.py", ".venv"},
    {"onednn-cpu", "onednn", "", ""},
    {"openvino-cpu", "openvino", "ort/openvino_runner.py", ".engines/openvino"},
};

/// The Python that has the engine: the one asked for, else that of the source tree's environment, else the system's.
std::string pythonOf(const std::string& asked, std::string_view environment) {
  std::error_code ignored;
  fs::path python = binFolder() / "../.." / environment / "bin/python";
  if (!asked.empty()) return asked;
  return fs::exists(python, ignored) ? python.lexically_normal().string() : "python3";
}

}  // namespace

Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice) {
  const auto* row = std::find_if(std::begin(kDevices), std::end(kDevices), [&](const DeviceRow& d) {
    return choice.name == d.device || choice.name == d.runner;
  });
  if (row == std::end(kDevices)) {
    const std::set<std::string> known = devices();
    return unknownName("device", choice.name, {known.begin(), known.end()});
  }
  if (row->script.empty())
    return std::vector{choice.path.empty() ? (binFolder() / "pet-runner").string() : choice.path};
  auto script = choice.path.empty() ? shareFile(std::string(row->script)) : Expected<std::string>(choice.path);
  if (!script) return tl::unexpected(script.error());
  return std::vector{pythonOf(choice.python, row->environment), std::move(*script)};
}

std::set<std::string> devices() {
  std::set<std::string> names;
  for (const DeviceRow& d : kDevices)
    names.emplace(d.device);
  return names;
}

}  // namespace pet::tool
