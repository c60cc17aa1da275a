#pragma once

#include <functional>
#include <string>

#include "applier/onnx/bytes.h"

namespace pet {

/// Where new weights wait until they are written: the same bytes, somewhere else. Null: where they are.
using KeepBytes = std::function<Bytes(Bytes)>;

/// Moves large values out of memory, to files in this folder that have no names and are gone with their last user. What
/// the folder has no room for stays in memory.
KeepBytes keepInFolder(const std::string& folder);

}  // namespace pet
