#include "tools/common/share.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <dlfcn.h>
#include <link.h>

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

/// The folder of the shared library that this code is in; nothing where it is in the program.
std::optional<fs::path> libraryFolder() {
  static const char here = 0;
  Dl_info info{};
  void* map = nullptr;
  if (::dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) == 0 || !map) return std::nullopt;
  const char* name = static_cast<const link_map*>(map)->l_name;
  if (!*name) return std::nullopt;
  std::error_code ignored;
  return fs::canonical(name, ignored).parent_path();
}

}  // namespace

fs::path binFolder() {
  if (auto library = libraryFolder()) return (*library / "../bin").lexically_normal();
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::optional<std::string> commandNamed(const std::string& name) {
  std::error_code ignored;
  const fs::path own = binFolder() / name;
  const bool isHere = fs::exists(own, ignored);
  const char* folders = std::getenv("PATH");
  std::istringstream path(folders ? folders : "");
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path found = fs::path(folder) / name;
    if (!fs::exists(found, ignored)) continue;
    if (!isHere || fs::equivalent(found, own, ignored)) return name;
    break;  // another one, of this name
  }
  return isHere ? std::optional(own.string()) : std::nullopt;
}

Expected<fs::path> shareFolder() {
  std::error_code ignored;
  const char* given = std::getenv("PET_SHARE");
  const bool isGiven = given && *given;
  const fs::path folder = isGiven ? fs::path(given) : (binFolder() / "../share/pet").lexically_normal();
  if (fs::is_directory(folder, ignored)) return folder;
  return fail(ErrorKind::kUsage, "the folder of pet's rules and timings is missing", folder.string(),
              isGiven ? "PET_SHARE names it; unset it, or name the share/pet of an installation"
                      : "copy the whole installation, or name its share/pet in PET_SHARE");
}

Expected<std::string> shareFile(const std::string& name) {
  auto folder = shareFolder();
  if (!folder) return tl::unexpected(folder.error());
  std::error_code ignored;
  const fs::path file = *folder / name;
  if (fs::exists(file, ignored)) return file.string();
  return fail(ErrorKind::kUsage, "is missing in pet's share folder", file.string(),
              "install pet again, or name the share/pet of an installation in PET_SHARE");
}

Expected<std::string> shippedTimings(const std::string& device) {
  auto folder = shareFolder();
  if (!folder) return tl::unexpected(folder.error());
  std::error_code ignored;
  for (std::string_view extension : kTimingsExtensions) {
    auto path = *folder / (device + std::string(extension));
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  return "";
}

std::vector<fs::path> allShippedTimings() {
  std::vector<fs::path> files;
  auto folder = shareFolder();
  if (!folder) return files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*folder, error)) {
    const std::string name = entry.path().filename().string();
    auto isEnd = [&](std::string_view extension) { return name.ends_with(extension); };
    if (std::any_of(std::begin(kTimingsExtensions), std::end(kTimingsExtensions), isEnd)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace pet::tool
