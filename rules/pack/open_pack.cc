// Pack: what is read when.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/pack/tables.h"
#include "rules/text.h"

namespace pet {
namespace {

std::string statementOf(const Row& row) {
  return row[RuleColumn::kStatement] + "}\n";
}

std::string textOf(const Row& row) {
  return row[RuleColumn::kStatement] + row[RuleColumn::kProof];
}

}  // namespace

class Pack::State {
 public:
  State(std::string name, std::string bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}

  Expected<void> open(std::optional<std::string_view> bytes);
  Expected<std::vector<const Pattern*>> patternsOf(const OperatorNames& anchors);
  Expected<std::vector<const Rule*>> rulesOf(const Pattern& pattern);
  Expected<PatternsOfRules> patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted);
  const std::string& hashOf(const Rule& rule) const;
  Expected<RuleSet> proved(const std::set<std::string>& names);
  Expected<RuleSet> all();
  Expected<PackNotes> notes();
  Expected<std::vector<std::string>> ruleNames();
  std::string digest() const;
  const std::string& bytes() const { return bytes_; }

 private:
  /// A pattern, and what has been read of it.
  struct Entry {
    Row row;
    RuleSet set = {};  ///< the pattern, once it is parsed; its rules
    std::vector<std::string> hashes = {};
    bool isRead = false;  ///< the rules are there

    const std::string& name() const { return row[PatternColumn::kName]; }
  };

  /// Runs `body`, turning SQLite's exceptions, and extents beyond 64 bits, into errors about the pack.
  template <class F>
  auto reading(F body) -> decltype(body()) {
    try {
      return guarded(kPack, name_, body);
    } catch (const OverflowError& e) {
      return fail(ErrorKind::kPack, e.what(), name_, remake(kPack, name_));
    }
  }
  tl::unexpected<Error> wrong(std::string what) const {
    return fail(ErrorKind::kPack, std::move(what), name_, remake(kPack, name_));
  }
  Expected<void> parsePattern(Entry& entry);
  Expected<Rows> rowsOf(const Entry& entry);
  /// A rule that a row is, of which `text` is the statement or all of the text.
  Expected<Rule> parseRule(const Entry& entry, const Row& row, const std::string& text) const;
  Expected<void> readRules(Entry& entry);
  /// The names of all rules behind those of their patterns, sorted. Throws SQLite's exceptions.
  Expected<std::vector<std::pair<std::string, std::string>>> namesByPattern();
  /// What nobody sees who reads pattern by pattern. Gives the evidence.
  Expected<Rows> checkWhole();

  std::string name_, bytes_;
  std::unique_ptr<SQLite::Database> database_;
  Rows metadata_;
  std::map<std::string, Entry, std::less<>> patterns_;               ///< by name
  std::map<std::string, const Entry*, std::less<>> patternOf_ = {};  ///< of rules that were read, by name
};

// --- Opening ---

Expected<void> Pack::State::open(std::optional<std::string_view> bytes) {
  auto opened = bytes ? openDatabase(kPack, *bytes, name_) : openDatabaseFile(kPack, name_);
  if (!opened) return tl::unexpected(opened.error());
  database_ = std::move(*opened);
  return reading([&]() -> Expected<void> {
    auto metadata = readRows(*database_, name_, "metadata", 1), patterns = readRows(*database_, name_, "patterns", 1);
    if (!metadata || !patterns) return tl::unexpected(metadata ? patterns.error() : metadata.error());
    const Row stored{kContent, contentDigest(*metadata, *patterns)};
    if (!std::binary_search(metadata->begin(), metadata->end(), stored))
      return damaged(kPack, name_, "its content does not have the stored digest");
    metadata_ = std::move(*metadata);
    for (Row& row : *patterns) {
      std::string name = row[PatternColumn::kName];
      patterns_.emplace(std::move(name), Entry{std::move(row)});
    }
    return {};
  });
}

// --- Patterns and rules ---

Expected<void> Pack::State::parsePattern(Entry& entry) {
  if (!entry.set.patterns.empty()) return {};
  auto parsed = parseRules(entry.row[PatternColumn::kText], "pattern " + entry.name());
  if (!parsed) return wrong(parsed.error().message());
  if (parsed->patterns.size() != 1 || !parsed->rules.empty() || parsed->patterns[0].name != entry.name() ||
      anchorOf(parsed->patterns[0]) != entry.row[PatternColumn::kAnchor])
    return wrong(fmt::format("pattern {}: its columns do not agree with its text", entry.name()));
  entry.set.patterns = std::move(parsed->patterns);
  return {};
}

Expected<Rows> Pack::State::rowsOf(const Entry& entry) {
  auto rows = readRows(*database_, name_, "rules", 2, entry.name());
  if (rows && digestOf("rules", *rows) != entry.row[PatternColumn::kRules])
    return damaged(kPack, name_, fmt::format("the rules of {} do not have the stored digest", entry.name()));
  return rows;
}

Expected<Rule> Pack::State::parseRule(const Entry& entry, const Row& row, const std::string& text) const {
  auto refuse = [&](std::string_view what) { return wrong(fmt::format("rule {}: {}", row[RuleColumn::kName], what)); };
  if (row[RuleColumn::kHash] != pet::hashOf(entry.row[PatternColumn::kText], row[RuleColumn::kStatement]))
    return refuse("its text does not have the stored hash");
  auto parsed = parseRules(text, "rule " + row[RuleColumn::kName], entry.set);
  if (!parsed) return refuse(parsed.error().message());
  if (parsed->rules.size() != 1 || !parsed->patterns.empty()) return refuse("its text is not one rule");
  Rule& r = parsed->rules[0];
  const Row told{r.pattern,
                 r.name,
                 row[RuleColumn::kHash],
                 r.family,
                 std::to_string(r.depth),
                 std::to_string(r.boxes.size()),
                 r.numerics.str()};
  if (!std::equal(told.begin(), told.end(), row.begin())) return refuse("its columns do not agree with its text");
  return std::move(r);
}

Expected<void> Pack::State::readRules(Entry& entry) {
  if (entry.isRead) return {};
  auto rows = rowsOf(entry);
  if (!rows) return tl::unexpected(rows.error());
  for (const Row& row : *rows) {
    auto rule = parseRule(entry, row, statementOf(row));
    if (!rule) return tl::unexpected(rule.error());
    if (!patternOf_.emplace(rule->name, &entry).second) return wrong(fmt::format("two rules are named {}", rule->name));
    entry.set.rules.push_back(std::move(*rule));
    entry.hashes.push_back(row[RuleColumn::kHash]);
  }
  entry.isRead = true;
  return {};
}

Expected<std::vector<const Pattern*>> Pack::State::patternsOf(const OperatorNames& anchors) {
  return reading([&]() -> Expected<std::vector<const Pattern*>> {
    std::vector<const Pattern*> result;
    for (auto& [name, entry] : patterns_) {
      if (!mayMatch(entry.row[PatternColumn::kAnchor], anchors)) continue;
      if (auto ok = parsePattern(entry); !ok) return tl::unexpected(ok.error());
      result.push_back(&entry.set.patterns[0]);
    }
    return result;
  });
}

Expected<std::vector<const Rule*>> Pack::State::rulesOf(const Pattern& pattern) {
  return reading([&]() -> Expected<std::vector<const Rule*>> {
    Entry& entry = patterns_.find(pattern.name)->second;
    if (auto ok = readRules(entry); !ok) return tl::unexpected(ok.error());
    std::vector<const Rule*> result;
    for (const Rule& r : entry.set.rules)
      result.push_back(&r);
    return result;
  });
}

const std::string& Pack::State::hashOf(const Rule& rule) const {
  const Entry& entry = *patternOf_.find(rule.name)->second;
  return entry.hashes[static_cast<size_t>(&rule - entry.set.rules.data())];
}

Expected<RuleSet> Pack::State::proved(const std::set<std::string>& names) {
  return reading([&]() -> Expected<RuleSet> {
    RuleSet result;
    std::set<const Entry*> entries;
    for (const std::string& name : names)
      entries.insert(patternOf_.find(name)->second);
    for (const auto& [name, entry] : patterns_) {
      if (!entries.contains(&entry)) continue;
      result.patterns.push_back(entry.set.patterns[0]);
      auto rows = rowsOf(entry);
      if (!rows) return tl::unexpected(rows.error());
      for (const Row& row : *rows) {
        if (!names.contains(row[RuleColumn::kName])) continue;
        auto rule = parseRule(entry, row, textOf(row));
        if (!rule) return tl::unexpected(rule.error());
        const Rule* known = entry.set.findRule(rule->name);
        // Also where somebody writes to the file meanwhile: what is proved is what was applied.
        if (!known || printStatement(*known) != printStatement(*rule))
          return wrong(fmt::format("rule {}: its statement and its text differ", rule->name));
        result.rules.push_back(std::move(*rule));
      }
    }
    std::sort(result.rules.begin(), result.rules.end(), [](const Rule& a, const Rule& b) { return a.name < b.name; });
    return result;
  });
}

// --- The whole ---

Expected<Rows> Pack::State::checkWhole() {
  if (auto ok = checkPages(kPack, *database_, name_); !ok) return tl::unexpected(ok.error());
  auto evidence = readRows(*database_, name_, "evidence", 2);
  if (!evidence) return evidence;
  if (!std::binary_search(metadata_.begin(), metadata_.end(), Row{kEvidence, digestOf("evidence", *evidence)}))
    return damaged(kPack, name_, "its evidence does not have the stored digest");
  SQLite::Statement orphan(*database_,
                           "SELECT name, pattern FROM rules WHERE pattern NOT IN (SELECT name FROM patterns)");
  if (orphan.executeStep()) {
    return wrong(
        fmt::format("rule {} has no pattern {}", orphan.getColumn(0).getString(), orphan.getColumn(1).getString()));
  }
  SQLite::Statement unknown(*database_, "SELECT rule FROM evidence WHERE rule NOT IN (SELECT name FROM rules)");
  if (!unknown.executeStep()) return evidence;
  return damaged(kPack, name_, "evidence about an unknown rule " + unknown.getColumn(0).getString());
}

Expected<RuleSet> Pack::State::all() {
  return reading([&]() -> Expected<RuleSet> {
    auto evidence = checkWhole();
    if (!evidence) return tl::unexpected(evidence.error());
    RuleSet result;
    for (const Row& row : *evidence) {
      if (row[1] == kSource) result.sources.emplace(row[0], row[2]);
    }
    for (auto& [name, entry] : patterns_) {
      if (auto ok = parsePattern(entry); !ok) return tl::unexpected(ok.error());
      auto rows = rowsOf(entry);
      if (!rows) return tl::unexpected(rows.error());
      for (const Row& row : *rows) {
        auto rule = parseRule(entry, row, textOf(row));
        if (!rule) return tl::unexpected(rule.error());
        result.rules.push_back(std::move(*rule));
      }
      result.patterns.push_back(entry.set.patterns[0]);
    }
    auto& rules = result.rules;
    std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.name < b.name; });
    auto twice =
        std::adjacent_find(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.name == b.name; });
    if (twice != rules.end()) return wrong(fmt::format("two rules are named {}", twice->name));
    return result;
  });
}

Expected<PackNotes> Pack::State::notes() {
  return reading([&]() -> Expected<PackNotes> {
    auto evidence = checkWhole();
    if (!evidence) return tl::unexpected(evidence.error());
    PackNotes notes;
    for (const Row& row : *evidence)
      notes.evidence[row[0]][row[1]] = row[2];
    for (const Row& row : metadata_) {
      if (row[0] != kContent && row[0] != kEvidence) notes.metadata[row[0]] = row[1];
    }
    return notes;
  });
}

Expected<std::vector<std::pair<std::string, std::string>>> Pack::State::namesByPattern() {
  SQLite::Statement row(*database_, "SELECT pattern, name FROM rules ORDER BY pattern, name");
  std::vector<std::pair<std::string, std::string>> names;
  while (row.executeStep()) {
    std::pair next(row.getColumn(0).getString(), row.getColumn(1).getString());
    if (!names.empty() && next <= names.back()) return damaged(kPack, name_, "its rules are not in order");
    names.push_back(std::move(next));
  }
  return names;
}

Expected<std::vector<std::string>> Pack::State::ruleNames() {
  return reading([&]() -> Expected<std::vector<std::string>> {
    auto all = namesByPattern();
    if (!all) return tl::unexpected(all.error());
    std::vector<std::string> names;
    for (auto& [pattern, name] : *all)
      names.push_back(std::move(name));
    std::sort(names.begin(), names.end());
    return names;
  });
}

Expected<PatternsOfRules> Pack::State::patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) {
  return reading([&]() -> Expected<PatternsOfRules> {
    auto all = namesByPattern();
    if (!all) return tl::unexpected(all.error());
    PatternsOfRules result;
    for (const auto& [pattern, name] : *all) {
      if (!isWanted(name)) continue;
      auto entry = patterns_.find(pattern);
      if (entry == patterns_.end()) return wrong(fmt::format("rule {} has no pattern {}", name, pattern));
      if (auto ok = parsePattern(entry->second); !ok) return tl::unexpected(ok.error());
      result.emplace(name, &entry->second.set.patterns[0]);
    }
    return result;
  });
}

std::string Pack::State::digest() const {
  auto content = std::find_if(metadata_.begin(), metadata_.end(), [](const Row& row) { return row[0] == kContent; });
  return (*content)[1];
}

// --- Pack ---

Pack::Pack(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pack::Pack(Pack&&) noexcept = default;
Pack& Pack::operator=(Pack&&) noexcept = default;
Pack::~Pack() = default;

Expected<Pack> Pack::open(const std::string& path) {
  constexpr size_t kEnough = 4096;
  auto start = readStart(path, kEnough, ErrorKind::kPack);
  if (!start) return tl::unexpected(start.error());
  std::string bytes;
  if (!start->isRegular) {  // a pipe, which can be read once
    auto all = readFile(path, ErrorKind::kPack);
    if (!all) return tl::unexpected(all.error());
    bytes = std::move(*all);
  }
  const std::string& first = start->isRegular ? start->bytes : bytes;
  if (first.starts_with("pattern ") || first.starts_with("rule "))
    return fail(ErrorKind::kPack, "not a pack but rules as text", path, "make a pack with pet-rules import");
  auto state = std::make_unique<State>(path, std::move(bytes));
  auto ok = state->open(start->isRegular ? std::nullopt : std::optional<std::string_view>(state->bytes()));
  if (!ok) return tl::unexpected(ok.error());
  return Pack(std::move(state));
}

Expected<Pack> Pack::openBytes(std::string_view bytes, const std::string& name) {
  auto state = std::make_unique<State>(name, "");
  if (auto ok = state->open(bytes); !ok) return tl::unexpected(ok.error());
  return Pack(std::move(state));
}

Expected<std::vector<const Pattern*>> Pack::patternsOf(const OperatorNames& anchors) {
  return state_->patternsOf(anchors);
}
Expected<std::vector<const Rule*>> Pack::rulesOf(const Pattern& pattern) {
  return state_->rulesOf(pattern);
}
Expected<PatternsOfRules> Pack::patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) {
  return state_->patternsOfRules(isWanted);
}
const std::string& Pack::hashOf(const Rule& rule) const {
  return state_->hashOf(rule);
}
Expected<RuleSet> Pack::proved(const std::set<std::string>& names) {
  return state_->proved(names);
}
Expected<RuleSet> Pack::all() {
  return state_->all();
}
Expected<std::vector<std::string>> Pack::ruleNames() {
  return state_->ruleNames();
}
std::string Pack::digest() const {
  return state_->digest();
}
Expected<PackNotes> Pack::notes() {
  return state_->notes();
}

}  // namespace pet
