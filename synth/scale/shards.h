#pragma once

#include <string>
#include <vector>

#include "synth/scale/outcomes.h"

namespace pet {

/// A part and the name of its file.
struct NamedPart {
  std::string name;
  Outcomes outcomes;
};

/// What the parts of a search make together: the very rules and notes that one run would have given.
struct MergedParts {
  RuleSet rules;
  PackNotes notes;
  size_t missing = 0;  ///< units that no part has, since it was stopped by its budget
};

/// kUsage, by name: a part that is missing or comes twice, a part of another search, one that was cut off, a
/// checkpoint. kPack: a rule that cannot be read; made by another build than this.
Expected<MergedParts> mergeParts(std::vector<NamedPart> parts);

}  // namespace pet
