#pragma once

#include <string>

namespace pet::tool {

/// What is said if the process aborts while this lives, after what the library that aborts has said itself: GMP without
/// memory and oneTBB without threads leave no other way. Then the process ends with the exit code of an internal error.
/// One at a time.
class LastWords {
 public:
  explicit LastWords(const std::string& line);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace pet::tool
