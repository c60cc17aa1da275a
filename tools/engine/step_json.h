#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/prepared.h"

namespace pet::tool {

/// [{"node", "op", "how", "seconds", "bytes"}, …], as docs/command-line.md has it.
nlohmann::ordered_json jsonOf(const std::vector<StepTime>& steps);

}  // namespace pet::tool
