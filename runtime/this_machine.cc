#include "runtime/this_machine.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <sys/utsname.h>

namespace pet {
namespace {

using Fields = std::map<std::string, std::string>;

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// What /proc/cpuinfo says of the first processor.
Fields fieldsOf(const std::string& path) {
  Fields fields;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos && !fields.empty()) break;
    if (colon != std::string::npos) fields.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return fields;
}

std::string textOf(const Fields& fields, const char* key) {
  auto at = fields.find(key);
  return at == fields.end() ? "" : at->second;
}

/// Decimal, or hexadecimal behind 0x; 0 where there is none.
int numberOf(const Fields& fields, const char* key) {
  return static_cast<int>(std::strtol(textOf(fields, key).c_str(), nullptr, 0));
}

std::string isaOf(const std::string& words) {
  std::istringstream in(words);
  const std::set<std::string> flags{std::istream_iterator<std::string>(in), {}};
  auto has = [&](const char* flag) { return flags.contains(flag); };
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl")) return "avx512";
  if (has("avx2")) return "avx2";
  if (has("sse2")) return "sse2";
  if (has("asimd")) return "neon";
  utsname names{};
  return uname(&names) == 0 ? names.machine : "";
}

std::string lineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return trimmed(line);
}

/// "48K" -> 49152; 0 where it is no size.
int64_t bytesOf(const std::string& text) {
  std::istringstream in(text);
  int64_t size = 0;
  char unit = 0;
  if (!(in >> size)) return 0;
  in >> unit;
  return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
}

/// Of the folders index0, index1, … (std::filesystem's iterators end the program where memory runs out.)
void readCaches(const std::string& folder, Machine& machine) {
  for (int i = 0;; ++i) {
    const std::string index = folder + "/index" + std::to_string(i), level = lineOf(index + "/level");
    if (level.empty()) return;
    int64_t* caches[] = {&machine.l1d, &machine.l2, &machine.l3};
    const int which = std::atoi(level.c_str());
    if (which >= 1 && which <= 3 && lineOf(index + "/type") != "Instruction")
      *caches[which - 1] = bytesOf(lineOf(index + "/size"));
  }
}

}  // namespace

Machine thisMachine(const std::string& root) {
  const Fields fields = fieldsOf(root + "/proc/cpuinfo");
  Machine m{.vendor = textOf(fields, "vendor_id"),
            .family = numberOf(fields, "cpu family"),
            .model = numberOf(fields, "model"),
            .cpu = textOf(fields, "model name"),
            .isa = isaOf(textOf(fields, "flags") + " " + textOf(fields, "Features"))};
  if (m.vendor.empty()) {  // Arm's architecture and part take the place of family and model
    m.vendor = textOf(fields, "CPU implementer");
    m.family = numberOf(fields, "CPU architecture");
    m.model = numberOf(fields, "CPU part");
  }
  readCaches(root + "/sys/devices/system/cpu/cpu0/cache", m);
  return m;
}

}  // namespace pet
