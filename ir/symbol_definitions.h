#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace pet {

/// Symbols that stand for something that is computed from others, each behind those that it is computed from: what they
/// are where these have values; nullopt: nothing there.
using SymbolDefinitions = std::vector<std::pair<std::string, std::function<std::optional<int64_t>(const Bindings&)>>>;

}  // namespace pet
