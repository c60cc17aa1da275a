#include "tools/tune/cliffs/survey.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tools/common/status_line.h"
#include "tools/tune/cliffs/in_place.h"

namespace pet::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastSeconds = 1e-8;  ///< of what takes no longer than a call
constexpr double kLeastShare = 1e-3;    ///< of a model's time that a group has to lose to be timed
constexpr size_t kMostGroups = 200;     ///< that are timed
constexpr double kWholeSeconds = 3;     ///< for the runs of a whole model

/// Times models that were cut out, one after the other.
class Stopwatch {
 public:
  Stopwatch(const Options& o, RunnerKeeper& runner) : o_(o), runner_(runner), folder_("pet-tune", o.keep) {}

  const std::filesystem::path& folder() const { return folder_.path(); }
  void calibrate(double callSeconds) { callSeconds_ = callSeconds; }

  /// Errors would befall every model.
  Expected<Timing> time(const Expected<Model>& model, double seconds) {
    if (!model) return Timing{std::nullopt, model.error().message()};
    auto bytes = serialize(*model);
    if (!bytes) return Timing{std::nullopt, bytes.error().message()};
    const std::string path = (folder_.path() / std::to_string(++count_)).string() + ".onnx";
    PET_TRY(writeModel(*bytes, path));
    auto answer = ask(path, seconds);
    std::error_code ignored;
    if (o_.keep.empty()) std::filesystem::remove(path, ignored);
    if (!answer) return Timing{std::nullopt, answer.error().message};
    return Timing{std::max(undisturbed(*answer) - callSeconds_, kLeastSeconds), ""};
  }

 private:
  /// With inputs of both signs, and if that is refused (the results may not be finite), with positive ones.
  RunnerExpected<TimeAnswer> ask(const std::string& path, double seconds) {
    TimeRequest request{.models = {path},
                        .runs = o_.runs,
                        .threads = o_.threads,
                        .budgetSeconds = seconds,
                        .processorTime = o_.processorTime};
    auto answer = runner_.time(request);
    if (answer || answer.error().fatal()) return answer;
    request.positive = true;
    auto second = runner_.time(request);
    return second || second.error().fatal() ? second : answer;
  }

  const Options& o_;
  RunnerKeeper& runner_;
  tool::Scratch folder_;
  double callSeconds_ = 0;
  int count_ = 0;
};

class Surveyor {
 public:
  Surveyor(const std::vector<Subject>& models,
           const Candidates& candidates,
           const Options& o,
           RunnerKeeper& runner,
           Survey survey)
      : models_(models),
        candidates_(candidates),
        o_(o),
        runner_(runner),
        watch_(o, runner),
        found_(std::move(survey)) {}

  Expected<Survey> run() {
    auto peaks = calibrated();
    if (!peaks) return tl::unexpected(peaks.error());
    found_.peaks = std::move(*peaks);
    watch_.calibrate(found_.peaks.callSeconds);
    PET_TRY(timeModels());
    found_.candidates.resize(candidates_.all.size());
    std::vector<size_t> operators(candidates_.operators);
    std::iota(operators.begin(), operators.end(), size_t{0});
    PET_TRY(timeAll(operators, "timing operators"));
    for (size_t m = 0; m < models_.size(); ++m)
      whole_.push_back(found_.modelSeconds(candidates_, m));
    std::vector<size_t> groups = promising();
    const size_t count = std::min(groups.size(), kMostGroups);
    PET_TRY(
        timeAll({groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(count)}, "timing groups of operators"));
    PET_TRY(timeInPlace());
    found_.groupsLeft = static_cast<size_t>(
        std::count_if(groups.begin(), groups.end(), [&](size_t g) { return !isAsked(found_.candidates[g]); }));
    if (runner_.hasGivenUp()) found_.runnerFailure = runner_.lastFailure();
    return std::move(found_);
  }

 private:
  Expected<Peaks> calibrated() {
    tool::StatusLine status(o_.quiet);
    return measurePeaks(runner_, o_, watch_.folder(),
                        [&](double share) { status.show("calibrating the engine", share); });
  }

  static bool isAsked(const Timing& t) { return t.seconds || !t.refusal.empty(); }
  bool isOver() const { return Clock::now() >= end_ || runner_.hasGivenUp(); }

  Expected<void> timeModels() {
    tool::Progress progress("timing models", models_.size(), o_.quiet);
    for (const Subject& model : models_) {
      progress.step(model.name());
      auto timing = isOver() ? Expected<Timing>() : watch_.time(model.whole(), kWholeSeconds);
      if (!timing) return tl::unexpected(timing.error());
      found_.models.push_back(std::move(*timing));
    }
    return {};
  }

  Expected<void> timeAll(const std::vector<size_t>& which, const std::string& task) {
    tool::Progress progress(task, which.size(), o_.quiet);
    for (size_t c : which) {
      if (isOver()) break;
      const Occurrence& first = candidates_.all[c].occurrences[0];
      progress.step(candidates_.all[c].operators[0]);
      auto timing = watch_.time(models_[first.model].cut(first.nodes), o_.secondsPerPoint);
      if (!timing) return tl::unexpected(timing.error());
      found_.candidates[c] = std::move(*timing);
    }
    return {};
  }

  /// Operators that seem slow, behind what they read; that they take no longer there is entered.
  Expected<void> timeInPlace() {
    std::vector<std::pair<double, size_t>> slow;
    for (size_t op = 0; op < candidates_.operators; ++op) {
      const Candidate& c = candidates_.all[op];
      const double seconds = found_.candidates[op].seconds.value_or(0);
      if (seconds < o_.minTimes * found_.peaks.seconds(c.flops, c.bytes)) continue;
      const double share = lostShare(c, found_.lost(candidates_, op));
      if (share >= kLeastShare) slow.emplace_back(-share, op);
    }
    std::sort(slow.begin(), slow.end());
    std::vector<size_t> groups;
    for (const auto& [minus, op] : slow) {
      for (size_t g : behindOthers(candidates_, op)) {
        if (!isAsked(found_.candidates[g]) && groups.size() < kMostGroups) groups.push_back(g);
      }
    }
    PET_TRY(timeAll(groups, "timing operators in place"));
    std::vector<std::optional<double>> inPlace;  // all of them before one is entered
    for (const auto& [minus, op] : slow)
      inPlace.push_back(secondsInPlace(candidates_, found_.candidates, op));
    for (size_t i = 0; i < slow.size(); ++i)
      found_.candidates[slow[i].second].seconds = inPlace[i];
    return {};
  }

  /// Of the models' times, where each occurrence loses so many seconds.
  double lostShare(const Candidate& c, double lost) const {
    double share = 0;
    for (const Occurrence& o : c.occurrences)
      share += lost / whole_[o.model];
    return share;
  }

  /// The groups whose operators, one by one, take far longer than the roofline of the group; the largest loss first.
  std::vector<size_t> promising() const {
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t g = candidates_.operators; g < candidates_.all.size(); ++g) {
      const Candidate& group = candidates_.all[g];
      double seconds = 0, lostInParts = 0;
      for (size_t part : group.parts) {
        seconds += found_.candidates[part].seconds.value_or(0);
        lostInParts += found_.lost(candidates_, part);
      }
      const double roofline = found_.peaks.seconds(group.flops, group.bytes), lost = seconds - roofline;
      if (lost < kSaysMore * lostInParts || seconds < o_.minTimes * roofline) continue;
      const double share = lostShare(group, lost);
      if (share >= kLeastShare) ranked.emplace_back(-share, g);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<size_t> groups;
    for (const auto& [minus, g] : ranked)
      groups.push_back(g);
    return groups;
  }

  const std::vector<Subject>& models_;
  const Candidates& candidates_;
  const Options& o_;
  RunnerKeeper& runner_;
  Stopwatch watch_;
  Survey found_;
  std::vector<double> whole_;  ///< seconds by model
  Clock::time_point end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(o_.budget > 0 ? o_.budget : 1e9));
};

}  // namespace

double Survey::modelSeconds(const Candidates& of, size_t model) const {
  if (models[model].seconds) return *models[model].seconds;
  double seconds = kLeastSeconds;
  for (size_t c = 0; c < of.operators; ++c) {
    const auto& where = of.all[c].occurrences;
    const auto count = std::count_if(where.begin(), where.end(), [&](const Occurrence& o) { return o.model == model; });
    seconds += static_cast<double>(count) * candidates[c].seconds.value_or(0);
  }
  return seconds;
}

double Survey::lost(const Candidates& of, size_t candidate) const {
  const Candidate& c = of.all[candidate];
  const auto& seconds = candidates[candidate].seconds;
  return seconds ? std::max(0.0, *seconds - peaks.seconds(c.flops, c.bytes)) : 0;
}

Expected<Survey> survey(const std::vector<Subject>& models,
                        const Candidates& candidates,
                        std::vector<std::string> command,
                        const Options& o) {
  RunnerKeeper runner(std::move(command), o.timeout);
  auto engine = runner.hello();
  if (!engine) return fail(ErrorKind::kRunner, engine.error().message, "", "check --python and --runner");
  Survey found;
  found.engine = std::move(*engine);
  return Surveyor(models, candidates, o, runner, std::move(found)).run();
}

}  // namespace pet::tune
