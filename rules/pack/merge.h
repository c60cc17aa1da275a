#pragma once

#include <string>
#include <vector>

#include "rules/pack/pack.h"

namespace pet {

/// The content of a pack, and the name of its file.
struct NamedPack {
  std::string name;
  RuleSet rules;
  PackNotes notes;
};

/// The rules of several packs as one: a rule that comes more than once (the same hash), once, with the proof whose text
/// is the shorter, then the lesser; of the metadata the entries that all packs share, and that a pack is partial. The
/// same for any order of the packs. Errors, kUsage: two patterns, two rules or two pieces of evidence of one name that
/// are not the same.
Expected<NamedPack> mergePacks(std::vector<NamedPack> packs);

/// The differences between two packs, by name: "- rule", "+ rule", "~ rule" (another statement), "= rule" (the same
/// statement, another proof), each on a line; the same of patterns and of metadata. "" where nothing is.
std::string comparePacks(const NamedPack& a, const NamedPack& b);

}  // namespace pet
