// The text form of timings.

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "rules/pack/digest.h"
#include "rules/pack/machine_text.h"
#include "rules/pack/timing_lines.h"
#include "rules/pack/timing_sample.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

// --- Samples ---

constexpr const char* kNoSetting = "no line before it says what its setting is";
constexpr const char* kNoRule = "no line before it says which rule it is of";

constexpr const char* kSetting = "setting";
constexpr const char* kHash = "hash";  // what begins the line of a rule: samples of older texts may begin with "rule"

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

// A name follows from what it stands for: texts of different files have one name for one thing, and lines of both can
// be joined.

constexpr size_t kNameDigits = 12;

std::string nameOfSetting(const std::string& setting) {
  return Digest().add("pet setting").add(setting).hex().substr(0, kNameDigits);
}

std::string nameOf(const NamedRule& rule) {
  Digest digest;
  digest.add("pet timed rule").add(rule.hash).add(rule.name);
  for (const std::string& symbol : rule.symbols)
    digest.add(symbol);
  return digest.hex().substr(0, kNameDigits);
}

std::string settingLine(const std::string& setting) {
  return fmt::format(R"({{"setting":"{}",{})", nameOfSetting(setting), std::string_view(setting).substr(1));
}

std::string ruleLine(const NamedRule& rule) {
  return dumped({{kHash, rule.hash}, {"name", rule.name}, {"symbols", rule.symbols}, {"rule", nameOf(rule)}});
}

NamedRule ruleOf(const TimingSample& s) {
  NamedRule rule{s.rule, s.name, {}};
  for (const auto& [symbol, value] : s.shapes)
    rule.symbols.push_back(symbol);
  return rule;
}

/// A sample, in the order in which fromArray() and asPrinted() read it; `rule` and `setting` are their names.
std::string sampleLine(const TimingSample& s, const std::string& rule, const std::string& setting) {
  Json extents = Json::array();
  for (const auto& [symbol, value] : s.shapes)
    extents.push_back(value);
  Json line = {rule, setting, extents, s.pattern, s.replacement, s.spread};
  if (s.opening != 0 || s.closing != 0 || s.moved != 0) line.insert(line.end(), {s.opening, s.closing, s.moved});
  return dumped(line);
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

/// What the key names, as a line before said; else throws what is missing.
template <class T>
const T& named(const Json& key, const TimingNames::By<T>& names, const char* missing) {
  auto known = names.find(key.get_ref<const std::string&>());
  if (known == names.end()) throw std::invalid_argument(missing);
  return known->second;
}

/// An object's setting, which it names or has itself, as an older pet wrote it.
TimingSample settingFor(const Json& j, const TimingNames& names) {
  if (!j.contains(kSetting)) return readSetting(j);
  for (const auto& [key, value] : j.items()) {
    if (isOfSetting(key)) throw std::invalid_argument("it has a setting, and " + key + " besides");
  }
  return named(j[kSetting], names.settings, kNoSetting);
}

/// The same of its rule.
NamedRule ruleFor(const Json& j, const TimingNames& names) {
  const Json& rule = j.at("rule");
  if (!j.contains("name")) return named(rule, names.rules, kNoRule);
  if (names.rules.contains(rule.get_ref<const std::string&>()))
    throw std::invalid_argument("a line before it names its rule, and it has a name besides");
  return {rule, j["name"], {}};
}

/// A sample as an older pet wrote it.
TimingSample fromObject(const Json& j, const TimingNames& names) {
  TimingSample s = settingFor(j, names);
  NamedRule rule = ruleFor(j, names);
  s.rule = std::move(rule.hash);
  s.name = std::move(rule.name);
  s.shapes = shapesOf(j.at("shapes"));
  s.pattern = j.at("pattern");
  s.replacement = j.at("replacement");
  s.spread = j.at("spread");
  s.opening = j.value("opening", 0.0);
  s.closing = j.value("closing", 0.0);
  s.moved = j.contains("moved") ? integer<int64_t>(j["moved"]) : 0;
  return s;
}

TimingSample fromArray(const Json& j, const TimingNames& names) {
  constexpr size_t kWithoutLayouts = 6, kWithLayouts = 9;
  if (j.size() != kWithoutLayouts && j.size() != kWithLayouts)
    throw std::invalid_argument("a sample has 6 values, or 9 with those of layouts");
  const NamedRule& rule = named(j[0], names.rules, kNoRule);
  const Json& extents = j[2];
  if (!extents.is_array() || extents.size() != rule.symbols.size())
    throw std::invalid_argument("it has not one extent for each symbol of its rule");
  TimingSample s = named(j[1], names.settings, kNoSetting);
  s.rule = rule.hash;
  s.name = rule.name;
  for (size_t i = 0; i < extents.size(); ++i)
    s.shapes[rule.symbols[i]] = integer<int64_t>(extents[i]);
  s.pattern = j[3];
  s.replacement = j[4];
  s.spread = j[5];
  if (j.size() == kWithLayouts) {
    s.opening = j[6];
    s.closing = j[7];
    s.moved = integer<int64_t>(j[8]);
  }
  return s;
}

TimingSample fromJson(const Json& j, const TimingNames& names) {
  return j.is_array() ? fromArray(j, names) : fromObject(j, names);
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

template <class T>
bool takeNumber(std::string_view& line, T& value) {
  if (line.find_first_of("-0123456789") != 0) return false;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return error == std::errc();
}

/// [64,56], an extent for each symbol.
bool takeExtents(std::string_view& line, const std::vector<std::string>& symbols, Bindings& shapes) {
  if (!skip(line, "[")) return false;
  for (const std::string& symbol : symbols) {
    int64_t extent = 0;
    if ((&symbol != &symbols.front() && !skip(line, ",")) || !takeNumber(line, extent)) return false;
    shapes.emplace(symbol, extent);
  }
  return skip(line, "]");
}

/// What stands behind the extents: seconds and spread, then perhaps what layouts take, and the end of the line.
bool takeFigures(std::string_view& line, TimingSample& s) {
  auto take = [&](auto& value) { return skip(line, ",") && takeNumber(line, value); };
  if (!take(s.pattern) || !take(s.replacement) || !take(s.spread)) return false;
  if (line == "]") return true;
  return take(s.opening) && take(s.closing) && take(s.moved) && line == "]";
}

/// Such a line as a sample; nullopt: it has to be parsed.
std::optional<TimingSample> asPrinted(std::string_view line, const TimingNames& names) {
  const PrintedHead head(line, names);
  if (!head.rule) return std::nullopt;
  TimingSample s = *head.setting;
  s.rule = head.rule->hash;
  s.name = head.rule->name;
  line = head.rest;
  const bool isRead = skip(line, ",") && takeExtents(line, head.rule->symbols, s.shapes) && takeFigures(line, s);
  return isRead ? std::optional(std::move(s)) : std::nullopt;
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
    return fail(ErrorKind::kPack, e.what(), fmt::format("{}:{}", file, number), "expected JSON lines");
  }
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

bool isRule(std::string_view line) {
  return beginsWith(line, R"("hash")");
}

Expected<void> addMachine(std::string_view line, const std::string& file, int number, Timings& timings) {
  auto machine = parseMachine(line, fmt::format("{}:{}", file, number));
  if (!machine) return tl::unexpected(machine.error());
  timings.add(std::move(*machine));
  if (timings.machines().size() > kMostMachines)
    return fail(ErrorKind::kPack, "more than 1000 machines", fmt::format("{}:{}", file, number));
  return {};
}

/// Throws where a line before says something else of this name.
template <class T>
void enter(const Json& name, T value, TimingNames::By<T>& names) {
  const auto [known, isNew] = names.emplace(name.get_ref<const std::string&>(), value);
  if (known->second != value) throw std::invalid_argument("a line before it says something else of this name");
}

/// A line that says what a name stands for. False: it is another one.
Expected<bool> addName(std::string_view line, const std::string& file, int number, TimingNames& names) {
  const bool itIsRule = isRule(line);
  if (!itIsRule && !isSetting(line)) return false;
  if (names.rules.size() + names.settings.size() == kMostNames)
    return fail(ErrorKind::kPack, "more than 200000 rules and settings", fmt::format("{}:{}", file, number));
  return readLine(file, number, [&] {
    const Json j = parseJson(line);
    if (itIsRule) {
      NamedRule rule{j.at(kHash), j.at("name"), j.value("symbols", std::vector<std::string>())};
      if (const char* why = nonsenseOfRule(rule)) throw std::invalid_argument(why);
      if (std::set<std::string>(rule.symbols.begin(), rule.symbols.end()).size() < rule.symbols.size())
        throw std::invalid_argument("a symbol of it comes twice");
      enter(j.at("rule"), std::move(rule), names.rules);
      return true;
    }
    TimingSample setting = readSetting(j);
    if (const char* why = nonsenseOfSetting(setting)) throw std::invalid_argument(why);
    enter(j.at(kSetting), std::move(setting), names.settings);
    return true;
  });
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

}  // namespace

PrintedHead::PrintedHead(std::string_view line, const TimingNames& names) {
  if (!skip(line, R"([")")) return;
  const auto itsRule = names.rules.find(quoted(line));
  if (itsRule == names.rules.end() || !skip(line, R"(,")")) return;
  const auto itsSetting = names.settings.find(quoted(line));
  if (itsSetting == names.settings.end()) return;
  rule = &itsRule->second;
  setting = &itsSetting->second;
  rest = line;
}

std::optional<LayoutSample> layoutOf(std::string_view line, const TimingSample& setting) {
  TimingSample s;
  line.remove_prefix(std::min(line.find("],"), line.size()));
  if (!skip(line, "]") || !takeFigures(line, s)) return std::nullopt;
  return LayoutSample{s.opening + s.closing, s.moved, setting.threads, setting.weights, setting.isa, setting.machine};
}

Expected<TimingSample> parseSample(std::string_view line,
                                   const TimingNames& names,
                                   const std::string& file,
                                   int number) {
  return readLine(file, number, [&] {
    auto printed = asPrinted(line, names);
    TimingSample s = printed ? std::move(*printed) : fromJson(parseJson(line), names);
    if (const char* why = nonsense(s)) throw std::invalid_argument(why);
    return s;
  });
}

Expected<void> readLines(std::string_view text,
                         const std::string& file,
                         Timings& timings,
                         TimingNames& names,
                         const EnterSample& enterSample) {
  size_t samples = 0;
  return forEachLine(text, [&](std::string_view line, int number) -> Expected<void> {
    if (isMachine(line)) return addMachine(line, file, number, timings);
    auto isName = addName(line, file, number, names);
    if (!isName) return tl::unexpected(isName.error());
    if (*isName) return {};
    if (++samples > kMostSamples) return fail(ErrorKind::kPack, kTooMany, fmt::format("{}:{}", file, number));
    return enterSample(line, number);
  });
}

std::string print(const Timings& timings) {
  std::string text, rules, samples;
  std::set<std::string> rulesSaid, settings;
  for (const auto& [name, machine] : timings.machines())
    text += print(machine) + "\n";
  for (const TimingSample& s : timings.all()) {  // sorted by rule
    const NamedRule rule = ruleOf(s);
    const std::string name = nameOf(rule), setting = dumped(settingToJson(s));
    if (rulesSaid.insert(name).second) rules += ruleLine(rule) + "\n";
    settings.insert(setting);
    samples += sampleLine(s, name, nameOfSetting(setting)) + "\n";
  }
  for (const std::string& setting : settings)
    text += settingLine(setting) + "\n";
  return text + rules + samples;
}

Expected<Timings> parseTimings(std::string_view text, const std::string& file) {
  Timings timings;
  TimingNames names;
  auto ok = readLines(text, file, timings, names, [&](std::string_view line, int number) -> Expected<void> {
    auto sample = parseSample(line, names, file, number);
    if (!sample) return tl::unexpected(sample.error());
    timings.add(std::move(*sample));
    return {};
  });
  if (!ok) return tl::unexpected(ok.error());
  return timings;
}

}  // namespace pet
