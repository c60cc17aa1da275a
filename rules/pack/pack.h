#pragma once

#include <map>
#include <string>
#include <string_view>

#include "rules/rule.h"

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

/// The canonical hash of a rule: BLAKE2b-256, in hexadecimal, of its pattern's and its own text without the proof. It
/// is what timings refer to and what a signature will cover.
std::string ruleHash(const Pattern& pattern, const Rule& rule);

/// The bytes of a pack (docs/pack-format.md): the same for the same rules and notes in any order, for one version of
/// SQLite. kPack: two rules or patterns of one name, a rule without its pattern, evidence about an unknown rule.
Expected<std::string> packBytes(const RuleSet& rules, const PackNotes& notes = {});
/// Writes beside and renames; a failure leaves nothing.
Expected<void> writePack(const RuleSet& rules, const std::string& path, const PackNotes& notes = {});

/// Reads a whole pack; the file is not locked, nor are files made beside it. kPack, with what is wrong, the path and
/// what to do: missing, not a pack, of a newer format, truncated, damaged (every byte that carries meaning is under a
/// digest).
Expected<RuleSet> readPack(const std::string& path);
/// The same from memory; `name` stands in errors for the path.
Expected<RuleSet> readPackBytes(std::string_view bytes, const std::string& name);
/// The content of the pack besides its rules; the same errors.
Expected<PackNotes> readPackNotes(const std::string& path);
Expected<PackNotes> readPackNotesBytes(std::string_view bytes, const std::string& name);

}  // namespace pet
