#include "tools/common/last_words.h"

#include <atomic>
#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/common/tool.h"

namespace pet::tool {
namespace {

std::atomic<const LastWords*> newest;  // a signal handler reaches nothing else

}  // namespace

LastWords::LastWords(const std::string& tool, const std::string& advice)
    : line_(fmt::format("{}: stopped, most likely out of memory{}\n", tool, advice.empty() ? "" : " (" + advice + ")")),
      before_(newest.exchange(this)),
      handlerBefore_(std::signal(SIGABRT, speak)) {}

LastWords::~LastWords() {
  std::signal(SIGABRT, handlerBefore_);
  newest = before_;
}

void LastWords::speak(int) {
  const std::string& line = newest.load()->line_;
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(ExitCode::kInternal);
}

}  // namespace pet::tool
