#include "tools/common/process.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pet::tool {

tl::expected<int, std::string> runChild(std::vector<std::string> words, const ChildFiles& files) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kWritten = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, files.in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, files.out.c_str(), kWritten, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files.error.c_str(), kWritten, 0600);
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return tl::unexpected(std::string("cannot be started: ") + std::strerror(error));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return tl::unexpected(std::string(std::strerror(errno)));
  }
  if (WIFSIGNALED(status)) return tl::unexpected(fmt::format("died of signal {}", WTERMSIG(status)));
  return WEXITSTATUS(status);
}

}  // namespace pet::tool
