#include "rules/pack/timings.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "rules/pack/database.h"
#include "rules/pack/file.h"
#include "rules/pack/machine_text.h"
#include "rules/pack/timing_sample.h"

namespace pet {
namespace {

constexpr FileKind kTimings{
    .noun = "a timings file",
    .applicationId = 0x70657474,  // "pett"
    .version = 6,
    .schema =
        "CREATE TABLE machines(name TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
        "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
        "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, machine TEXT NOT NULL, "
        "threads INTEGER NOT NULL, weights TEXT NOT NULL, place TEXT NOT NULL, opset INTEGER NOT NULL, pattern REAL "
        "NOT NULL, replacement REAL "
        "NOT NULL, "
        "opening REAL NOT NULL, closing REAL NOT NULL, moved INTEGER NOT NULL, spread REAL NOT NULL, "
        "date TEXT NOT NULL, PRIMARY KEY(rule, device, shapes, engine, version, isa, machine, threads, weights, "
        "place, opset)) "
        "STRICT, WITHOUT ROWID\n",
    .remake = "make it again with pet-tune",
};

// Older formats are read and not written.

constexpr FileKind older(int version, std::string_view schema) {
  FileKind kind = kTimings;
  kind.version = version;
  kind.schema = schema;
  return kind;
}

/// All samples in one opset.
constexpr FileKind kTimings5 = older(
    5,
    "CREATE TABLE machines(name TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
    "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
    "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, machine TEXT NOT NULL, "
    "threads INTEGER NOT NULL, weights TEXT NOT NULL, place TEXT NOT NULL, pattern REAL NOT NULL, replacement REAL "
    "NOT NULL, "
    "opening REAL NOT NULL, closing REAL NOT NULL, moved INTEGER NOT NULL, spread REAL NOT NULL, "
    "date TEXT NOT NULL, PRIMARY KEY(rule, device, shapes, engine, version, isa, machine, threads, weights, "
    "place)) "
    "STRICT, WITHOUT ROWID\n");

/// All samples between neighbours.
constexpr FileKind kTimings4 =
    older(4,
          "CREATE TABLE machines(name TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
          "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
          "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, machine TEXT NOT NULL, "
          "threads INTEGER NOT NULL, weights TEXT NOT NULL, pattern REAL NOT NULL, replacement REAL NOT NULL, "
          "opening REAL NOT NULL, closing REAL NOT NULL, moved INTEGER NOT NULL, spread REAL NOT NULL, "
          "date TEXT NOT NULL, PRIMARY KEY(rule, device, shapes, engine, version, isa, machine, threads, weights)) "
          "STRICT, WITHOUT ROWID\n");

/// Without machines.
constexpr FileKind kTimings3 =
    older(3,
          "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
          "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, threads INTEGER NOT NULL, "
          "weights TEXT NOT NULL, pattern REAL NOT NULL, replacement REAL NOT NULL, opening REAL NOT NULL, "
          "closing REAL NOT NULL, moved INTEGER NOT NULL, spread REAL NOT NULL, date TEXT NOT NULL, "
          "PRIMARY KEY(rule, device, shapes, engine, version, isa, threads, weights)) STRICT, WITHOUT ROWID\n");

/// Without the bytes that layouts move.
constexpr FileKind kTimings2 =
    older(2,
          "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
          "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, threads INTEGER NOT NULL, "
          "weights TEXT NOT NULL, pattern REAL NOT NULL, replacement REAL NOT NULL, opening REAL NOT NULL, "
          "closing REAL NOT NULL, spread REAL NOT NULL, date TEXT NOT NULL, "
          "PRIMARY KEY(rule, device, shapes, engine, version, isa, threads, weights)) STRICT, WITHOUT ROWID\n");

/// Without layouts, all weights cold.
constexpr FileKind kTimings1 =
    older(1,
          "CREATE TABLE samples(rule TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, shapes TEXT NOT NULL, "
          "engine TEXT NOT NULL, version TEXT NOT NULL, isa TEXT NOT NULL, threads INTEGER NOT NULL, "
          "pattern REAL NOT NULL, replacement REAL NOT NULL, spread REAL NOT NULL, date TEXT NOT NULL, "
          "PRIMARY KEY(rule, device, shapes, engine, version, isa, threads)) STRICT, WITHOUT ROWID\n");

/// The format that a file says it has, where it is one that can be read.
const FileKind& kindOf(std::string_view bytes) {
  const int version = bytes.size() >= kFileHeader ? versionOf(bytes) : kTimings.version;
  for (const FileKind* older : {&kTimings1, &kTimings2, &kTimings3, &kTimings4, &kTimings5}) {
    if (version == older->version) return *older;
  }
  return kTimings;
}

std::vector<std::string> settingOf(const TimingSample& s) {
  return {s.rule,    s.device, shapesText(s.shapes),   s.engine, s.version, s.isa, s.machine, std::to_string(s.threads),
          s.weights, s.place,  std::to_string(s.opset)};
}

void insertMachines(SQLite::Database& database, const Machines& machines) {
  SQLite::Statement insert(database, "INSERT INTO machines VALUES (?, ?)");
  for (const auto& [name, machine] : machines) {
    insert.bind(1, name);
    insert.bind(2, print(machine));
    insert.exec();
    insert.reset();
  }
}

std::string timingsBytes(const Timings& timings) {
  auto database = createDatabase(kTimings);
  insertMachines(*database, timings.machines());
  SQLite::Statement insert(*database,
                           "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const TimingSample& s : timings.all()) {
    int column = 0;
    for (const std::string& text :
         {s.rule, s.name, s.device, shapesText(s.shapes), s.engine, s.version, s.isa, s.machine}) {
      insert.bind(++column, text);
    }
    insert.bind(++column, s.threads);
    insert.bind(++column, s.weights);
    insert.bind(++column, s.place);
    insert.bind(++column, s.opset);
    for (double number : {s.pattern, s.replacement, s.opening, s.closing})
      insert.bind(++column, number);
    insert.bind(++column, s.moved);
    insert.bind(++column, s.spread);
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
  auto count = [&](const char* name) {
    const int64_t value = row.getColumn(name).getInt64();
    return std::in_range<int>(value) ? static_cast<int>(value) : 0;
  };
  TimingSample s{.rule = text("rule"),
                 .name = text("name"),
                 .device = text("device"),
                 .shapes = shapesOf(parseJson(text("shapes"))),
                 .engine = text("engine"),
                 .version = text("version"),
                 .isa = text("isa"),
                 .threads = count("threads"),
                 .pattern = number("pattern"),
                 .replacement = number("replacement"),
                 .spread = number("spread"),
                 .date = text("date")};
  if (version == kTimings1.version) return s;
  s.opening = number("opening");
  s.closing = number("closing");
  s.weights = text("weights");
  if (version == kTimings2.version) return s;
  s.moved = row.getColumn("moved").getInt64();
  if (version == kTimings3.version) return s;
  s.machine = text("machine");
  if (version == kTimings4.version) return s;
  s.place = text("place");
  if (version != kTimings5.version) s.opset = count("opset");
  return s;
}

/// Adds the machines of a file of this version, if it has any.
Expected<void> readMachines(SQLite::Database& database, int version, const std::string& path, Timings& timings) {
  if (version < kTimings4.version) return {};
  SQLite::Statement query(database, "SELECT * FROM machines");
  while (query.executeStep()) {
    auto machine = parseMachine(query.getColumn("text").getString(), path);
    if (!machine) return tl::unexpected(machine.error());
    if (machine->name() != query.getColumn("name").getString() || timings.machines().size() >= kMostMachines)
      return damaged(kTimings, path, "its machines are none");
    timings.add(std::move(*machine));
  }
  return {};
}

Expected<Timings> readDatabase(std::string_view bytes, const std::string& path) {
  const FileKind& kind = kindOf(bytes);
  auto database = openDatabase(kind, bytes, path);
  if (!database) return tl::unexpected(database.error());
  return guarded(kind, path, [&]() -> Expected<Timings> {
    if (auto ok = checkPages(kind, **database, path); !ok) return tl::unexpected(ok.error());
    Timings timings;
    if (auto ok = readMachines(**database, kind.version, path, timings); !ok) return tl::unexpected(ok.error());
    SQLite::Statement query(**database, "SELECT * FROM samples");
    while (query.executeStep()) {
      TimingSample s;
      const char* why = nullptr;
      try {
        s = sampleOf(query, kind.version);
        why = nonsense(s);
      } catch (const SQLite::Exception&) {
        throw;
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception&) {
        s.name = query.getColumn("name").getString();
        why = "shapes must be a JSON object of integers";
      }
      if (why) return damaged(kind, path, "a sample of " + s.name + ": " + why);
      if (timings.size() >= kMostSamples) return fail(ErrorKind::kPack, kTooMany, path);
      timings.add(std::move(s));
    }
    return timings;
  });
}

}  // namespace

int nearestOpset(const std::set<int>& timed, int64_t opset) {
  auto later = std::find_if(timed.begin(), timed.end(), [&](int each) { return each > opset; });
  return later == timed.begin() ? *later : *std::prev(later);
}

void Timings::add(TimingSample sample) {
  auto setting = settingOf(sample);
  samples_.insert_or_assign(std::move(setting), std::move(sample));
}

void Timings::add(Machine machine) {
  const std::string name = machine.name();
  if (auto earlier = machines_.find(name); earlier != machines_.end()) {
    std::vector<EngineRates> newer = std::exchange(machine.rates, earlier->second.rates);
    for (EngineRates& r : newer)
      machine.add(std::move(r));
  }
  machines_.insert_or_assign(name, std::move(machine));
}

void Timings::merge(const Timings& other) {
  for (const auto& [name, machine] : other.machines_)
    add(machine);
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

std::vector<LayoutSample> Timings::layouts(std::string_view device) const {
  std::vector<LayoutSample> result;
  for (const auto& [setting, sample] : samples_) {
    if (sample.device == device && sample.moved > 0) result.push_back(layoutOf(sample));
  }
  return result;
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
