#pragma once

#include <filesystem>
#include <string>

#include "ir/error.h"

// Where the tools and the library are installed, and what comes with them (docs/install.md): timings, the default pack,
// patterns, runners' scripts.
namespace pet::tool {

/// The folder of the running command; of the library, ../bin beside its own folder.
std::filesystem::path binFolder();

/// The share folder: $PET_SHARE where that is set, else ../share/pet beside the folder of the running command or of the
/// library. kUsage: there is no such folder.
Expected<std::filesystem::path> shareFolder();

/// The path of a file or folder in it, e.g. "ort/runner.py". kUsage: there is no share folder, or it has no such entry.
Expected<std::string> shareFile(const std::string& name);

}  // namespace pet::tool
