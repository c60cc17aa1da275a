#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace pet::tool {

/// Files that a child process reads and writes instead of ours.
struct ChildFiles {
  std::string in = "/dev/null", out = "/dev/null", error = "/dev/null";
};

/// Runs a program (its path, then its arguments) until it ends: its exit status. Errors, for people: it cannot be
/// started, or died of a signal.
tl::expected<int, std::string> runChild(std::vector<std::string> words, const ChildFiles& files);

}  // namespace pet::tool
