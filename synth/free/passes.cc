#include "synth/free/passes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace pet::freemode {
namespace {

constexpr std::string_view kHeading = "pet free 1", kEnd = "end\n";
constexpr size_t kNumbersOfEquality = 11;

std::string textOf(const Candidate& c) {
  return fmt::format("{} {} {} {} {}", c.fingerprint, c.size, c.application.step, c.application.a, c.application.b);
}

/// The numbers of a line and nothing else; nullopt if it has others.
std::optional<std::vector<uint64_t>> numbersOf(std::string_view line) {
  std::vector<uint64_t> numbers;
  const char *at = line.data(), *end = at + line.size();
  while (at != end) {
    uint64_t value = 0;
    auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next != end && *next != ' ')) return std::nullopt;
    numbers.push_back(value);
    at = next == end ? end : next + 1;
  }
  return numbers;
}

Candidate candidateOf(const uint64_t* n) {
  return {n[0],
          {static_cast<uint32_t>(n[2]), static_cast<ClassId>(n[3]), static_cast<ClassId>(n[4])},
          static_cast<uint32_t>(n[1])};
}

}  // namespace

bool Found::before(const Found& o) const {
  auto key = [](const Found& f) {
    return std::tie(f.left.size, f.right.size, f.left.application, f.right.application);
  };
  return key(*this) < key(o);
}

void Passes::keep(uint64_t key, const Found& f) {
  auto [it, isNew] = found.emplace(key, f);
  if (!isNew && f.before(it->second)) it->second = f;
}

std::string print(const Passes& p, const std::string& search) {
  std::string text = fmt::format("{}\n{}\n{} {} {} {} {} {} {}\n", kHeading, search, p.done, p.count, p.level.evaluated,
                                 p.level.graphs, p.level.classes, p.raw, p.found.size());
  std::vector<uint64_t> keys;
  for (const auto& [key, f] : p.found)
    keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (uint64_t key : keys)
    text += fmt::format("{} {} {}\n", key, textOf(p.found.at(key).left), textOf(p.found.at(key).right));
  return text.append(kEnd);
}

Expected<Passes> parsePasses(std::string_view text, const std::string& search, const std::string& file) {
  auto line = [&]() -> std::string_view {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view first = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return first;
  };
  auto damaged = [&] { return fail(ErrorKind::kPack, "damaged, or no checkpoint", file, "begin anew without it"); };
  if (line() != kHeading) return damaged();
  if (line() != search) {
    return fail(ErrorKind::kUsage, "is of another search", file,
                "give the arguments that it was begun with, or another file");
  }
  auto head = numbersOf(line());
  if (!head || head->size() != 7 || (*head)[0] > (*head)[1] || (*head)[1] > std::numeric_limits<uint32_t>::max()) {
    return damaged();
  }
  Passes p;
  p.done = static_cast<uint32_t>((*head)[0]);
  p.count = static_cast<uint32_t>((*head)[1]);
  p.level.evaluated = (*head)[2];
  p.level.graphs = (*head)[3];
  p.level.classes = (*head)[4];
  p.raw = (*head)[5];
  for (uint64_t i = 0; i < (*head)[6]; ++i) {
    auto n = numbersOf(line());
    if (!n || n->size() != kNumbersOfEquality) return damaged();
    p.found.emplace((*n)[0], Found{candidateOf(n->data() + 1), candidateOf(n->data() + 6)});
  }
  if (text != kEnd) return damaged();
  return p;
}

}  // namespace pet::freemode
