#pragma once

#include <filesystem>
#include <string>

namespace pet::tool {

/// A folder for files that only a child process reads. It goes with its owner.
class Scratch {
 public:
  /// PREFIX-… in the system's folder for such things.
  explicit Scratch(const std::string& prefix);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pet::tool
