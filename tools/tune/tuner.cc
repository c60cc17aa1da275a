#include "tools/tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "ir/work.h"
#include "rules/gain/figures.h"
#include "tools/common/cuda_device.h"
#include "tools/tune/subgraph.h"

namespace pet::tune {
namespace {

constexpr int kLayoutRuns = 7;        ///< timed runs of a chain of layouts, in
constexpr double kLayoutShare = 0.2;  ///< so much of a point's seconds
constexpr double kFewConstants = 16;  ///< as many times the constants are less than a program takes and gives: few
constexpr double kFarOut = 3;         ///< an outlier is so many spreads from the median

Expected<Row> unbuilt(const Error& error) {
  if (error.kind != ErrorKind::kUnsupported) return tl::unexpected(error);
  return Row{.note = error.message()};
}

/// The first digits of a measurement: its noise is a hundredth at best, and files of timings are shorter.
double rounded(double value, int digits) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double unit = std::pow(10.0, digits - 1 - std::floor(std::log10(value)));
  return std::round(value * unit) / unit;
}

double secondsToKeep(double seconds) {
  return rounded(seconds, 4);
}

/// Of the median of the rounds' ratios an interval at 95 %, whatever their distribution is: between two of these ratios
/// that as many of them are beyond as a sign test admits. All of them where there are too few. Its width, over the
/// median.
double spread(const TimeAnswer& a) {
  constexpr double kSigmas = 1.96;  // of a normal distribution, which the binomial one is nearly
  const size_t rounds = std::min(a.samples[0].size(), a.samples[1].size());  // a runner may have stopped within one
  std::vector<double> ratios;
  for (size_t round = 0; round < rounds; ++round)
    ratios.push_back(a.samples[0][round] / a.samples[1][round]);
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  const auto beyond = static_cast<size_t>(std::max(1.0, std::floor(count / 2 - kSigmas * std::sqrt(count) / 2)));
  return (ratios[ratios.size() - beyond] - ratios[beyond - 1]) / ratios[ratios.size() / 2];
}

/// Runs that are further from their median than kFarOut times the distance of the 10th and the 90th percentile.
size_t outliersOf(const TimeAnswer& a) {
  size_t count = 0;
  for (size_t i = 0; i < a.samples.size(); ++i) {
    count += static_cast<size_t>(std::count_if(a.samples[i].begin(), a.samples[i].end(), [&](double seconds) {
      return std::abs(seconds - a.median[i]) > kFarOut * (a.p90[i] - a.p10[i]);
    }));
  }
  return count;
}

size_t runsOf(const TimeAnswer& a) {
  size_t count = 0;
  for (const auto& each : a.samples)
    count += each.size();
  return count;
}

/// Constants, as the applier folds them, are more than a kFewConstants-th of what a program takes and gives.
bool readsMany(const Program& program, const Bindings& symbols) {
  const std::vector<bool> constant = constantNodes(program);
  std::set<Value> read;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    if (!constant[i]) read.insert(program.nodes()[i].operands.begin(), program.nodes()[i].operands.end());
  }
  double constants = 0;
  for (Value v : read) {
    if (constant[static_cast<size_t>(v.node)]) constants += elementsOf(program.shape(v), symbols).value_or(0);
  }
  const auto figures = figuresOf(program, symbols);
  return constants > 0 && (!figures || constants * kFewConstants > figures->input + figures->output);
}

/// What the layouts at the ends of the replacement move that took any time.
int64_t movedBytes(const Job& job, const TimingSample& sample) {
  constexpr double kElementBytes = 4;
  auto figures = figuresOf(job.pattern->program, job.shapes);
  if (!figures) return 0;
  const double elements = (sample.opening > 0 ? figures->input : 0) + (sample.closing > 0 ? figures->output : 0);
  return static_cast<int64_t>(kElementBytes * elements);
}

}  // namespace

TimingSample Tuner::blank(const Job& job) const {
  return {.rule = job.hash,
          .name = job.rule->name,
          .device = o_.device,
          .shapes = job.shapes,
          .engine = engine_.engine,
          .version = engine_.version,
          .isa = engine_.machine.isa,
          .machine = engine_.machine.name(),
          .threads = o_.threads,
          .date = date_,
          .weights = weightsAre(o_),
          .place = std::string(job.beside.place()),
          .opset = job.opset};
}

/// Weights come from memory, activations from the operator in front. Overwriting the caches takes both from them: only
/// where one of the programs reads many constants, else they are left as they are.
bool Tuner::comesFromMemory(const Job& job) const {
  return !o_.warm && (readsMany(job.pattern->program, job.shapes) || readsMany(job.rule->replacement, job.symbols));
}

Expected<Row> Tuner::measure(const Job& job) {
  auto models = modelsOf(job, true, nextStem());
  if (!models) return unbuilt(models.error());
  auto answer = time({models->pattern, models->replacement}, comesFromMemory(job));
  if (!answer || answer->maxAbsDiff[1] > tool::largestRounding(o_.device) * answer->maxAbs) {
    discard(models->openings);
    discard(models->closings);
    if (!answer) return Row{.note = answer.error().message};
    differs_ = true;
    return Row{.note = fmt::format("outputs differ by {:.2g} of {:.2g}", answer->maxAbsDiff[1], answer->maxAbs)};
  }
  TimingSample sample = blank(job);
  sample.pattern = secondsToKeep(answer->median[0]);
  sample.replacement = secondsToKeep(answer->median[1]);
  sample.spread = rounded(spread(*answer), 2);
  sample.opening = secondsToKeep(layouts(models->openings));
  sample.closing = secondsToKeep(layouts(models->closings));
  sample.moved = movedBytes(job, sample);
  Row row{.kind = Row::Kind::kTimed, .sample = sample, .runs = runsOf(*answer), .outliers = outliersOf(*answer)};
  if (o_.noBare) return row;
  auto alone = modelsOf(job, false, nextStem());
  if (!alone) return unbuilt(alone.error());
  discard(alone->openings);
  discard(alone->closings);
  if (auto bare = time({alone->pattern, alone->replacement}, false)) row.bare = bare->median[0] / bare->median[1];
  return row;
}

Expected<std::string> Tuner::control(const Job& job) {
  auto models = modelsOf(job, true, nextStem());
  if (!models) return unbuilt(models.error()).map([](const Row& row) { return row.note; });
  discard(models->openings);
  discard(models->closings);
  discard({models->replacement});
  auto answer = time({models->pattern, models->pattern}, comesFromMemory(job));
  if (!answer) return answer.error().message;
  return fmt::format("{:.3f} (spread {:.2f})", answer->median[0] / answer->median[1], spread(*answer));
}

double Tuner::layouts(const std::vector<std::string>& chains) {
  double seconds = 0;
  for (const std::string& chain : chains) {
    auto answer = runner_.time({.models = {chain},
                                .runs = std::min(kLayoutRuns, o_.runs),
                                .threads = o_.threads,
                                .budgetSeconds = kLayoutShare * o_.secondsPerPoint,
                                .processorTime = o_.processorTime});
    if (answer) seconds += answer->median[0];
  }
  discard(chains);
  return seconds;
}

RunnerExpected<TimeAnswer> Tuner::ask(const std::vector<std::string>& models, bool cold, int times) {
  return runner_.time({.models = models,
                       .runs = times * o_.runs,
                       .threads = o_.threads,
                       .budgetSeconds = times * o_.secondsPerPoint,
                       .cold = cold,
                       .processorTime = o_.processorTime});
}

RunnerExpected<TimeAnswer> Tuner::time(const std::vector<std::string>& models, bool cold) {
  constexpr int kMore = 4;
  auto answer = ask(models, cold, 1);
  const auto isUnsure = [&] {
    TimingSample sample;
    sample.pattern = answer->median[0];
    sample.replacement = answer->median[1];
    sample.spread = spread(*answer);
    return sample.isUnsure(o_.minGain);
  };
  if (answer && isUnsure()) {
    if (auto longer = ask(models, cold, kMore)) answer = std::move(longer);
  }
  discard(models);
  return answer;
}

void Tuner::discard(const std::vector<std::string>& models) const {
  std::error_code ignored;
  for (const std::string& path : models) {
    if (o_.keep.empty()) std::filesystem::remove(path, ignored);
  }
}

}  // namespace pet::tune
