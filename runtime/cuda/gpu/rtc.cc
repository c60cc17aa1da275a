#include "runtime/cuda/gpu/rtc.h"

#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <nvrtc.h>

namespace pet::cuda {
namespace {

class Compilation {
 public:
  explicit Compilation(const std::string& code) {
    status_ = nvrtcCreateProgram(&program_, code.c_str(), "pet.cu", 0, nullptr, nullptr);
  }
  ~Compilation() { nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  bool run(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& o : options)
      texts.push_back(o.c_str());
    if (status_ == NVRTC_SUCCESS) status_ = nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
    return status_ == NVRTC_SUCCESS;
  }
  std::string log() const {
    size_t size = 0;
    nvrtcGetProgramLogSize(program_, &size);
    std::string text(size, '\0');
    nvrtcGetProgramLog(program_, text.data());
    return text;
  }
  std::string error() const { return nvrtcGetErrorString(status_); }
  std::vector<char> code() const {
    size_t size = 0;
    nvrtcGetCUBINSize(program_, &size);
    std::vector<char> code(size);
    nvrtcGetCUBIN(program_, code.data());
    return code;
  }

 private:
  nvrtcProgram program_{};
  nvrtcResult status_;
};

/// ptxas names a kernel, and says in the next lines what it needs.
std::vector<KernelUse> usesOf(const std::string& log) {
  static const std::regex kName("Compiling entry function '([^']+)'"),
      kSpills("(\\d+) bytes spill stores, (\\d+) bytes spill loads"), kRegisters("Used (\\d+) registers"),
      kShared("(\\d+) bytes smem");
  std::vector<KernelUse> uses;
  std::istringstream lines(log);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, found, kName)) uses.push_back({found[1]});
    if (uses.empty()) continue;
    if (std::regex_search(line, found, kSpills)) uses.back().spilledBytes = std::stoi(found[1]) + std::stoi(found[2]);
    if (std::regex_search(line, found, kRegisters)) uses.back().registers = std::stoi(found[1]);
    if (std::regex_search(line, found, kShared)) uses.back().sharedBytes = std::stoi(found[1]);
  }
  return uses;
}

}  // namespace

Expected<Cubin> compileKernels(const std::vector<KernelSource>& sources, Storage storage, int architecture) {
  std::string code = prelude(storage);
  for (const KernelSource& source : sources)
    code += source.code;
  Compilation compilation(code);
  const bool done = compilation.run({fmt::format("-arch=sm_{}", architecture), "-std=c++17", "-default-device",
                                     "--ptxas-options=-v", "-I" PET_CUDA_INCLUDE});
  if (!done) return fail(ErrorKind::kInternal, fmt::format("NVRTC: {}: {}", compilation.error(), compilation.log()));
  return Cubin{compilation.code(), usesOf(compilation.log())};
}

}  // namespace pet::cuda
