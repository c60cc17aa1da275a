#include "tools/synth/last_words.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <unistd.h>

#include "tools/common/tool.h"

namespace pet::tool {
namespace {

// A signal handler reaches nothing else.
std::array<char, 1024> message;
size_t length = 0;

void say(int) {
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, message.data(), length);
  ::_exit(ExitCode::kInternal);
}

}  // namespace

LastWords::LastWords(const std::string& line) {
  length = std::min(line.size(), message.size());
  std::copy_n(line.begin(), length, message.begin());
  before_ = std::signal(SIGABRT, say);
}

LastWords::~LastWords() {
  std::signal(SIGABRT, before_);
}

}  // namespace pet::tool
