#include "tools/common/runner.h"

#include <filesystem>

#include "tools/common/share.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

/// The Python that has the engine: the one asked for, else that of the source tree's environment, else the system's.
std::string pythonOf(const std::string& asked) {
  std::error_code ignored;
  fs::path environment = binFolder() / "../../.venv/bin/python";
  if (!asked.empty()) return asked;
  return fs::exists(environment, ignored) ? environment.lexically_normal().string() : "python3";
}

}  // namespace

Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice) {
  if (choice.name == "ort") {
    auto script = choice.path.empty() ? shareFile("ort/runner.py") : Expected<std::string>(choice.path);
    if (!script) return tl::unexpected(script.error());
    return std::vector{pythonOf(choice.python), std::move(*script)};
  }
  if (choice.name == "onednn")
    return std::vector{choice.path.empty() ? (binFolder() / "pet-runner").string() : choice.path};
  return unknownName("runner", choice.name, {"onednn", "ort"});
}

}  // namespace pet::tool
