#pragma once

#include <string>

namespace pet::tool {

/// What is said if the process aborts while this lives, after what the library that aborts has said itself: GMP and z3
/// without memory and oneTBB without threads leave no other way. Then the process ends with the exit code of an
/// internal error. The newest one speaks; they end in the opposite order.
class LastWords {
 public:
  /// `tool`: its name. `advice`: added in parentheses, if there is any.
  explicit LastWords(const std::string& tool, const std::string& advice = "");
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  static void speak(int signal);

  std::string line_;
  const LastWords* before_;
  void (*handlerBefore_)(int);
};

}  // namespace pet::tool
