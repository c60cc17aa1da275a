#include "rules/pack/timings.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "rules/pack/database.h"
#include "rules/pack/file.h"
#include "rules/pack/json.h"
#include "rules/pack/plain_text.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

constexpr FileKind kTimings{
    .noun = "a timings file",
    .applicationId = 0x70657474,  // "pett"
    .version = 2,
    .schema =
        "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
        "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, threads INTEGER NOT NULL, "
        "weights TEXT NOT NULL, pattern REAL NOT NULL, replacement REAL NOT NULL, opening REAL NOT NULL, "
        "closing REAL NOT NULL, spread REAL NOT NULL, date TEXT NOT NULL, "
        "PRIMARY KEY(rule, device, shapes, engine, version, isa, threads, weights)) STRICT, WITHOUT ROWID\n",
    .remake = "make it again with pet-tune",
};

/// The first format: without layouts, all weights cold. It is read and not written.
constexpr FileKind kTimings1{
    .noun = kTimings.noun,
    .applicationId = kTimings.applicationId,
    .version = 1,
    .schema =
        "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
        "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, threads INTEGER NOT NULL, "
        "pattern REAL NOT NULL, replacement REAL NOT NULL, spread REAL NOT NULL, date TEXT NOT NULL, "
        "PRIMARY KEY(rule, device, shapes, engine, version, isa, threads)) STRICT, WITHOUT ROWID\n",
    .remake = kTimings.remake,
};

/// The format that a file says it has, where it is one that can be read.
const FileKind& kindOf(std::string_view bytes) {
  return bytes.size() >= kFileHeader && versionOf(bytes) == kTimings1.version ? kTimings1 : kTimings;
}

/// {"C":64,"H":56}: sorted, no spaces.
std::string shapesText(const Bindings& shapes) {
  Json object = Json::object();
  for (const auto& [symbol, value] : shapes)
    object[symbol] = value;
  return object.dump();
}

Bindings shapesOf(const Json& object) {
  Bindings shapes;
  for (const auto& [symbol, value] : object.get_ref<const Json::object_t&>())
    shapes[symbol] = integer<int64_t>(value);
  return shapes;
}

std::vector<std::string> settingOf(const TimingSample& s) {
  return {s.rule, s.device, shapesText(s.shapes), s.engine, s.version, s.isa, std::to_string(s.threads), s.weights};
}

Json toJson(const TimingSample& s) {
  Json shapes = Json::object();
  for (const auto& [symbol, value] : s.shapes)
    shapes[symbol] = value;
  return {{"name", s.name},       {"rule", s.rule},       {"device", s.device},
          {"shapes", shapes},     {"pattern", s.pattern}, {"replacement", s.replacement},
          {"opening", s.opening}, {"closing", s.closing}, {"spread", s.spread},
          {"weights", s.weights}, {"engine", s.engine},   {"version", s.version},
          {"isa", s.isa},         {"threads", s.threads}, {"date", s.date}};
}

/// Limits (docs/pack-format.md, Timings).
constexpr size_t kMostSamples = 100'000;
constexpr size_t kMostSymbols = 1000;
constexpr double kLeastSeconds = 1e-12, kMostSeconds = 1e6, kMostSpread = 1e6;
constexpr int64_t kMostExtent = int64_t{1} << 40;

constexpr const char* kTooMany = "more than 100000 samples";

/// What no measurement gives; nullptr for a sane sample.
const char* nonsense(const TimingSample& s) {
  auto within = [](double x, double least, double most) { return x >= least && x <= most; };
  if (!within(s.pattern, kLeastSeconds, kMostSeconds) || !within(s.replacement, kLeastSeconds, kMostSeconds))
    return "seconds must be numbers from 1e-12 to 1e6";
  if (!within(s.opening, 0, kMostSeconds) || !within(s.closing, 0, kMostSeconds))
    return "seconds of layouts must be numbers from 0 to 1e6";
  if (!within(s.spread, 0, kMostSpread)) return "spread must be a number from 0 to 1e6";
  if (s.shapes.size() > kMostSymbols) return "there are more than 1000 symbols in shapes";
  for (const auto& [symbol, value] : s.shapes) {
    if (value < 0 || value > kMostExtent) return "shapes must be from 0 to 2^40";
    if (!isPlainText(symbol)) return "its text is not plain text in UTF-8";
  }
  if (s.threads < 1) return "threads must be >= 1";
  if (s.weights != "cold" && s.weights != "warm") return "weights must be cold or warm";
  if (s.rule.empty() || s.device.empty()) return "rule and device must be given";
  for (const std::string* text : {&s.rule, &s.name, &s.device, &s.engine, &s.version, &s.isa, &s.date}) {
    if (!isPlainText(*text)) return "its text is not plain text in UTF-8";
  }
  return nullptr;
}

TimingSample fromJson(const Json& j) {
  return {.rule = j.at("rule"),
          .name = j.at("name"),
          .device = j.at("device"),
          .shapes = shapesOf(j.at("shapes")),
          .engine = j.at("engine"),
          .version = j.at("version"),
          .isa = j.at("isa"),
          .threads = integer<int>(j.at("threads")),
          .pattern = j.at("pattern"),
          .replacement = j.at("replacement"),
          .spread = j.at("spread"),
          .date = j.at("date"),
          .opening = j.value("opening", 0.0),  // of an older pet: not there
          .closing = j.value("closing", 0.0),
          .weights = j.value("weights", "cold")};
}

std::string timingsBytes(const Timings& timings) {
  auto database = createDatabase(kTimings, kTimings.version);
  SQLite::Statement insert(*database, "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const TimingSample& s : timings.all()) {
    int column = 0;
    for (const std::string& text : {s.rule, s.name, s.device, shapesText(s.shapes), s.engine, s.version, s.isa}) {
      insert.bind(++column, text);
    }
    insert.bind(++column, s.threads);
    insert.bind(++column, s.weights);
    for (double number : {s.pattern, s.replacement, s.opening, s.closing, s.spread})
      insert.bind(++column, number);
    insert.bind(++column, s.date);
    insert.exec();
    insert.reset();
  }
  return databaseBytes(*database);
}

/// One row, whatever stands in it: nonsense() judges. Throws where its shapes are no JSON object of integers.
TimingSample sampleOf(SQLite::Statement& row, int version) {
  auto text = [&](const char* name) { return row.getColumn(name).getString(); };
  auto number = [&](const char* name) { return row.getColumn(name).getDouble(); };
  int64_t threads = row.getColumn("threads").getInt64();
  TimingSample s{.rule = text("rule"),
                 .name = text("name"),
                 .device = text("device"),
                 .shapes = shapesOf(parseJson(text("shapes"))),
                 .engine = text("engine"),
                 .version = text("version"),
                 .isa = text("isa"),
                 .threads = std::in_range<int>(threads) ? static_cast<int>(threads) : 0,
                 .pattern = number("pattern"),
                 .replacement = number("replacement"),
                 .spread = number("spread"),
                 .date = text("date")};
  if (version == kTimings1.version) return s;
  s.opening = number("opening");
  s.closing = number("closing");
  s.weights = text("weights");
  return s;
}

Expected<Timings> readDatabase(std::string_view bytes, const std::string& path) {
  const FileKind& kind = kindOf(bytes);
  auto database = openDatabase(kind, bytes, path);
  if (!database) return tl::unexpected(database.error());
  return guarded(kind, path, [&]() -> Expected<Timings> {
    Timings timings;
    SQLite::Statement query(**database, "SELECT * FROM samples");
    while (query.executeStep()) {
      TimingSample s;
      const char* why = nullptr;
      try {
        s = sampleOf(query, kind.version);
        why = nonsense(s);
      } catch (const SQLite::Exception&) {
        throw;
      } catch (const std::exception&) {
        s.name = query.getColumn("name").getString();
        why = "shapes must be a JSON object of integers";
      }
      if (why)
        return fail(ErrorKind::kPack, "damaged: a sample of " + s.name + ": " + why, path, std::string(kind.remake));
      if (timings.size() >= kMostSamples) return fail(ErrorKind::kPack, kTooMany, path);
      timings.add(std::move(s));
    }
    return timings;
  });
}

}  // namespace

void Timings::add(TimingSample sample) {
  auto setting = settingOf(sample);
  samples_.insert_or_assign(std::move(setting), std::move(sample));
}

void Timings::merge(const Timings& other) {
  for (const auto& [setting, sample] : other.samples_)
    samples_.insert_or_assign(setting, sample);
}

std::vector<TimingSample> Timings::all() const {
  std::vector<TimingSample> result;
  for (const auto& [setting, sample] : samples_)
    result.push_back(sample);
  // Shapes in the order of their numbers, not of their digits.
  std::stable_sort(result.begin(), result.end(), [](const TimingSample& a, const TimingSample& b) {
    return std::tie(a.name, a.rule, a.device, a.shapes) < std::tie(b.name, b.rule, b.device, b.shapes);
  });
  return result;
}

std::vector<TimingSample> Timings::samples(std::string_view ruleHash, std::string_view device) const {
  std::vector<TimingSample> result;
  std::vector<std::string> from{std::string(ruleHash), std::string(device)};
  for (auto it = samples_.lower_bound(from); it != samples_.end(); ++it) {
    if (it->second.rule != ruleHash || it->second.device != device) break;
    result.push_back(it->second);
  }
  return result;
}

std::string print(const Timings& timings) {
  std::string text;
  for (const TimingSample& s : timings.all())
    text += toJson(s).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return text;
}

Expected<Timings> parseTimings(std::string_view text, const std::string& file) {
  Timings timings;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto refuse = [&](std::string what) {
      return fail(ErrorKind::kPack, std::move(what), fmt::format("{}:{}", file, line),
                  "expected one JSON sample a line");
    };
    try {
      TimingSample s = fromJson(parseJson(row));
      if (const char* why = nonsense(s)) return refuse(why);
      if (timings.size() >= kMostSamples) return fail(ErrorKind::kPack, kTooMany, fmt::format("{}:{}", file, line));
      timings.add(std::move(s));
    } catch (const std::exception& e) {
      return refuse(e.what());
    }
  }
  return timings;
}

Expected<Timings> readTimingsBytes(std::string_view bytes, const std::string& name) {
  return looksLikeDatabase(bytes) ? readDatabase(bytes, name) : parseTimings(bytes, name);
}

Expected<Timings> readTimings(const std::string& path) {
  auto bytes = readFile(path, ErrorKind::kPack);
  if (!bytes) return tl::unexpected(bytes.error());
  return readTimingsBytes(*bytes, path);
}

Expected<void> writeTimings(const Timings& timings, const std::string& path) {
  if (path.ends_with(".jsonl")) return writeFile(path, print(timings));
  try {
    return writeFile(path, timingsBytes(timings));
  } catch (const SQLite::Exception& e) {
    return fail(ErrorKind::kInternal, fmt::format("cannot build the timings: {}", e.what()));
  }
}

}  // namespace pet
