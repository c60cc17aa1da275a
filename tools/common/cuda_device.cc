#include "tools/common/cuda_device.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/common/share.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

constexpr std::string_view kCuda = "cuda";

/// Of kPrecisions: some roundings to 24, 11, 11 and 8 bits.
constexpr std::array kRoundings{1e-3, 5e-3, 2e-2, 1e-1};

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Small letters, digits and -.
bool isName(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-'; });
}

/// Letters and digits in small letters; what is between them separates words.
std::vector<std::string> wordsOf(std::string_view name) {
  std::vector<std::string> words;
  bool isOpen = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte)) {
      isOpen = false;
      continue;
    }
    if (!std::exchange(isOpen, true)) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(byte));
  }
  return words;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

}  // namespace

std::string CudaDevice::str() const {
  std::string text(kCuda);
  const bool isUsual = precision == kPrecisions[0];
  if (!gpu.empty() || !isUsual) text += ":" + (gpu.empty() ? "0" : gpu);
  return isUsual ? text : text + ":" + precision;
}

bool CudaDevice::isNamed() const {
  return !gpu.empty() && !isNumber(gpu);
}

Expected<std::optional<CudaDevice>> cudaDevice(std::string_view device) {
  std::vector<std::string> parts;
  std::istringstream text{std::string(device)};
  for (std::string part; std::getline(text, part, ':');)
    parts.push_back(std::move(part));
  if (parts.empty() || parts[0] != kCuda) return std::nullopt;
  const bool isWhole = parts.size() <= 3 && !device.ends_with(':') && std::all_of(parts.begin(), parts.end(), isName);
  if (!isWhole)
    return fail(ErrorKind::kUsage, "no device", std::string(device),
                "a GPU is cuda:h200, with a precision cuda:h200:tf32");
  CudaDevice found;
  if (parts.size() > 1) found.gpu = parts[1];
  if (parts.size() > 2) found.precision = parts[2];
  if (std::find(kPrecisions.begin(), kPrecisions.end(), found.precision) == kPrecisions.end())
    return unknownName("precision", found.precision, {kPrecisions.begin(), kPrecisions.end()});
  return found;
}

Expected<std::string> settledDevice(const std::string& device) {
  auto gpu = cudaDevice(device);
  if (!gpu) return tl::unexpected(gpu.error());
  return *gpu ? (*gpu)->str() : device;
}

std::set<std::string> describedGpus() {
  std::set<std::string> names;
  const auto folder = shareFolder();
  std::error_code ignored;
  if (!folder) return names;
  for (const auto& file : std::filesystem::directory_iterator(*folder / kCuda, ignored)) {
    if (file.path().extension() == ".json") names.insert(file.path().stem());
  }
  return names;
}

bool isGpuNamed(std::string_view driversName, std::string_view name) {
  const std::string wanted = joined(wordsOf(name), "");
  const auto words = wordsOf(driversName);
  for (size_t first = 0; first < words.size(); ++first) {
    std::string text;
    for (size_t i = first; i < words.size() && text.size() < wanted.size(); ++i)
      text += words[i];
    if (!wanted.empty() && text == wanted) return true;
  }
  return false;
}

std::string shortGpuName(std::string_view driversName, const std::set<std::string>& described) {
  for (const std::string& name : described) {
    if (isGpuNamed(driversName, name)) return name;
  }
  auto words = wordsOf(driversName);
  std::erase(words, "nvidia");
  return words.empty() ? "gpu" : joined(words, "-");
}

double largestRounding(std::string_view device) {
  const auto found = cudaDevice(device);
  const std::string precision = found && *found ? (*found)->precision : CudaDevice().precision;
  return kRoundings.at(
      static_cast<size_t>(std::find(kPrecisions.begin(), kPrecisions.end(), precision) - kPrecisions.begin()));
}

}  // namespace pet::tool
