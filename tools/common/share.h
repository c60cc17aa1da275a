#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"

// Where the tools and the library are installed, and what comes with them (docs/install.md): timings, the default pack,
// patterns, runners' scripts.
namespace pet::tool {

/// The folder of the running command; of the library, ../bin beside its own folder.
std::filesystem::path binFolder();

/// How a shell finds a command of ours: by its name where PATH leads to it, else by the path of the one in binFolder();
/// nullopt: it is not installed.
std::optional<std::string> commandNamed(const std::string& name);

/// The share folder: $PET_SHARE where that is set, else ../share/pet beside the folder of the running command or of the
/// library. kUsage: there is no such folder.
Expected<std::filesystem::path> shareFolder();

/// The default pack's name in it.
inline constexpr const char* kDefaultPack = "default.db";

/// The path of a file or folder in it, e.g. "ort/runner.py". kUsage: there is no share folder, or it has no such entry.
Expected<std::string> shareFile(const std::string& name);

/// The ends of names of files of timings, the one that counts first.
inline constexpr std::string_view kTimingsExtensions[] = {".timings.jsonl", ".timings"};

/// The timings of a device that come with the tool; "": there are none. kUsage: there is no share folder.
Expected<std::string> shippedTimings(const std::string& device);
/// Those of all devices, by name; none where there is no share folder.
std::vector<std::filesystem::path> allShippedTimings();

}  // namespace pet::tool
