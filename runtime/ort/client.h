#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/machine.h"

namespace pet {

/// What went wrong with a runner, the child process that times models.
struct RunnerError {
  enum class Kind {
    kRefused,   ///< it answered that it cannot do this request; it goes on running
    kMissing,   ///< it could not be started
    kDied,      ///< it ended before it answered
    kTimedOut,  ///< no answer in time
    kNonsense,  ///< an answer that is none
  };
  Kind kind = Kind::kRefused;
  std::string message;  ///< one line: the runner, what it did, the last words on its stderr
  /// Whether the process can take no further request.
  bool fatal() const { return kind != Kind::kRefused; }
};

template <class T>
using RunnerExpected = tl::expected<T, RunnerError>;

struct RunnerHello {
  std::string engine, version;
  Machine machine;          ///< without rates; of a runner that only says isa and cpu, nothing else
  std::string device = "";  ///< of ours, which know better than who asked for "cuda": "cuda:h200"; "": not said
};

/// Times `models` (paths) in turns on equal inputs; see runtime/ort/runner.py for the meaning of each field.
struct TimeRequest {
  std::vector<std::string> models;
  int runs = 20, warmup = 2, threads = 1;
  double budgetSeconds = 10;
  bool cold = false;           ///< weights come from memory: the caches are overwritten before each run
  bool processorTime = false;  ///< of the one thread: what other processes take does not count
  bool positive = false;       ///< inputs of floating point are > 0
  int64_t seed = 0;
};

/// One entry per model; times in seconds, all > 0.
struct TimeAnswer {
  std::vector<std::vector<double>> samples;
  std::vector<double> median, p10, p90;
  std::vector<double> maxAbsDiff;  ///< largest |output - first model's output|
  double maxAbs = 0;               ///< largest |first model's output|
};

/// A client of a runner: starts it, sends JSON lines, waits with a limit. Ends the process when destroyed, and after
/// every fatal error.
class Runner {
 public:
  /// Starts `command` (program and arguments; the program is searched in PATH).
  static RunnerExpected<Runner> start(const std::vector<std::string>& command);
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  RunnerExpected<RunnerHello> hello(double timeoutSeconds);
  RunnerExpected<TimeAnswer> time(const TimeRequest& request, double timeoutSeconds);

 private:
  class Process;
  explicit Runner(std::unique_ptr<Process> process);
  std::unique_ptr<Process> process_;
};

/// Keeps a runner running: if one fails, the next request goes to a new one, until two in a row have failed.
class RunnerKeeper {
 public:
  RunnerKeeper(std::vector<std::string> command, double timeoutSeconds)
      : command_(std::move(command)), timeoutSeconds_(timeoutSeconds) {}

  RunnerExpected<RunnerHello> hello();
  /// The time that the request itself may take is added to the limit.
  RunnerExpected<TimeAnswer> time(const TimeRequest& request);
  bool hasGivenUp() const { return failures_ >= 2; }
  /// The last request failed with its runner.
  bool isFailing() const { return failures_ > 0; }
  /// How the last one failed; empty if none has.
  const std::string& lastFailure() const { return lastFailure_; }

 private:
  template <class Ask>
  auto ask(Ask ask) -> decltype(ask(std::declval<Runner&>()));

  std::vector<std::string> command_;
  double timeoutSeconds_;
  std::optional<Runner> runner_;
  std::string lastFailure_;
  int failures_ = 0;
};

}  // namespace pet
