#include "rules/pack/pack.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "rules/pack/database.h"
#include "rules/pack/digest.h"
#include "rules/pack/file.h"
#include "rules/pack/plain_text.h"
#include "rules/text.h"

namespace pet {
namespace {

constexpr FileKind kPack{
    .noun = "a pack",
    .applicationId = 0x70657472,  // "petr"
    .version = 2,
    .schema =
        "CREATE TABLE evidence(rule TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(rule, key)) "
        "STRICT, WITHOUT ROWID\n"
        "CREATE TABLE metadata(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
        "CREATE TABLE patterns(name TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
        "CREATE TABLE rules(name TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, pattern TEXT NOT NULL, "
        "family TEXT NOT NULL, depth INTEGER NOT NULL, boxes INTEGER NOT NULL, numerics TEXT NOT NULL, "
        "statement TEXT NOT NULL, proof TEXT NOT NULL) STRICT, WITHOUT ROWID\n",
    .remake = "make it again with pet-synth",
};

/// The first version of the format that has a form for all the rules: proofs of several outputs came with the second.
int versionFor(const std::vector<Rule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [](const Rule& r) { return r.proofs.size() > 1; }) ? 2 : 1;
}

/// The metadata key that holds the digest of everything else.
constexpr const char* kContent = "content";

/// One table's rows, every value as text, in the order of the primary key.
struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// The tables in the order in which they are written and digested; `rules` is the last.
std::array<Table, 4> emptyTables() {
  return {{{"evidence", {"rule", "key", "value"}, {}},
           {"metadata", {"key", "value"}, {}},
           {"patterns", {"name", "text"}, {}},
           {"rules", {"name", "hash", "pattern", "family", "depth", "boxes", "numerics", "statement", "proof"}, {}}}};
}

std::string hashOf(const std::string& patternText, const std::string& statement) {
  return Digest().add("pet rule 1").add(patternText).add(statement).hex();
}

/// The digest of all rows but its own.
std::string contentDigest(const std::array<Table, 4>& tables) {
  Digest digest;
  digest.add("pet pack 1");
  for (const Table& table : tables) {
    bool own = table.name == "metadata";
    auto counts = [&](const auto& row) { return !own || row[0] != kContent; };
    digest.add(table.name).add(std::to_string(std::count_if(table.rows.begin(), table.rows.end(), counts)));
    for (const auto& row : table.rows) {
      if (!counts(row)) continue;
      for (const std::string& value : row)
        digest.add(value);
    }
  }
  return digest.hex();
}

template <class T>
std::vector<const T*> sortedByName(const std::vector<T>& all) {
  std::vector<const T*> sorted;
  sorted.reserve(all.size());
  for (const T& t : all)
    sorted.push_back(&t);
  std::sort(sorted.begin(), sorted.end(), [](const T* a, const T* b) { return a->name < b->name; });
  return sorted;
}

Expected<std::array<Table, 4>> toTables(const RuleSet& set, const PackNotes& notes) {
  auto tables = emptyTables();
  auto& [evidence, metadata, patterns, rules] = tables;
  auto refuse = [](std::string what) { return fail(ErrorKind::kPack, std::move(what)); };

  std::map<std::string, std::string> patternTexts;
  for (const Pattern* p : sortedByName(set.patterns)) {
    if (!patternTexts.emplace(p->name, print(*p)).second) return refuse("two patterns are named " + p->name);
    patterns.rows.push_back({p->name, patternTexts[p->name]});
  }
  for (const Rule* r : sortedByName(set.rules)) {
    if (!rules.rows.empty() && rules.rows.back()[0] == r->name) return refuse("two rules are named " + r->name);
    auto pattern = patternTexts.find(r->pattern);
    if (pattern == patternTexts.end()) return refuse(fmt::format("rule {} has no pattern {}", r->name, r->pattern));
    std::string statement = printStatement(*r);
    rules.rows.push_back({r->name, hashOf(pattern->second, statement), r->pattern, r->family, std::to_string(r->depth),
                          std::to_string(r->boxes.size()), r->numerics.str(), statement,
                          print(*r).substr(statement.size())});
  }
  for (const auto& [rule, entries] : notes.evidence) {
    bool known = std::any_of(rules.rows.begin(), rules.rows.end(),
                             [&, &name = rule](const auto& row) { return row[0] == name; });
    if (!known) return refuse("evidence about an unknown rule " + rule);
    for (const auto& [key, value] : entries)
      evidence.rows.push_back({rule, key, value});
  }
  for (const auto& [key, value] : notes.metadata) {
    if (key == kContent) return refuse("the metadata key 'content' is the pack's own");
    metadata.rows.push_back({key, value});
  }
  metadata.rows.push_back({kContent, contentDigest(tables)});
  std::sort(metadata.rows.begin(), metadata.rows.end());
  return tables;
}

std::string writeTables(const std::array<Table, 4>& tables, int version) {
  auto database = createDatabase(kPack, version);
  for (const Table& table : tables) {
    std::string marks = "?";
    for (size_t i = 1; i < table.columns.size(); ++i)
      marks += ", ?";
    SQLite::Statement insert(*database, fmt::format("INSERT INTO {} VALUES ({})", table.name, marks));
    for (const auto& row : table.rows) {
      for (size_t i = 0; i < row.size(); ++i)
        insert.bind(static_cast<int>(i + 1), row[i]);  // STRICT makes integers
      insert.exec();
      insert.reset();
    }
  }
  return databaseBytes(*database);
}

/// What SQLite does not hold against the rows: texts that are no text, evidence about a rule that is not there.
Expected<void> checkRows(const std::array<Table, 4>& tables, const std::string& name) {
  auto damaged = [&](std::string what) {
    return fail(ErrorKind::kPack, "damaged: " + std::move(what), name, std::string(kPack.remake));
  };
  for (const Table& table : tables) {
    for (const auto& row : table.rows) {
      if (!std::all_of(row.begin(), row.end(), isPlainText))
        return damaged(fmt::format("a row of {} is not plain text in UTF-8", table.name));
    }
  }
  std::set<std::string_view> rules;
  for (const auto& row : tables.back().rows)
    rules.insert(row[0]);
  for (const auto& row : tables.front().rows) {
    if (!rules.contains(row[0])) return damaged("evidence about an unknown rule " + row[0]);
  }
  return {};
}

Expected<std::array<Table, 4>> readTables(std::string_view bytes, const std::string& name) {
  auto database = openDatabase(kPack, bytes, name);
  if (!database) return tl::unexpected(database.error());
  return guarded(kPack, name, [&]() -> Expected<std::array<Table, 4>> {
    auto tables = emptyTables();
    std::string stored;
    for (Table& table : tables) {
      SQLite::Statement query(**database, fmt::format("SELECT * FROM {} ORDER BY 1, 2", table.name));
      while (query.executeStep()) {
        std::vector<std::string> row;
        row.reserve(table.columns.size());
        for (int i = 0; i < query.getColumnCount(); ++i)
          row.push_back(query.getColumn(i).getString());
        if (table.name == "metadata" && row[0] == kContent) stored = row[1];
        table.rows.push_back(std::move(row));
      }
    }
    if (stored != contentDigest(tables)) {
      return fail(ErrorKind::kPack, "damaged: its content does not have the stored digest", name,
                  std::string(kPack.remake));
    }
    if (auto ok = checkRows(tables, name); !ok) return tl::unexpected(ok.error());
    return tables;
  });
}

/// Parses one rule's row, and holds its columns against its text.
Expected<Rule> toRule(const std::vector<std::string>& row,
                      const std::string& patternText,
                      const RuleSet& known,
                      const std::string& name) {
  auto damaged = [&](std::string what) {
    return fail(ErrorKind::kPack, fmt::format("rule {}: {}", row[0], what), name, std::string(kPack.remake));
  };
  if (row[1] != hashOf(patternText, row[7])) return damaged("its text does not have the stored hash");
  auto parsed = parseRules(row[7] + row[8], "rule " + row[0], known);
  if (!parsed) return damaged(parsed.error().message());
  if (parsed->rules.size() != 1 || !parsed->patterns.empty()) return damaged("its text is not one rule");
  Rule& r = parsed->rules[0];
  bool agrees = r.name == row[0] && r.pattern == row[2] && r.family == row[3] && std::to_string(r.depth) == row[4] &&
                std::to_string(r.boxes.size()) == row[5] && r.numerics.str() == row[6];
  if (!agrees) return damaged("its columns do not agree with its text");
  return std::move(r);
}

Expected<RuleSet> toRules(const std::array<Table, 4>& tables, const std::string& name) {
  const auto& [evidence, metadata, patterns, rules] = tables;
  RuleSet set;
  std::map<std::string, std::string> patternTexts;
  for (const auto& row : patterns.rows) {
    auto parsed = parseRules(row[1], "pattern " + row[0]);
    if (parsed && (parsed->patterns.size() != 1 || parsed->patterns[0].name != row[0])) {
      parsed = fail(ErrorKind::kPack, "its text is not that pattern", "pattern " + row[0]);
    }
    if (!parsed) return fail(ErrorKind::kPack, parsed.error().message(), name, std::string(kPack.remake));
    set.patterns.push_back(std::move(parsed->patterns[0]));
    patternTexts.emplace(row[0], row[1]);
  }
  for (const auto& row : rules.rows) {
    auto pattern = patternTexts.find(row[2]);
    if (pattern == patternTexts.end()) {
      return fail(ErrorKind::kPack, fmt::format("rule {} has no pattern {}", row[0], row[2]), name,
                  std::string(kPack.remake));
    }
    auto rule = toRule(row, pattern->second, set, name);
    if (!rule) return tl::unexpected(rule.error());
    set.rules.push_back(std::move(*rule));
  }
  return set;
}

Expected<std::string> readPackFile(const std::string& path) {
  auto bytes = readFile(path, ErrorKind::kPack);
  if (bytes && (bytes->starts_with("pattern ") || bytes->starts_with("rule "))) {
    return fail(ErrorKind::kPack, "not a pack but rules as text", path, "make a pack with pet-rules import");
  }
  return bytes;
}

}  // namespace

std::string ruleHash(const Pattern& pattern, const Rule& rule) {
  return hashOf(print(pattern), printStatement(rule));
}

Expected<std::string> packBytes(const RuleSet& rules, const PackNotes& notes) {
  auto tables = toTables(rules, notes);
  if (!tables) return tl::unexpected(tables.error());
  try {
    return writeTables(*tables, versionFor(rules.rules));
  } catch (const SQLite::Exception& e) {
    return fail(ErrorKind::kInternal, fmt::format("cannot build the pack: {}", e.what()));
  }
}

Expected<void> writePack(const RuleSet& rules, const std::string& path, const PackNotes& notes) {
  auto bytes = packBytes(rules, notes);
  if (!bytes) return tl::unexpected(bytes.error());
  return writeFile(path, *bytes);
}

Expected<RuleSet> readPackBytes(std::string_view bytes, const std::string& name) {
  auto tables = readTables(bytes, name);
  if (!tables) return tl::unexpected(tables.error());
  try {
    auto set = toRules(*tables, name);
    if (!set || versionOf(bytes) == versionFor(set->rules)) return set;
    return fail(ErrorKind::kPack,
                fmt::format("damaged: its rules are of format {}, not {}", versionFor(set->rules), versionOf(bytes)),
                name, std::string(kPack.remake));
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kPack, e.what(), name, std::string(kPack.remake));
  }
}

Expected<RuleSet> readPack(const std::string& path) {
  auto bytes = readPackFile(path);
  if (!bytes) return tl::unexpected(bytes.error());
  return readPackBytes(*bytes, path);
}

Expected<PackNotes> readPackNotes(const std::string& path) {
  auto bytes = readPackFile(path);
  if (!bytes) return tl::unexpected(bytes.error());
  return readPackNotesBytes(*bytes, path);
}

Expected<PackNotes> readPackNotesBytes(std::string_view bytes, const std::string& name) {
  auto tables = readTables(bytes, name);
  if (!tables) return tl::unexpected(tables.error());
  PackNotes notes;
  for (const auto& row : (*tables)[0].rows)
    notes.evidence[row[0]][row[1]] = row[2];
  for (const auto& row : (*tables)[1].rows) {
    if (row[0] != kContent) notes.metadata[row[0]] = row[1];
  }
  return notes;
}

}  // namespace pet
