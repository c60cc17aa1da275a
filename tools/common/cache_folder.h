#pragma once

#include <filesystem>
#include <optional>

namespace pet::tool {

/// Where the user's results are kept from one run to the next: $PET_CACHE, else $XDG_CACHE_HOME/pet, else ~/.cache/pet.
/// Nothing where none of them is set.
std::optional<std::filesystem::path> cacheFolder();

}  // namespace pet::tool
