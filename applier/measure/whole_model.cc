#include "applier/measure/whole_model.h"

namespace pet {
namespace {

constexpr size_t kMostVariants = 8;
constexpr double kModelSeconds = 20;
constexpr double kClearly = 1.01;  ///< faster than another variant

/// What is timed in turns: the original, the model with all rules, and without each of them.
struct Contest {
  std::vector<Model> models;
  std::vector<std::string> without{""};  ///< the rule that models[i + 1] does without
};

/// Only the original where nothing fires.
Expected<Contest> contestOf(const Model& original, const MakeVariant& make, const std::vector<std::string>& leftOut) {
  Contest contest{{original}};
  for (size_t i = 0; i < contest.without.size() && i < kMostVariants; ++i) {
    std::vector<std::string> skipped = leftOut;
    if (i > 0) skipped.push_back(contest.without[i]);
    auto variant = make(skipped);
    if (!variant) return tl::unexpected(variant.error());
    if (i == 0 && variant->rules.empty()) return contest;
    contest.models.push_back(std::move(variant->model));
    if (i == 0 && variant->rules.size() > 1)
      contest.without.insert(contest.without.end(), variant->rules.begin(), variant->rules.end());
  }
  return contest;
}

/// The seconds of a contest's models at some sizes.
Expected<std::vector<std::vector<double>>> timedAt(const Contest& contest,
                                                   const TimedSizes& sizes,
                                                   const TimeModels& time) {
  Turns turns{{}, kModelSeconds, false};
  for (const Model& model : contest.models) {
    auto bytes = serialize(model, sizes.extents);
    if (!bytes) return tl::unexpected(bytes.error());
    turns.models.push_back(std::move(*bytes));
  }
  return time(turns);
}

/// Of a contest, so far.
struct Outcome {
  bool pays = true;    ///< the model with all rules is faster than the original, at all sizes
  std::string better;  ///< the rule without which the most is gained, at any size
  double most = 0;     ///< that gain
};

void enter(const Contest& contest,
           const std::vector<std::vector<double>>& samples,
           const TimedSizes& sizes,
           Outcome& outcome,
           std::vector<Measured>& lines) {
  for (size_t i = 1; i < contest.models.size(); ++i) {
    const std::string what = (i == 1 ? "the model" : "the model without " + contest.without[i - 1]) + sizes.text;
    lines.push_back(compareTurns(what, samples[0], samples[i], 1));
    if (i == 1) outcome.pays = outcome.pays && lines.back().pays;
    Measured gain = compareTurns(what, samples[1], samples[i], kClearly);
    if (!gain.pays || gain.ratio <= outcome.most) continue;
    outcome.better = contest.without[i - 1];
    outcome.most = gain.ratio;
  }
}

}  // namespace

Expected<std::vector<std::string>> rulesThatLose(const Model& original,
                                                 const MakeVariant& make,
                                                 const std::vector<TimedSizes>& sizes,
                                                 const TimeModels& time,
                                                 const ReportProgress& progress,
                                                 std::vector<Measured>& lines) {
  std::vector<std::string> leftOut;
  while (true) {
    auto contest = contestOf(original, make, leftOut);
    if (!contest) return tl::unexpected(contest.error());
    if (contest->models.size() == 1) return leftOut;
    Outcome outcome;
    for (const TimedSizes& each : sizes) {
      if (progress) progress(kTimingWhole, 0);
      auto samples = timedAt(*contest, each, time);
      if (!samples) return tl::unexpected(samples.error());
      enter(*contest, *samples, each, outcome, lines);
    }
    if (outcome.better.empty()) return outcome.pays ? leftOut : std::vector<std::string>{"*"};
    leftOut.push_back(outcome.better);
  }
}

}  // namespace pet
