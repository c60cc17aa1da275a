#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "rules/rule.h"

namespace pet {

/// A proved rule as it enters a pack: its class without constraints that follow from others, and its numerics. Throws
/// OverflowError.
Rule recorded(const Pattern& pattern, Rule rule);

/// The independent checker's objection (rules/check) to a rule as it would be read from a pack; "" if it confirms every
/// proof and the numerics.
std::string objectionOfChecker(const Pattern& pattern, const Rule& rule);

}  // namespace pet
