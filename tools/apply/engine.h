#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "applier/measure/turns.h"
#include "rules/pack/cache.h"
#include "runtime/ort/client.h"

namespace pet::tool {

/// An engine that apply() can ask to time models. What it timed once it remembers, in a cache that outlives it.
class Engine {
 public:
  struct Options {
    std::vector<std::string> command;  ///< starts the runner
    std::string cache;                 ///< a file; empty: measured.db in cacheFolder()
    std::string advice;                ///< for errors of the runner: what else to do
    int threads = 1;
    bool inProcessorTime = false;  ///< of the one thread: what other processes take does not count
    double timeout = 120;          ///< seconds for an answer, besides what the runs take
  };
  /// Errors: a cache that cannot be used, a runner that cannot be started.
  static Expected<Engine> start(Options options);

  Expected<std::vector<std::vector<double>>> time(const Turns& turns);
  const RunnerHello& hello() const { return hello_; }

 private:
  Engine(Options options, Cache cache, RunnerHello hello, RunnerKeeper runner)
      : options_(std::move(options)), cache_(std::move(cache)), hello_(std::move(hello)), runner_(std::move(runner)) {}
  std::string keyOf(const Turns& turns) const;

  Options options_;
  Cache cache_;
  RunnerHello hello_;
  RunnerKeeper runner_;
};

}  // namespace pet::tool
