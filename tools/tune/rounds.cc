#include "tools/tune/rounds.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/common/status_line.h"
#include "tools/common/tool.h"
#include "tools/tune/schedule.h"

namespace pet::tune {
namespace {

using Clock = std::chrono::steady_clock;

/// The sample that an earlier run left for the same setting, place and shapes.
std::optional<TimingSample> earlier(const Timings& timings, const TimingSample& wanted) {
  for (const TimingSample& s : timings.samples(wanted.rule, wanted.device)) {
    const bool isThere = s.place == wanted.place && s.opset == wanted.opset && s.shapes == wanted.shapes;
    if (isThere && s.isOfSameSetting(wanted)) return s;
  }
  return std::nullopt;
}

bool isHopeless(const Timings& timings, const TimingSample& wanted) {
  auto known = timings.samples(wanted.rule, wanted.device);
  std::erase_if(known, [&](const TimingSample& s) {
    return !s.isOfSameSetting(wanted) || s.place != wanted.place || s.opset != wanted.opset;
  });
  return std::any_of(std::begin(kHopeless), std::end(kHopeless), [&](const Hopeless& h) {
    return known.size() >= static_cast<size_t>(h.points) &&
           std::all_of(known.begin(), known.end(), [&](const TimingSample& s) { return s.ratio() < h.ratio; });
  });
}

/// Times jobs in rounds; after each, what was learnt decides which are next.
class Rounds {
 public:
  Rounds(const RuleSet& rules,
         const std::vector<Job>& jobs,
         Tuner& tuner,
         const RunnerKeeper& runner,
         Timings& timings,
         const Options& o)
      : rules_(rules), jobs_(jobs), tuner_(tuner), runner_(runner), timings_(timings), o_(o), rows_(jobs.size()) {}

  Expected<std::vector<Row>> run(const Timings& elsewhere) {
    auto done = timeOpen(elsewhere);
    if (isUnstored_) PET_TRY(store());
    if (!done) return tl::unexpected(done.error());
    return std::move(rows_);
  }

 private:
  Expected<void> timeOpen(const Timings& elsewhere) {
    Timings all = elsewhere;
    all.merge(timings_);
    const std::vector<double> promised = promisedSeconds(rules_, jobs_, all, tuner_.machine(), o_);
    std::vector<size_t> open;
    for (size_t job = 0; job < jobs_.size(); ++job) {
      if (auto known = earlier(timings_, tuner_.blank(jobs_[job])); known && !o_.retake) {
        settle(job, {.kind = Row::Kind::kKnown, .sample = known});
      } else {
        open.push_back(job);
      }
    }
    while (!open.empty()) {
      std::vector<size_t> now = nextJobs(rules_, jobs_, open, promised, timings_, tuner_.machine(), o_);
      for (size_t job : now) {
        auto row = rowOf(jobs_[job]);
        if (!row) return tl::unexpected(row.error());
        settle(job, std::move(*row));
      }
      std::sort(now.begin(), now.end());
      std::erase_if(open, [&](size_t job) { return std::binary_search(now.begin(), now.end(), job); });
      settleHopeless(open);
    }
    return {};
  }

  void settle(size_t job, Row row) {
    ++settled_;
    rows_[job] = std::move(row);
  }

  /// Of the points, or of the budget, where that ends sooner.
  double share() const {
    const double points = static_cast<double>(settled_) / static_cast<double>(jobs_.size());
    if (o_.budget <= 0) return points;
    return std::max(points, 1 - std::chrono::duration<double>(end_ - Clock::now()).count() / o_.budget);
  }

  void say(const Job& job) {
    status_.show("timing", share(), fmt::format("{} of {} points, {}", settled_, jobs_.size(), job.rule->name));
  }

  bool isOver() const { return Clock::now() >= end_ || runner_.hasGivenUp(); }

  /// What is not going to be timed leaves the open ones.
  void settleHopeless(std::vector<size_t>& open) {
    std::map<std::string_view, bool> hopeless;  // by rule's hash
    std::erase_if(open, [&](size_t job) {
      auto [it, added] = hopeless.emplace(jobs_[job].hash, false);
      if (added) it->second = !o_.exhaustive && isHopeless(timings_, tuner_.blank(jobs_[job]));
      if (!it->second && !isOver()) return false;
      settle(job, {.kind = it->second ? Row::Kind::kHopeless : Row::Kind::kNotTimed});
      return true;
    });
  }

  Expected<Row> rowOf(const Job& job) {
    if (!o_.exhaustive && isHopeless(timings_, tuner_.blank(job))) return Row{.kind = Row::Kind::kHopeless};
    if (isOver()) return Row{.kind = Row::Kind::kNotTimed};
    if (deadly_.contains({job.pattern, job.shapes})) return Row{.note = "the runner failed at this pattern before"};
    say(job);
    if (!std::exchange(controlled_, true)) {
      auto control = tuner_.control(job);
      if (!control) return tl::unexpected(control.error());
      status_.clear();
      if (!o_.quiet) PET_TRY(tool::print("A/A control: " + *control + "\n"));
    }
    auto row = tuner_.measure(job);
    if (runner_.isFailing()) deadly_.emplace(job.pattern, job.shapes);
    if (!row || !row->sample) return row;
    timings_.add(*row->sample);
    isUnstored_ = true;
    if (Clock::now() >= nextStore_) PET_TRY(store());
    return row;
  }

  /// The file is written whole: not so often that it would take more than a small part of the time.
  Expected<void> store() {
    constexpr int kTimes = 20;
    const Clock::time_point begin = Clock::now();
    PET_TRY(writeTimings(timings_, o_.output));
    const Clock::time_point end = Clock::now();
    nextStore_ = end + kTimes * (end - begin);
    isUnstored_ = false;
    return {};
  }

  const RuleSet& rules_;
  const std::vector<Job>& jobs_;
  Tuner& tuner_;
  const RunnerKeeper& runner_;
  Timings& timings_;
  const Options& o_;
  std::vector<Row> rows_;
  tool::StatusLine status_{o_.quiet};
  size_t settled_ = 0;
  /// What the runner did not survive: other rules of the same pattern would end the run.
  std::set<std::pair<const Pattern*, Bindings>> deadly_;
  Clock::time_point end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(o_.budget > 0 ? o_.budget : 1e9));
  Clock::time_point nextStore_ = Clock::time_point::min();
  bool isUnstored_ = false;  ///< some of the timings
  bool controlled_ = false;
};

}  // namespace

Expected<std::vector<Row>> timeAll(const RuleSet& rules,
                                   const std::vector<Job>& jobs,
                                   Tuner& tuner,
                                   const RunnerKeeper& runner,
                                   Timings& timings,
                                   const Timings& known,
                                   const Options& o) {
  return Rounds(rules, jobs, tuner, runner, timings, o).run(known);
}

}  // namespace pet::tune
