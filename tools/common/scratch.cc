#include "tools/common/scratch.h"

#include <cstdlib>

namespace pet::tool {

Scratch::Scratch(const std::string& prefix, const std::string& kept) : path_(kept), mine_(kept.empty()) {
  std::error_code ignored;  // what cannot be made cannot be written to, which is reported
  if (!mine_) {
    std::filesystem::create_directories(path_, ignored);
    return;
  }
  std::string name = (std::filesystem::temp_directory_path(ignored) / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(name.data())) path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (mine_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace pet::tool
