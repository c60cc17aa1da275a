#include "runtime/cuda/gpu/rtc.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

/// Where CUDA's headers are: as CUDA_HOME says, else where they were when this was built.
std::string headers() {
  const char* home = std::getenv("CUDA_HOME");
  return home && *home ? std::string(home) + "/include" : PET_CUDA_INCLUDE;
}

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

/// A line for each kernel, an empty one, the code's bytes: their number, and they as hexadecimal digits.
std::string textOf(const Cubin& cubin) {
  std::string text;
  for (const KernelUse& use : cubin.kernels)
    text += fmt::format("{} {} {} {}\n", use.kernel, use.registers, use.spilledBytes, use.sharedBytes);
  text += fmt::format("\n{}\n", cubin.code.size());
  for (char c : cubin.code)
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// Nothing: it is no such text.
std::optional<Cubin> cubinIn(const std::string& text) {
  Cubin cubin;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && !line.empty()) {
    std::istringstream words(line);
    KernelUse use;
    if (!(words >> use.kernel >> use.registers >> use.spilledBytes >> use.sharedBytes)) return std::nullopt;
    cubin.kernels.push_back(std::move(use));
  }
  size_t bytes = 0;
  if (!(lines >> bytes >> line) || line.size() != 2 * bytes) return std::nullopt;
  for (size_t i = 0; i < line.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(&line[i], &line[i] + 2, byte, 16);
    if (error != std::errc() || end != &line[i] + 2) return std::nullopt;
    cubin.code.push_back(static_cast<char>(byte));
  }
  cubin.wasKept = true;
  return cubin;
}

}  // namespace

Expected<Cubin> compileKernels(const std::vector<KernelSource>& sources,
                               Storage storage,
                               int architecture,
                               PlanStore* store) {
  std::string code = prelude(storage);
  for (const KernelSource& source : sources)
    code += source.code;
  const std::vector<std::string> options{fmt::format("-arch=sm_{}", architecture), "-std=c++17", "-default-device",
                                         "--ptxas-options=-v", "-I" + headers()};
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  const std::string key = fmt::format("NVRTC {}.{} {}\n{}", major, minor, fmt::join(options, " "), code);
  if (store) {
    auto text = store->find(key);
    if (!text) return tl::unexpected(text.error());
    if (auto cubin = *text ? cubinIn(**text) : std::nullopt) return std::move(*cubin);
  }
  Compilation compilation(code);
  if (!compilation.run(options))
    return fail(ErrorKind::kInternal, fmt::format("NVRTC: {}: {}", compilation.error(), compilation.log()));
  Cubin cubin{compilation.code(), usesOf(compilation.log())};
  if (store) {
    if (auto ok = store->put(key, textOf(cubin)); !ok) return tl::unexpected(ok.error());
  }
  return cubin;
}

}  // namespace pet::cuda
