#pragma once

#include <string>

#include "ir/program.h"

namespace pet {

/// Statements and outputs with values renamed in order: equal for programs that are the same but for names.
std::string canonicalText(const Program& program);

}  // namespace pet
