// The text form of timings.

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

#include "rules/pack/database.h"
#include "rules/pack/file.h"
#include "rules/pack/machine_text.h"
#include "rules/pack/timing_sample.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const TimingSample& s) {
  Json shapes = Json::object();
  for (const auto& [symbol, value] : s.shapes)
    shapes[symbol] = value;
  return {{"name", s.name},       {"rule", s.rule},       {"device", s.device},
          {"shapes", shapes},     {"pattern", s.pattern}, {"replacement", s.replacement},
          {"opening", s.opening}, {"closing", s.closing}, {"moved", s.moved},
          {"spread", s.spread},   {"weights", s.weights}, {"engine", s.engine},
          {"version", s.version}, {"isa", s.isa},         {"machine", s.machine},
          {"threads", s.threads}, {"date", s.date}};
}

TimingSample fromJson(const Json& j) {
  return {.rule = j.at("rule"),
          .name = j.at("name"),
          .device = j.at("device"),
          .shapes = shapesOf(j.at("shapes")),
          .engine = j.at("engine"),
          .version = j.at("version"),
          .isa = j.at("isa"),
          .machine = j.value("machine", ""),
          .threads = integer<int>(j.at("threads")),
          .pattern = j.at("pattern"),
          .replacement = j.at("replacement"),
          .spread = j.at("spread"),
          .date = j.at("date"),
          .opening = j.value("opening", 0.0),  // of an older pet: not there
          .closing = j.value("closing", 0.0),
          .moved = j.contains("moved") ? integer<int64_t>(j["moved"]) : 0,
          .weights = j.value("weights", "cold")};
}

/// One line. kPack, with file:line.
Expected<TimingSample> parseSample(std::string_view line, const std::string& file, int number) {
  auto refuse = [&](std::string what) {
    return fail(ErrorKind::kPack, std::move(what), fmt::format("{}:{}", file, number),
                "expected one JSON sample a line");
  };
  try {
    TimingSample s = fromJson(parseJson(line));
    if (const char* why = nonsense(s)) return refuse(why);
    return s;
  } catch (const std::exception& e) {
    return refuse(e.what());
  }
}

/// A line that describes a machine, as print() writes it, spaces aside.
bool isMachine(std::string_view line) {
  constexpr std::string_view kSpaces = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  if (!line.starts_with('{')) return false;
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces, 1), line.size()));
  return line.starts_with(R"("machine")");
}

Expected<void> addMachine(std::string_view line, const std::string& file, int number, Timings& timings) {
  auto machine = parseMachine(line, fmt::format("{}:{}", file, number));
  if (!machine) return tl::unexpected(machine.error());
  timings.add(std::move(*machine));
  if (timings.machines().size() > kMostMachines)
    return fail(ErrorKind::kPack, "more than 1000 machines", fmt::format("{}:{}", file, number));
  return {};
}

/// Calls enter(line, number) for each line that is not empty, until it fails.
template <class Enter>
Expected<void> forEachLine(std::string_view text, const std::string& file, const Enter& enter) {
  size_t count = 0;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (auto ok = enter(line, number); !ok) return ok;
    if (++count > kMostSamples) return fail(ErrorKind::kPack, kTooMany, fmt::format("{}:{}", file, number));
  }
  return {};
}

// --- Lines as print() writes them ---

/// What stands behind `text`, if the line goes on with it.
bool skip(std::string_view& line, std::string_view text) {
  if (!line.starts_with(text)) return false;
  line.remove_prefix(text.size());
  return true;
}

/// A string without escapes, and the quote behind it.
std::string_view quoted(std::string_view& line) {
  const std::string_view text = line.substr(0, line.find_first_of("\"\\"));
  line.remove_prefix(text.size());
  return skip(line, "\"") ? text : std::string_view();
}

/// The fields that such a line begins with; empty ones: it is none.
struct Head {
  explicit Head(std::string_view line) {
    if (!skip(line, R"({"name":")") || quoted(line).empty() || !skip(line, R"(,"rule":")")) return;
    const std::string_view hash = quoted(line);
    if (!skip(line, R"(,"device":")")) return;
    device = quoted(line);
    rule = device.empty() ? std::string_view() : hash;
  }
  std::string_view rule, device;
};

template <class T>
bool numberOf(std::string_view line, std::string_view key, T& value) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return false;
  const char* begin = line.data() + at + key.size();
  return std::from_chars(begin, line.data() + line.size(), value).ec == std::errc();
}

/// The text behind a key, without escapes; nothing: it is not there.
std::optional<std::string> textOf(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  if (line.starts_with('"')) return "";
  const std::string_view text = quoted(line);
  return text.empty() ? std::nullopt : std::optional(std::string(text));
}

/// The layouts of such a line; nullopt: it has to be parsed.
std::optional<LayoutSample> layoutOf(std::string_view line) {
  LayoutSample s;
  double opening = 0, closing = 0;
  bool isCold = line.find(R"("weights":"cold")") != std::string_view::npos;
  if (!numberOf(line, R"("opening":)", opening) || !numberOf(line, R"("closing":)", closing) ||
      !numberOf(line, R"("moved":)", s.bytes) || !numberOf(line, R"("threads":)", s.threads) ||
      (!isCold && line.find(R"("weights":"warm")") == std::string_view::npos))
    return std::nullopt;
  auto isa = textOf(line, R"("isa":")"), machine = textOf(line, R"("machine":")");
  if (!isa || !machine) return std::nullopt;
  s.seconds = opening + closing;
  s.weights = isCold ? "cold" : "warm";
  s.isa = std::move(*isa);
  s.machine = std::move(*machine);
  return s;
}

}  // namespace

std::string print(const Timings& timings) {
  std::string text;
  for (const auto& [name, machine] : timings.machines())
    text += print(machine) + "\n";
  for (const TimingSample& s : timings.all())
    text += toJson(s).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return text;
}

Expected<Timings> parseTimings(std::string_view text, const std::string& file) {
  Timings timings;
  auto ok = forEachLine(text, file, [&](std::string_view line, int number) -> Expected<void> {
    if (isMachine(line)) return addMachine(line, file, number, timings);
    auto sample = parseSample(line, file, number);
    if (!sample) return tl::unexpected(sample.error());
    timings.add(std::move(*sample));
    return {};
  });
  if (!ok) return tl::unexpected(ok.error());
  return timings;
}

// --- OpenTimings ---

Expected<OpenTimings> OpenTimings::open(const std::string& path) {
  auto bytes = readFile(path, ErrorKind::kPack);
  if (!bytes) return tl::unexpected(bytes.error());
  return openBytes(std::move(*bytes), path);
}

Expected<OpenTimings> OpenTimings::openBytes(std::string bytes, const std::string& name) {
  OpenTimings timings;
  timings.name_ = name;
  if (looksLikeDatabase(bytes)) {
    auto database = readTimingsBytes(bytes, name);
    if (!database) return tl::unexpected(database.error());
    timings.database_ = std::move(*database);
    return timings;
  }
  timings.text_ = std::move(bytes);
  const char* begin = timings.text_.data();
  auto ok = forEachLine(timings.text_, name, [&](std::string_view line, int number) -> Expected<void> {
    std::string rule(Head(line).rule);
    if (rule.empty() && isMachine(line)) return addMachine(line, name, number, timings.database_);
    if (rule.empty()) {
      auto sample = parseSample(line, name, number);
      if (!sample) return tl::unexpected(sample.error());
      rule = sample->rule;
    }
    timings.lines_[std::move(rule)].push_back({static_cast<size_t>(line.data() - begin), line.size(), number});
    return {};
  });
  if (!ok) return tl::unexpected(ok.error());
  return timings;
}

Expected<TimingSample> OpenTimings::sampleOf(const Line& line) const {
  return parseSample(std::string_view(text_).substr(line.begin, line.size), name_, line.number);
}

Expected<std::vector<TimingSample>> OpenTimings::samples(const std::string& ruleHash, const std::string& device) const {
  auto lines = lines_.find(ruleHash);
  if (lines == lines_.end()) return database_.samples(ruleHash, device);
  Timings timings;  // of one setting the last one counts
  for (const Line& line : lines->second) {
    auto sample = sampleOf(line);
    if (!sample) return tl::unexpected(sample.error());
    timings.add(std::move(*sample));
  }
  return timings.samples(ruleHash, device);
}

Expected<std::set<std::string>> OpenTimings::devices() const {
  std::set<std::string> devices;
  for (const TimingSample& s : database_.all())
    devices.insert(s.device);
  for (const auto& [rule, lines] : lines_) {
    for (const Line& line : lines) {
      const std::string_view of = Head(std::string_view(text_).substr(line.begin, line.size)).device;
      if (!of.empty()) {
        devices.emplace(of);
        continue;
      }
      auto sample = sampleOf(line);
      if (!sample) return tl::unexpected(sample.error());
      devices.insert(sample->device);
    }
  }
  return devices;
}

Expected<std::vector<LayoutSample>> OpenTimings::layouts(const std::string& device) const {
  std::vector<LayoutSample> result = database_.layouts(device);
  for (const auto& [rule, lines] : lines_) {
    for (const Line& line : lines) {
      const std::string_view text = std::string_view(text_).substr(line.begin, line.size);
      const std::string_view of = Head(text).device;
      if (!of.empty() && of != device) continue;
      if (auto layout = of.empty() ? std::nullopt : layoutOf(text)) {
        result.push_back(std::move(*layout));
        continue;
      }
      auto sample = sampleOf(line);
      if (!sample) return tl::unexpected(sample.error());
      if (sample->device == device) result.push_back(layoutOf(*sample));
    }
  }
  return result;
}

}  // namespace pet
