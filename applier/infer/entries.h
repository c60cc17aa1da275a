#pragma once

#include <optional>

#include "applier/infer/infer.h"

namespace pet {

/// The entries of a constant, in row-major order; nullopt where they are many, or of a type that no SizeEntry holds.
std::optional<std::vector<SizeEntry>> entriesOf(const Constant& constant);

}  // namespace pet
