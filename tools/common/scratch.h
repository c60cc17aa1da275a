#pragma once

#include <filesystem>
#include <string>

namespace pet::tool {

/// A folder for files that a child process reads. It goes with its owner, unless somebody wants to keep it.
class Scratch {
 public:
  /// `kept`, which is made where it is missing; where empty, PREFIX-… in the system's folder for such things.
  explicit Scratch(const std::string& prefix, const std::string& kept = "");
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool mine_;
};

}  // namespace pet::tool
