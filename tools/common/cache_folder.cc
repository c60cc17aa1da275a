#include "tools/common/cache_folder.h"

#include <cstdlib>

namespace pet::tool {

std::optional<std::filesystem::path> cacheFolder() {
  auto given = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    return value && *value ? std::optional<std::filesystem::path>(value) : std::nullopt;
  };
  if (auto folder = given("PET_CACHE")) return folder;
  if (auto folder = given("XDG_CACHE_HOME")) return *folder / "pet";
  if (auto home = given("HOME")) return *home / ".cache" / "pet";
  return std::nullopt;
}

}  // namespace pet::tool
