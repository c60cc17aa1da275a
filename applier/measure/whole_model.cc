#include "applier/measure/whole_model.h"

namespace pet {
namespace {

constexpr size_t kMostVariants = 8;
constexpr double kModelSeconds = 20;
constexpr double kClearly = 1.01;  ///< faster than another variant

/// What is timed in turns: the original, the model with all rules, and without each of them.
struct Contest {
  std::vector<std::string> models;
  std::vector<std::string> without{""};  ///< the rule that models[i + 1] does without
};

/// Only the original where nothing fires.
Expected<Contest> contestOf(const std::string& original,
                            const MakeVariant& make,
                            const std::vector<std::string>& leftOut) {
  Contest contest{{original}};
  for (size_t i = 0; i < contest.without.size() && i < kMostVariants; ++i) {
    std::vector<std::string> skipped = leftOut;
    if (i > 0) skipped.push_back(contest.without[i]);
    auto variant = make(skipped);
    if (!variant) return tl::unexpected(variant.error());
    if (i == 0 && variant->rules.empty()) return contest;
    contest.models.push_back(std::move(variant->bytes));
    if (i == 0 && variant->rules.size() > 1)
      contest.without.insert(contest.without.end(), variant->rules.begin(), variant->rules.end());
  }
  return contest;
}

}  // namespace

Expected<std::vector<std::string>> rulesThatLose(const std::string& original,
                                                 const MakeVariant& make,
                                                 const TimeModels& time,
                                                 const ReportProgress& progress,
                                                 std::vector<Measured>& lines) {
  std::vector<std::string> leftOut;
  while (true) {
    auto contest = contestOf(original, make, leftOut);
    if (!contest) return tl::unexpected(contest.error());
    const auto& [models, without] = *contest;
    if (models.size() == 1) return leftOut;
    if (progress) progress(kTimingWhole, 0);
    auto samples = time({models, kModelSeconds, false});
    if (!samples) return tl::unexpected(samples.error());
    bool pays = false;
    std::string better;  // left out, the most is gained
    double most = 0;
    for (size_t i = 1; i < models.size(); ++i) {
      std::string what = i == 1 ? "the model" : "the model without " + without[i - 1];
      lines.push_back(compareTurns(what, (*samples)[0], (*samples)[i], 1));
      if (i == 1) pays = lines.back().pays;
      Measured gain = compareTurns(what, (*samples)[1], (*samples)[i], kClearly);
      if (!gain.pays || gain.ratio <= most) continue;
      better = without[i - 1];
      most = gain.ratio;
    }
    if (better.empty()) return pays ? leftOut : std::vector<std::string>{"*"};
    leftOut.push_back(better);
  }
}

}  // namespace pet
