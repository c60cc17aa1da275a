#include "rules/pack/pack.h"

#include <algorithm>

#include <fmt/format.h>

#include "rules/pack/file.h"
#include "rules/pack/tables.h"
#include "rules/text.h"

namespace pet {
namespace {

/// The tables in the order in which they are written.
struct Tables {
  Rows evidence, metadata, patterns, rules;
};

template <class T>
std::vector<const T*> sortedByName(const std::vector<T>& all) {
  std::vector<const T*> sorted;
  sorted.reserve(all.size());
  for (const T& t : all)
    sorted.push_back(&t);
  std::sort(sorted.begin(), sorted.end(), [](const T* a, const T* b) { return a->name < b->name; });
  return sorted;
}

tl::unexpected<Error> refuse(std::string what) {
  return fail(ErrorKind::kPack, std::move(what));
}

/// The rows of the rules, by pattern.
Expected<std::map<std::string, Rows>> rowsOf(const RuleSet& set, const std::map<std::string, std::string>& patterns) {
  std::map<std::string, Rows> rows;
  const Rule* last = nullptr;
  for (const Rule* r : sortedByName(set.rules)) {
    if (last && last->name == r->name) return refuse("two rules are named " + r->name);
    last = r;
    auto pattern = patterns.find(r->pattern);
    if (pattern == patterns.end()) return refuse(fmt::format("rule {} has no pattern {}", r->name, r->pattern));
    std::string statement = printStatement(*r), proof = print(*r).substr(statement.size());
    std::string hash = hashOf(pattern->second, statement);
    rows[r->pattern].push_back({r->pattern, r->name, std::move(hash), r->family, std::to_string(r->depth),
                                std::to_string(r->boxes.size()), r->numerics.str(), std::move(statement),
                                std::move(proof)});
  }
  return rows;
}

Expected<Tables> toTables(const RuleSet& set, const PackNotes& notes) {
  Tables tables;
  std::map<std::string, std::string> texts;
  for (const Pattern* p : sortedByName(set.patterns)) {
    if (!texts.emplace(p->name, print(*p)).second) return refuse("two patterns are named " + p->name);
  }
  auto rules = rowsOf(set, texts);
  if (!rules) return tl::unexpected(rules.error());
  for (const Pattern* p : sortedByName(set.patterns)) {
    const Rows& own = (*rules)[p->name];
    tables.patterns.push_back({p->name, std::string(anchorOf(*p)), digestOf("rules", own), texts[p->name]});
    tables.rules.insert(tables.rules.end(), own.begin(), own.end());
  }
  std::set<std::string_view> names;
  for (const Rule& r : set.rules)
    names.insert(r.name);
  auto evidence = notes.evidence;
  for (const auto& [rule, source] : set.sources) {
    if (names.contains(rule)) evidence[rule].emplace(kSource, source);
  }
  for (const auto& [rule, entries] : evidence) {
    if (!names.contains(rule)) return refuse("evidence about an unknown rule " + rule);
    for (const auto& [key, value] : entries)
      tables.evidence.push_back({rule, key, value});
  }
  for (const auto& [key, value] : notes.metadata) {
    if (key == kContent || key == kEvidence) return refuse(fmt::format("the metadata key '{}' is the pack's own", key));
    tables.metadata.push_back({key, value});
  }
  tables.metadata.push_back({kEvidence, digestOf("evidence", tables.evidence)});
  std::sort(tables.metadata.begin(), tables.metadata.end());
  tables.metadata.push_back({kContent, contentDigest(tables.metadata, tables.patterns)});
  std::sort(tables.metadata.begin(), tables.metadata.end());
  return tables;
}

void insertAll(SQLite::Database& database, const char* table, const Rows& rows) {
  if (rows.empty()) return;
  std::string marks = "?";
  for (size_t i = 1; i < rows[0].size(); ++i)
    marks += ", ?";
  SQLite::Statement insert(database, fmt::format("INSERT INTO {} VALUES ({})", table, marks));
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      insert.bind(static_cast<int>(i + 1), row[i]);  // STRICT makes integers
    insert.exec();
    insert.reset();
  }
}

std::string writeTables(const Tables& tables) {
  auto database = createDatabase(kPack);
  insertAll(*database, "evidence", tables.evidence);
  insertAll(*database, "metadata", tables.metadata);
  insertAll(*database, "patterns", tables.patterns);
  insertAll(*database, "rules", tables.rules);
  return databaseBytes(*database);
}

}  // namespace

std::string ruleHash(const Pattern& pattern, const Rule& rule) {
  return hashOf(print(pattern), printStatement(rule));
}

Expected<std::string> packBytes(const RuleSet& rules, const PackNotes& notes) {
  auto tables = toTables(rules, notes);
  if (!tables) return tl::unexpected(tables.error());
  try {
    return writeTables(*tables);
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
  return Pack::openBytes(bytes, name).and_then([](Pack&& pack) { return pack.all(); });
}

Expected<RuleSet> readPack(const std::string& path) {
  return Pack::open(path).and_then([](Pack&& pack) { return pack.all(); });
}

Expected<PackNotes> readPackNotesBytes(std::string_view bytes, const std::string& name) {
  return Pack::openBytes(bytes, name).and_then([](Pack&& pack) { return pack.notes(); });
}

Expected<PackNotes> readPackNotes(const std::string& path) {
  return Pack::open(path).and_then([](Pack&& pack) { return pack.notes(); });
}

}  // namespace pet
