#include "tools/common/scratch.h"

#include <cstdlib>

namespace pet::tool {

Scratch::Scratch(const std::string& prefix) {
  std::error_code ignored;  // what cannot be made cannot be written to, which is reported
  std::string name = (std::filesystem::temp_directory_path(ignored) / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(name.data())) path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace pet::tool
