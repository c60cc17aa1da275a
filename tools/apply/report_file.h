#pragma once

#include <string>

#include "applier/apply.h"
#include "rules/pack/pack.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// The text of the file that --report names: the page where it ends in .html or .htm, else its data as JSON. The pack's
/// errors, where the text of a rule that fired cannot be read.
Expected<std::string> reportFileText(const ApplyArguments& o,
                                     const Model& original,
                                     const Applied& applied,
                                     Pack& pack);

}  // namespace pet::tool
