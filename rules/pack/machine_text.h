#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "ir/machine.h"

namespace pet {

/// One JSON object on one line, as it stands in timings (docs/pack-format.md, Machines).
std::string print(const Machine& machine);
/// kPack, with the file: no machine, or not a possible one.
Expected<Machine> parseMachine(std::string_view text, const std::string& file);

}  // namespace pet
