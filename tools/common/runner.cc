#include "tools/common/runner.h"

#include <cstdlib>
#include <filesystem>

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

/// The folder of the running binary.
fs::path binFolder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// The Python that has the engine: the one asked for, else that of the source tree's environment, else the system's.
std::string pythonOf(const std::string& asked) {
  std::error_code ignored;
  fs::path environment = binFolder() / "../../.venv/bin/python";
  if (!asked.empty()) return asked;
  return fs::exists(environment, ignored) ? environment.lexically_normal().string() : "python3";
}

}  // namespace

std::string runnerFile(const std::string& name) {
  std::error_code ignored;
  const char* share = std::getenv("PET_SHARE");
  for (const fs::path& folder :
       {fs::path(share ? share : "") / "ort", binFolder() / "../share/pet/ort", binFolder() / "../../runtime/ort"}) {
    if (fs::exists(folder / name, ignored)) return (folder / name).lexically_normal().string();
  }
  return name;
}

Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice) {
  if (choice.name == "ort")
    return std::vector{pythonOf(choice.python), choice.path.empty() ? runnerFile("runner.py") : choice.path};
  if (choice.name == "onednn")
    return std::vector{choice.path.empty() ? (binFolder() / "pet-runner").string() : choice.path};
  return fail(ErrorKind::kUsage, "unknown runner", choice.name, "known: ort, onednn");
}

}  // namespace pet::tool
