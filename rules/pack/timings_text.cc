// The text form of timings.

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "rules/pack/database.h"
#include "rules/pack/digest.h"
#include "rules/pack/file.h"
#include "rules/pack/machine_text.h"
#include "rules/pack/timing_sample.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

// --- Samples ---

constexpr const char* kSetting = "setting";

/// What samples have in common that were taken together, as a line says it.
Json settingToJson(const TimingSample& s) {
  Json object = {{"device", s.device},   {"engine", s.engine},   {"version", s.version}, {"isa", s.isa},
                 {"machine", s.machine}, {"threads", s.threads}, {"weights", s.weights}, {"date", s.date}};
  if (s.place != "between") object["place"] = s.place;
  if (s.opset != kUsualOpset) object["opset"] = s.opset;
  return object;
}

/// The keys of a setting.
bool isOfSetting(std::string_view key) {
  constexpr std::array kKeys{"device",  "engine",  "version", "isa",   "machine",
                             "threads", "weights", "date",    "place", "opset"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::string dumped(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Follows from what it says: texts of different files have one name for one setting, and lines of both can be joined.
std::string nameOf(const std::string& setting) {
  constexpr size_t kDigits = 16;
  return Digest().add("pet setting").add(setting).hex().substr(0, kDigits);
}

std::string settingLine(const std::string& setting) {
  return fmt::format(R"({{"setting":"{}",{})", nameOf(setting), std::string_view(setting).substr(1));
}

Json toJson(const TimingSample& s) {
  Json shapes = Json::object();
  for (const auto& [symbol, value] : s.shapes)
    shapes[symbol] = value;
  Json object = {{"name", s.name},   {"rule", s.rule},       {kSetting, nameOf(dumped(settingToJson(s)))},
                 {"shapes", shapes}, {"pattern", s.pattern}, {"replacement", s.replacement}};
  if (s.opening != 0) object["opening"] = s.opening;
  if (s.closing != 0) object["closing"] = s.closing;
  if (s.moved != 0) object["moved"] = s.moved;
  object["spread"] = s.spread;
  return object;
}

/// A sample with nothing but a setting.
TimingSample readSetting(const Json& j) {
  TimingSample s;
  s.device = j.at("device");
  s.engine = j.at("engine");
  s.version = j.at("version");
  s.isa = j.at("isa");
  s.machine = j.value("machine", "");
  s.threads = integer<int>(j.at("threads"));
  s.weights = j.value("weights", "cold");
  s.place = j.value("place", "between");
  s.opset = j.contains("opset") ? integer<int>(j["opset"]) : kUsualOpset;
  s.date = j.at("date");
  return s;
}

/// Settings by name.
using Settings = std::map<std::string, TimingSample, std::less<>>;

/// The setting that a sample names, or has itself, as an older pet wrote it.
TimingSample settingFor(const Json& j, const Settings& settings) {
  if (!j.contains(kSetting)) return readSetting(j);
  for (const auto& [key, value] : j.items()) {
    if (isOfSetting(key)) throw std::invalid_argument("it has a setting, and " + key + " besides");
  }
  auto known = settings.find(j.at(kSetting).get_ref<const std::string&>());
  if (known == settings.end()) throw std::invalid_argument("no line before it says what its setting is");
  return known->second;
}

TimingSample fromJson(const Json& j, const Settings& settings) {
  TimingSample s = settingFor(j, settings);
  s.rule = j.at("rule");
  s.name = j.at("name");
  s.shapes = shapesOf(j.at("shapes"));
  s.pattern = j.at("pattern");
  s.replacement = j.at("replacement");
  s.spread = j.at("spread");
  s.opening = j.value("opening", 0.0);
  s.closing = j.value("closing", 0.0);
  s.moved = j.contains("moved") ? integer<int64_t>(j["moved"]) : 0;
  return s;
}

// --- Samples as print() writes them ---

/// What stands behind `text`, if the line goes on with it.
bool skip(std::string_view& line, std::string_view text) {
  if (!line.starts_with(text)) return false;
  line.remove_prefix(text.size());
  return true;
}

/// A string of printable ASCII without escapes, and the quote behind it.
std::string_view quoted(std::string_view& line) {
  auto isPlain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  const auto end = std::find_if_not(line.begin(), line.end(), isPlain);
  const std::string_view text = line.substr(0, static_cast<size_t>(end - line.begin()));
  line.remove_prefix(text.size());
  return skip(line, "\"") ? text : std::string_view();
}

/// The fields that such a line begins with, and what stands behind them; empty ones: it is none.
struct Head {
  explicit Head(std::string_view line) {
    if (!skip(line, R"({"name":")")) return;
    name = quoted(line);
    if (name.empty() || !skip(line, R"(,"rule":")")) return;
    const std::string_view hash = quoted(line);
    if (!skip(line, R"(,"setting":")")) return;
    setting = quoted(line);
    rule = setting.empty() ? std::string_view() : hash;
    rest = line;
  }
  std::string_view name, rule, setting, rest;
};

template <class T>
bool takeNumber(std::string_view& line, T& value) {
  if (line.find_first_of("-0123456789") != 0) return false;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return error == std::errc();
}

/// The number behind such text, if the line goes on with it; it may be left out. False: it is none.
template <class T>
bool takeOptional(std::string_view& line, std::string_view text, T& value) {
  return !skip(line, text) || takeNumber(line, value);
}

/// {"C":64,"H":56}
bool takeShapes(std::string_view& line, Bindings& shapes) {
  if (!skip(line, "{")) return false;
  if (skip(line, "}")) return true;
  do {
    if (!skip(line, "\"")) return false;
    const std::string_view symbol = quoted(line);
    int64_t value = 0;
    if (symbol.empty() || !skip(line, ":") || !takeNumber(line, value) || !shapes.emplace(symbol, value).second)
      return false;
  } while (skip(line, ","));
  return skip(line, "}");
}

/// Such a line as a sample; nullopt: it has to be parsed.
std::optional<TimingSample> asPrinted(std::string_view line, const Settings& settings) {
  const Head head(line);
  auto setting = head.rule.empty() ? settings.end() : settings.find(head.setting);
  if (setting == settings.end()) return std::nullopt;
  TimingSample s = setting->second;
  s.name = head.name;
  s.rule = head.rule;
  line = head.rest;
  const bool isRead = skip(line, R"(,"shapes":)") && takeShapes(line, s.shapes) && skip(line, R"(,"pattern":)") &&
                      takeNumber(line, s.pattern) && skip(line, R"(,"replacement":)") &&
                      takeNumber(line, s.replacement) && takeOptional(line, R"(,"opening":)", s.opening) &&
                      takeOptional(line, R"(,"closing":)", s.closing) && takeOptional(line, R"(,"moved":)", s.moved) &&
                      skip(line, R"(,"spread":)") && takeNumber(line, s.spread) && line == "}";
  return isRead ? std::optional(std::move(s)) : std::nullopt;
}

/// What such a line says of its layouts; nullopt: it has to be parsed.
std::optional<LayoutSample> layoutOf(std::string_view line, const TimingSample& setting) {
  double opening = 0, closing = 0;
  int64_t moved = 0;
  auto find = [&](std::string_view key, auto& value) {
    std::string_view rest = line.substr(std::min(line.find(key), line.size()));
    return takeOptional(rest, key, value);
  };
  if (!find(R"(,"opening":)", opening) || !find(R"(,"closing":)", closing) || !find(R"(,"moved":)", moved))
    return std::nullopt;
  return LayoutSample{opening + closing, moved, setting.threads, setting.weights, setting.isa, setting.machine};
}

// --- Lines ---

/// What read() gives or throws; kPack, with file:line.
template <class Read>
auto readLine(const std::string& file, int number, const Read& read) -> Expected<decltype(read())> {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return fail(ErrorKind::kPack, e.what(), fmt::format("{}:{}", file, number), "expected one JSON object a line");
  }
}

Expected<TimingSample> parseSample(std::string_view line,
                                   const Settings& settings,
                                   const std::string& file,
                                   int number) {
  return readLine(file, number, [&] {
    auto printed = asPrinted(line, settings);
    TimingSample s = printed ? std::move(*printed) : fromJson(parseJson(line), settings);
    if (const char* why = nonsense(s)) throw std::invalid_argument(why);
    return s;
  });
}

/// Whether this is a line's first key, in quotes, spaces aside.
bool beginsWith(std::string_view line, std::string_view key) {
  constexpr std::string_view kSpaces = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  if (!line.starts_with('{')) return false;
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces, 1), line.size()));
  return line.starts_with(key);
}

bool isMachine(std::string_view line) {
  return beginsWith(line, R"("machine")");
}

bool isSetting(std::string_view line) {
  return beginsWith(line, R"("setting")");
}

Expected<void> addMachine(std::string_view line, const std::string& file, int number, Timings& timings) {
  auto machine = parseMachine(line, fmt::format("{}:{}", file, number));
  if (!machine) return tl::unexpected(machine.error());
  timings.add(std::move(*machine));
  if (timings.machines().size() > kMostMachines)
    return fail(ErrorKind::kPack, "more than 1000 machines", fmt::format("{}:{}", file, number));
  return {};
}

/// A name stands for one setting.
Expected<void> addSetting(std::string_view line, const std::string& file, int number, Settings& settings) {
  if (settings.size() == kMostSamples)
    return fail(ErrorKind::kPack, "more than 100000 settings", fmt::format("{}:{}", file, number));
  auto added = readLine(file, number, [&] {
    const Json j = parseJson(line);
    const TimingSample setting = readSetting(j);
    if (const char* why = nonsenseOfSetting(setting)) throw std::invalid_argument(why);
    const auto [known, isNew] = settings.emplace(j.at(kSetting).get<std::string>(), setting);
    if (known->second != setting) throw std::invalid_argument("a line before it says something else of this setting");
    return isNew;
  });
  return added.map([](bool) {});
}

/// Calls enter(line, number) for each line that is not empty, until it fails.
template <class Enter>
Expected<void> forEachLine(std::string_view text, const Enter& enter) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (auto ok = enter(line, number); !ok) return ok;
  }
  return {};
}

Expected<void> countSample(size_t& count, const std::string& file, int number) {
  if (++count > kMostSamples) return fail(ErrorKind::kPack, kTooMany, fmt::format("{}:{}", file, number));
  return {};
}

}  // namespace

std::string print(const Timings& timings) {
  std::string text, lines;
  std::set<std::string> settings;
  for (const auto& [name, machine] : timings.machines())
    text += print(machine) + "\n";
  for (const TimingSample& s : timings.all()) {
    settings.insert(dumped(settingToJson(s)));
    lines += dumped(toJson(s)) + "\n";
  }
  for (const std::string& setting : settings)
    text += settingLine(setting) + "\n";
  return text + lines;
}

Expected<Timings> parseTimings(std::string_view text, const std::string& file) {
  Timings timings;
  Settings settings;
  size_t samples = 0;
  auto ok = forEachLine(text, [&](std::string_view line, int number) -> Expected<void> {
    if (isMachine(line)) return addMachine(line, file, number, timings);
    if (isSetting(line)) return addSetting(line, file, number, settings);
    if (auto few = countSample(samples, file, number); !few) return few;
    auto sample = parseSample(line, settings, file, number);
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

Expected<OpenTimings> OpenTimings::openBoth(const std::string& path, const std::string& more) {
  auto added = readTimings(more);
  if (!added) return tl::unexpected(added.error());
  auto text = readFile(path, ErrorKind::kPack);
  if (text && looksLikeDatabase(*text))
    text = readTimingsBytes(*text, path).map([](const Timings& t) { return print(t); });
  if (!text) return tl::unexpected(text.error());
  return openBytes(*text + "\n" + print(*added), path);
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
  size_t samples = 0;
  auto ok = forEachLine(timings.text_, [&](std::string_view line, int number) -> Expected<void> {
    if (isMachine(line)) return addMachine(line, name, number, timings.database_);
    if (isSetting(line)) return addSetting(line, name, number, timings.settings_);
    if (auto few = countSample(samples, name, number); !few) return few;
    return timings.enter(line, number);
  });
  if (!ok) return tl::unexpected(ok.error());
  return timings;
}

/// A line whose setting is not known is parsed to say so.
Expected<void> OpenTimings::enter(std::string_view text, int number) {
  Line line{static_cast<size_t>(text.data() - text_.data()), text.size(), number};
  const Head head(text);
  auto setting = head.rule.empty() ? settings_.end() : settings_.find(head.setting);
  if (setting != settings_.end()) {
    line.setting = &setting->second;
    linesOf(head.rule).push_back(line);
    return {};
  }
  auto sample = parseSample(text, settings_, name_, number);
  if (!sample) return tl::unexpected(sample.error());
  linesOf(sample->rule).push_back(line);
  return {};
}

std::vector<OpenTimings::Line>& OpenTimings::linesOf(std::string_view rule) {
  auto lines = lines_.find(rule);
  return (lines != lines_.end() ? lines : lines_.emplace(rule, std::vector<Line>()).first)->second;
}

std::string_view OpenTimings::textOf(const Line& line) const {
  return std::string_view(text_).substr(line.begin, line.size);
}

Expected<TimingSample> OpenTimings::sampleOf(const Line& line) const {
  return parseSample(textOf(line), settings_, name_, line.number);
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
  std::set<const TimingSample*> settings;
  for (const TimingSample& s : database_.all())
    devices.insert(s.device);
  for (const auto& [rule, lines] : lines_) {
    for (const Line& line : lines) {
      if (line.setting) {
        settings.insert(line.setting);
        continue;
      }
      auto sample = sampleOf(line);
      if (!sample) return tl::unexpected(sample.error());
      devices.insert(sample->device);
    }
  }
  for (const TimingSample* setting : settings)
    devices.insert(setting->device);
  return devices;
}

Expected<std::vector<LayoutSample>> OpenTimings::layouts(const std::string& device) const {
  std::vector<LayoutSample> result = database_.layouts(device);
  auto enter = [&](LayoutSample layout) {
    if (layout.bytes > 0) result.push_back(std::move(layout));
  };
  for (const auto& [rule, lines] : lines_) {
    for (const Line& line : lines) {
      if (line.setting && line.setting->device != device) continue;
      if (auto layout = line.setting ? layoutOf(textOf(line), *line.setting) : std::nullopt) {
        enter(std::move(*layout));
        continue;
      }
      auto sample = sampleOf(line);
      if (!sample) return tl::unexpected(sample.error());
      if (sample->device == device) enter(layoutOf(*sample));
    }
  }
  return result;
}

}  // namespace pet
