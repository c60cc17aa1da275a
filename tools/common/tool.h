#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "ir/error.h"

// What every command does alike: exit codes, error lines, progress.
namespace pet::tool {

/// 0 ok, 1 internal, 2 usage, 3 bad model, 4 bad pack or rule text, 5 check failed.
enum ExitCode { kOk = 0, kInternal = 1, kUsage = 2, kBadModel = 3, kBadPack = 4, kCheckFailed = 5 };
ExitCode exitCode(ErrorKind kind);

/// Runs a command: its arguments are parsed, `body` does the work, and every way it can fail ends in one line on
/// standard error, "pet-rules: where: what (advice)", and in the exit code. --help and --version go to standard output.
int run(CLI::App& app, int argc, char** argv, const std::function<Expected<void>()>& body);

/// The body of a main(): what is thrown outside run(), while the arguments are declared, is an internal error, too.
template <class Body>
int guard(Body body) {
  try {
    return body();
  } catch (...) {
    std::fputs("internal error: cannot start\n", stderr);
    return kInternal;
  }
}

/// Writes to standard output, all of it: a full disk is an error, not a short file.
Expected<void> print(std::string_view text);

/// "12/200 conv/pair" on the last line of a terminal; nothing elsewhere. Goes to standard error. Not for several
/// threads.
class Progress {
 public:
  Progress(std::string what, size_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step(std::string_view detail);
  /// Removes the line, before something else is printed.
  void clear();

 private:
  std::string what_;
  size_t total_, done_ = 0;
  bool terminal_, shown_ = false;
};

}  // namespace pet::tool
