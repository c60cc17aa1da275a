#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "rules/rule_source.h"

namespace pet {

/// The content of a pack besides its rules. No dates and nothing about the machine: the same synthesis gives the same
/// bytes.
struct PackNotes {
  std::map<std::string, std::string> metadata;  ///< e.g. "depth" -> "4"
  std::map<std::string, std::map<std::string, std::string>>
      evidence;  ///< rule -> key -> value, e.g. "boxes/tight" -> "0.98"
  friend bool operator==(const PackNotes&, const PackNotes&) = default;
};

/// Evidence "verdict" of a rule: of the prover, and whether the independent checker has confirmed it.
inline constexpr std::string_view kChecked = "proved, checked", kNotChecked = "proved, not checked";

/// The evidence that is RuleSet::sources.
inline constexpr const char* kSource = "source";

/// The canonical hash of a rule: BLAKE2b-256, in hexadecimal, of its pattern's and its own text without the proof. It
/// is what timings refer to and what a signature will cover.
std::string ruleHash(const Pattern& pattern, const Rule& rule);

/// The bytes of a pack (docs/pack-format.md): the same for the same rules and notes in any order, for one version of
/// SQLite. What the notes say of a rule's source comes before what the set says. kPack: two rules or patterns of one
/// name, a rule without its pattern, evidence about an unknown rule.
Expected<std::string> packBytes(const RuleSet& rules, const PackNotes& notes = {});
/// Writes beside and renames; a failure leaves nothing.
Expected<void> writePack(const RuleSet& rules, const std::string& path, const PackNotes& notes = {});

/// A pack that is open. A pattern is parsed when its anchor is asked for, its rules when they are; each part is held
/// against its digest when it is read. The file is not locked, nor are files made beside it. Errors are kPack, with
/// what is wrong, the path and what to do: missing, not a pack, of another format, truncated, damaged.
class Pack final : public RuleSource {
 public:
  static Expected<Pack> open(const std::string& path);
  /// `name` stands in errors for the path. The bytes outlive it.
  static Expected<Pack> openBytes(std::string_view bytes, const std::string& name);
  Pack(Pack&&) noexcept;
  Pack& operator=(Pack&&) noexcept;
  ~Pack() override;

  Expected<std::vector<const Pattern*>> patternsOf(const OperatorNames& anchors) override;
  /// Without their proofs.
  Expected<std::vector<const Rule*>> rulesOf(const Pattern& pattern) override;
  /// That a rule is of a pattern is not held against a digest.
  Expected<PatternsOfRules> patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) override;
  /// ruleHash() of a rule that rulesOf() gave.
  const std::string& hashOf(const Rule& rule) const;
  /// Rules that rulesOf() gave, by name, now with their proofs; and their patterns.
  Expected<RuleSet> proved(const std::set<std::string>& names);

  /// All rules with their proofs; every byte of the file that carries meaning is checked.
  Expected<RuleSet> all();
  Expected<PackNotes> notes();

  /// Of all rules, sorted; not held against a digest, so for messages alone.
  Expected<std::vector<std::string>> ruleNames();
  /// Of its content, in hexadecimal: the same for the same rules and notes.
  std::string digest() const;

 private:
  class State;
  explicit Pack(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Reads a whole pack: Pack::all().
Expected<RuleSet> readPack(const std::string& path);
Expected<RuleSet> readPackBytes(std::string_view bytes, const std::string& name);
/// The content of the pack besides its rules; the same errors.
Expected<PackNotes> readPackNotes(const std::string& path);
Expected<PackNotes> readPackNotesBytes(std::string_view bytes, const std::string& name);

}  // namespace pet
