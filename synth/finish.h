#pragma once

#include "rules/rule.h"

namespace pet {

/// What a proved rule states beyond its programs: the constraints of its class that do not follow from the others, and
/// its numerics. `source` is the pattern's program over the rule's symbols.
void finish(const Program& source, Rule& rule);

}  // namespace pet
