#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rules/pack/timings.h"
#include "runtime/ort/client.h"
#include "tools/common/scratch.h"
#include "tools/tune/jobs.h"

namespace pet::tune {

/// What came of a job.
struct Row {
  enum class Kind { kTimed, kKnown, kFailed, kHopeless, kNotTimed };
  Kind kind = Kind::kFailed;
  std::optional<TimingSample> sample = std::nullopt;
  std::optional<double> bare = std::nullopt;  ///< the ratio without neighbours
  size_t runs = 0, outliers = 0;              ///< timed, and of these far from the others: reported, not dropped
  std::string note = "";                      ///< why it failed
};

/// Times jobs on an engine, one at a time.
class Tuner {
 public:
  Tuner(const Options& o, const RunnerHello& engine, RunnerKeeper& runner, std::string date)
      : o_(o), engine_(engine), runner_(runner), date_(std::move(date)), folder_("pet-tune", o.keep) {}

  /// What a sample of this job says besides its times.
  TimingSample blank(const Job& job) const;
  /// A job that cannot be timed is a row that says why; an error is one that would befall every job.
  Expected<Row> measure(const Job& job);
  /// The pattern against itself: what a ratio is worth here.
  Expected<std::string> control(const Job& job);
  const Machine& machine() const { return engine_.machine; }
  bool foundDifference() const { return differs_; }

 private:
  bool comesFromMemory(const Job& job) const;
  std::filesystem::path nextStem() { return folder_.path() / std::to_string(++count_); }
  /// Two models in turns, once more and longer where it is unsure whether the second one gains.
  RunnerExpected<TimeAnswer> time(const std::vector<std::string>& models, bool cold);
  /// In `times` as many runs, and seconds, as usual.
  RunnerExpected<TimeAnswer> ask(const std::vector<std::string>& models, bool cold, int times);
  /// Seconds of the chains, one after the other, with caches as they are; 0 where there are none, or they cannot be
  /// timed.
  double layouts(const std::vector<std::string>& chains);
  void discard(const std::vector<std::string>& models) const;

  const Options& o_;
  const RunnerHello& engine_;
  RunnerKeeper& runner_;
  std::string date_;
  tool::Scratch folder_;
  int count_ = 0;
  bool differs_ = false;
};

}  // namespace pet::tune
