#include "tools/runner/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <sched.h>
#include <sys/utsname.h>

namespace pet::runner {
namespace {

/// Bytes; at least 32 MB, where nothing is known.
size_t lastLevelCache() {
  size_t largest = size_t{32} << 20;
  std::error_code ignored;
  for (const auto& index : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", ignored)) {
    std::ifstream file(index.path() / "size");
    size_t size = 0;
    char unit = 0;
    if (!(file >> size)) continue;
    file >> unit;
    largest = std::max(largest, size << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0));
  }
  return largest;
}

std::string isaOf(const std::set<std::string>& flags) {
  auto has = [&](const char* flag) { return flags.contains(flag); };
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl")) return "avx512";
  if (has("avx2")) return "avx2";
  if (has("sse2")) return "sse2";
  if (has("asimd")) return "neon";
  utsname names{};
  return uname(&names) == 0 ? names.machine : "";
}

}  // namespace

Processor processor() {
  std::set<std::string> flags;
  std::string name;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    std::istringstream words(line.substr(colon + 1));
    if (key == "flags" || key == "Features") flags.insert(std::istream_iterator<std::string>(words), {});
    if (key == "model name") std::getline(words >> std::ws, name);
  }
  return {isaOf(flags), name};
}

Affinity::Affinity(int cpu) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) allowed_.push_back(i);
  }
  if (std::find(allowed_.begin(), allowed_.end(), cpu) != allowed_.end()) cpu_ = cpu;
}

void Affinity::hold(int threads) const {
  if (allowed_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (threads == 1 && cpu_ >= 0) {
    CPU_SET(cpu_, &set);
  } else {
    size_t count = std::min(allowed_.size(), static_cast<size_t>(threads));
    for (size_t i = allowed_.size() - count; i < allowed_.size(); ++i)
      CPU_SET(allowed_[i], &set);
  }
  sched_setaffinity(0, sizeof set, &set);
}

CacheFlush::CacheFlush() : buffer_(2 * lastLevelCache() / sizeof(long)) {}

void CacheFlush::operator()() {
  for (long& x : buffer_)
    ++x;
  asm volatile("" : : "g"(buffer_.data()) : "memory");
}

}  // namespace pet::runner
