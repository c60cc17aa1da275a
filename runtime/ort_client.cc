#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/ort/client.h"

namespace pet {

/// A file descriptor that is closed with its owner, and not passed on through exec.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Kind = RunnerError::Kind;

constexpr size_t kLongestAnswer = size_t{64} << 20;
constexpr size_t kLastWords = 400;

struct Channel {
  FileDescriptor ours, theirs;
};

/// A socket pair and not a pipe: writing to a process that died must be an error, not a signal.
std::optional<Channel> openChannel() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) return std::nullopt;
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return Channel{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

/// What is left of the text's end on one line, for a message.
std::string lastLine(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  if (size_t line = text.rfind('\n'); line != std::string_view::npos) text.remove_prefix(line + 1);
  if (text.size() > kLastWords) text.remove_prefix(text.size() - kLastWords);
  std::string words(text);
  for (char& c : words)
    c = std::iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
  return words;
}

}  // namespace

/// The child process, its standard streams, and what came over them.
class Runner::Process {
 public:
  Process(std::string name, pid_t pid, FileDescriptor in, FileDescriptor out, FileDescriptor err)
      : name_(std::move(name)), pid_(pid), in_(std::move(in)), out_(std::move(out)), err_(std::move(err)) {}
  ~Process() { end(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Sends a request and waits for its answer.
  RunnerExpected<json> ask(const json& request, double timeoutSeconds) {
    if (pid_ <= 0) return error(Kind::kDied, "has ended");
    auto deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeoutSeconds));
    std::string line = request.dump() + "\n";
    auto answer = send(line, deadline).and_then([&] { return receive(deadline, timeoutSeconds); });
    auto parsed = answer ? parse(*answer) : tl::unexpected(answer.error());
    if (!parsed && parsed.error().fatal()) end();
    return parsed;
  }

  tl::unexpected<RunnerError> error(Kind kind, std::string_view what) {
    drain();
    std::string words = lastLine(errors_);
    return tl::unexpected(
        RunnerError{kind, fmt::format("{}: {}{}", name_, what, words.empty() ? "" : "; it said: " + words)});
  }

  /// Ends the process: politely when it is idle, by force when it does not go.
  void end() {
    if (pid_ <= 0) return;
    in_.reset();
    for (int i = 0; i < 40 && !reaped(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
      pid_ = -1;
    }
  }

 private:
  bool reaped() {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ <= 0;
  }

  RunnerExpected<void> send(std::string_view line, Clock::time_point deadline) {
    while (!line.empty()) {
      ssize_t sent = ::send(in_.get(), line.data(), line.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        line.remove_prefix(static_cast<size_t>(sent));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait(POLLOUT, deadline)) return error(Kind::kTimedOut, "does not read its requests");
      } else if (errno != EINTR) {
        return error(Kind::kDied, ended());
      }
    }
    return {};
  }

  RunnerExpected<std::string> receive(Clock::time_point deadline, double timeoutSeconds) {
    while (true) {
      if (size_t end = answers_.find('\n'); end != std::string::npos) {
        std::string line = answers_.substr(0, end);
        answers_.erase(0, end + 1);
        return line;
      }
      if (answers_.size() > kLongestAnswer) return error(Kind::kNonsense, "answers without end");
      if (!wait(0, deadline)) {
        return error(Kind::kTimedOut, fmt::format("no answer in {:.3g} s", timeoutSeconds));
      }
      drain();
      if (closed_ && answers_.find('\n') == std::string::npos) return error(Kind::kDied, ended());
    }
  }

  /// Waits until there is something to read (or, with POLLOUT, to write); false at the deadline.
  bool wait(short write, Clock::time_point deadline) {
    while (true) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return false;
      std::array<pollfd, 3> fds{
          {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}, {write != 0 ? in_.get() : -1, write, 0}}};
      int ready = poll(fds.data(), fds.size(), static_cast<int>(std::min<long>(left, 1000000)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  /// Reads what is there, from both streams.
  void drain() {
    closed_ = read(out_, answers_) || closed_;
    read(err_, errors_);
    if (errors_.size() > 2 * kLastWords) errors_.erase(0, errors_.size() - 2 * kLastWords);
  }

  /// True once the other end is closed.
  static bool read(FileDescriptor& from, std::string& into) {
    std::array<char, 65536> buffer;
    while (from.get() >= 0) {
      ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
      if (n > 0) {
        into.append(buffer.data(), static_cast<size_t>(n));
        if (into.size() > kLongestAnswer) return false;
      } else if (n < 0 && errno == EINTR) {
        continue;
      } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return false;
      } else {
        from.reset();
      }
    }
    return true;
  }

  std::string ended() {
    in_.reset();
    for (int i = 0; i < 200 && !reaped(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (pid_ > 0) return "closed its output";
    if (WIFSIGNALED(status_))
      return fmt::format("died of signal {} ({})", WTERMSIG(status_), strsignal(WTERMSIG(status_)));
    return fmt::format("ended with status {}", WEXITSTATUS(status_));
  }

  RunnerExpected<json> parse(const std::string& line) {
    json answer = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!answer.is_object())
      return error(Kind::kNonsense, fmt::format("its answer is no JSON object: {}", lastLine(line)));
    if (auto refusal = answer.find("error"); refusal != answer.end()) {
      return error(Kind::kRefused, refusal->is_string() ? lastLine(refusal->get<std::string>()) : refusal->dump());
    }
    return answer;
  }

  std::string name_;
  pid_t pid_;
  FileDescriptor in_, out_, err_;
  std::string answers_, errors_;
  bool closed_ = false;
  int status_ = 0;
};

namespace {

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void becomeRunner(
    char* const* argv, const Channel& in, const Channel& out, const Channel& err, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a runner does not outlive its client
  if (dup2(in.theirs.get(), 0) >= 0 && dup2(out.theirs.get(), 1) >= 0 && dup2(err.theirs.get(), 2) >= 0) {
    execvp(argv[0], argv);
  }
  int why = errno;
  [[maybe_unused]] ssize_t told = write(failure, &why, sizeof why);
  _exit(127);
}

std::string nameOf(const std::vector<std::string>& command) {
  return fmt::format("runner '{:.200}'", fmt::format("{}", fmt::join(command, " ")));
}

tl::unexpected<RunnerError> cannotStart(const std::vector<std::string>& command, int why) {
  return tl::unexpected(
      RunnerError{Kind::kMissing, fmt::format("{}: cannot start it: {}", nameOf(command), std::strerror(why))});
}

}  // namespace

RunnerExpected<Runner> Runner::start(const std::vector<std::string>& command) {
  auto in = openChannel(), out = openChannel(), err = openChannel(), failure = openChannel();
  if (!in || !out || !err || !failure) return cannotStart(command, errno);
  fcntl(failure->ours.get(), F_SETFL, 0);

  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = fork();
  if (pid < 0) return cannotStart(command, errno);
  if (pid == 0) becomeRunner(argv.data(), *in, *out, *err, failure->theirs.get());

  auto process =
      std::make_unique<Process>(nameOf(command), pid, std::move(in->ours), std::move(out->ours), std::move(err->ours));
  in->theirs.reset();
  out->theirs.reset();
  err->theirs.reset();
  failure->theirs.reset();
  int why = 0;
  if (read(failure->ours.get(), &why, sizeof why) == sizeof why)
    return cannotStart(command, why);  // else: exec closed it
  return Runner(std::move(process));
}

Runner::Runner(std::unique_ptr<Process> process) : process_(std::move(process)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

namespace {

std::string stringOf(const json& answer, const char* name) {
  auto field = answer.find(name);
  return field != answer.end() && field->is_string() ? field->get<std::string>() : "";
}

bool isTime(const json& value) {
  return value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>());
}

bool isSize(const json& value) {
  return value.is_number() && value.get<double>() >= 0 && std::isfinite(value.get<double>());
}

bool isListOf(const json& list, size_t count, bool (*holds)(const json&)) {
  return list.is_array() && list.size() == count && std::all_of(list.begin(), list.end(), holds);
}

bool isSampleList(const json& list) {
  return !list.empty() && isListOf(list, list.size(), isTime);
}

/// The figures, if they are what was asked for.
std::optional<TimeAnswer> timesOf(const json& answer, size_t models) {
  for (const char* name : {"samples", "median", "p10", "p90", "max_abs_diff", "max_abs"}) {
    if (!answer.contains(name)) return std::nullopt;
  }
  bool fits = isListOf(answer["samples"], models, isSampleList) && isListOf(answer["median"], models, isTime) &&
              isListOf(answer["p10"], models, isTime) && isListOf(answer["p90"], models, isTime) &&
              isListOf(answer["max_abs_diff"], models, isSize) && isSize(answer["max_abs"]);
  if (!fits) return std::nullopt;
  return TimeAnswer{answer["samples"], answer["median"],       answer["p10"],
                    answer["p90"],     answer["max_abs_diff"], answer["max_abs"]};
}

}  // namespace

namespace {

/// A number of 32 bits that is >= 0; 0 where there is none.
template <class T>
T numberOf(const json& value) {
  const bool isNumber = value.is_number_unsigned() && std::in_range<T>(value.get<uint64_t>());
  return isNumber ? value.get<T>() : 0;
}

Machine machineOf(const json& hello) {
  auto at = [](const json& object, const auto& key) { return object.contains(key) ? object[key] : json(); };
  const json caches = at(hello, "caches");
  auto cache = [&](size_t i) { return caches.is_array() && i < caches.size() ? numberOf<int64_t>(caches[i]) : 0; };
  return {.vendor = stringOf(hello, "vendor"),
          .family = numberOf<int>(at(hello, "family")),
          .model = numberOf<int>(at(hello, "model")),
          .cpu = stringOf(hello, "cpu"),
          .isa = stringOf(hello, "isa"),
          .l1d = cache(0),
          .l2 = cache(1),
          .l3 = cache(2)};
}

}  // namespace

RunnerExpected<RunnerHello> Runner::hello(double timeoutSeconds) {
  auto answer = process_->ask({{"cmd", "hello"}}, timeoutSeconds);
  if (!answer) return tl::unexpected(answer.error());
  RunnerHello hello{stringOf(*answer, "engine"), stringOf(*answer, "version"), machineOf(*answer),
                    stringOf(*answer, "device")};
  if (hello.engine.empty() || hello.version.empty()) {
    auto nonsense = process_->error(Kind::kNonsense, "does not say which engine it is, and of what version");
    process_->end();
    return nonsense;
  }
  return hello;
}

RunnerExpected<TimeAnswer> Runner::time(const TimeRequest& request, double timeoutSeconds) {
  json question{{"cmd", "time"},
                {"models", request.models},
                {"runs", request.runs},
                {"warmup", request.warmup},
                {"threads", request.threads},
                {"budget_s", request.budgetSeconds},
                {"cold", request.cold},
                {"processor_time", request.processorTime},
                {"positive", request.positive},
                {"seed", request.seed}};
  auto answer = process_->ask(question, timeoutSeconds);
  if (!answer) return tl::unexpected(answer.error());
  auto times = timesOf(*answer, request.models.size());
  if (!times) {
    auto nonsense = process_->error(Kind::kNonsense, fmt::format("its times are none: {}", lastLine(answer->dump())));
    process_->end();
    return nonsense;
  }
  return *times;
}

template <class Ask>
auto RunnerKeeper::ask(Ask ask) -> decltype(ask(std::declval<Runner&>())) {
  if (!runner_) {
    auto started = Runner::start(command_);
    if (!started) {
      failures_ = 2;  // it will not be there next time either
      lastFailure_ = started.error().message;
      return tl::unexpected(started.error());
    }
    runner_.emplace(std::move(*started));
  }
  auto answer = ask(*runner_);
  if (!answer && answer.error().fatal()) {
    runner_.reset();
    lastFailure_ = answer.error().message;
    ++failures_;
  } else {
    failures_ = 0;
  }
  return answer;
}

RunnerExpected<RunnerHello> RunnerKeeper::hello() {
  return ask([&](Runner& runner) { return runner.hello(timeoutSeconds_); });
}

RunnerExpected<TimeAnswer> RunnerKeeper::time(const TimeRequest& request) {
  return ask([&](Runner& runner) { return runner.time(request, timeoutSeconds_ + request.budgetSeconds); });
}

}  // namespace pet
