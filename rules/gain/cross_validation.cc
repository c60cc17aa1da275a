// What the predictors are worth: samples, and whole machines, are left out in turn.

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "rules/gain/gain.h"

namespace pet {

std::string CrossValidation::str() const {
  if (samples == 0) return "nothing was timed";
  auto percent = [&](size_t n, size_t of) { return 100.0 * static_cast<double>(n) / static_cast<double>(of); };
  return fmt::format(
      "{} samples left out in turn: {:.0f} % decided right, {} fired at a loss; {:.0f} % predicted, off by a factor of "
      "{:.2f}; chosen / best {:.3f} at {} sites",
      samples, percent(right, samples), lost, percent(predicted, samples), std::exp(logError), chosenOverBest, sites);
}

namespace {

/// Counts decisions, each about a sample that was left out.
class Jury {
 public:
  explicit Jury(double minGain) : least_(std::log(minGain)) {}

  void judge(const Rule& rule, const Bindings& shapes, double logRatio, const Expected<CostEstimate>& guess) {
    const double promised = guess ? std::log(guess->ratio()) : 0;
    const bool fires = guess && promised >= least_ && guess->lower > guess->margin;
    ++result_.samples;
    result_.right += fires == (logRatio >= least_);
    result_.lost += fires && logRatio < 0;
    if (guess) {
      ++result_.predicted;
      result_.logError += std::abs(promised - logRatio);
    }
    Site& site = sites_[{rule.pattern, shapes}];
    site.best = std::max(site.best, logRatio);
    if (fires && promised > site.promised) {
      site.promised = promised;
      site.chosen = logRatio;
    }
  }

  CrossValidation verdict() {
    if (result_.predicted > 0) result_.logError /= static_cast<double>(result_.predicted);
    result_.sites = sites_.size();
    double sum = 0;
    for (const auto& [where, site] : sites_)
      sum += std::exp(site.best - site.chosen);
    if (!sites_.empty()) result_.chosenOverBest = sum / static_cast<double>(sites_.size());
    return result_;
  }

 private:
  struct Site {
    double promised = 0, chosen = 0;  ///< ratios' logarithms; 0: the pattern stays
    double best = 0;
  };
  double least_;
  CrossValidation result_;
  std::map<std::pair<std::string, Bindings>, Site> sites_;
};

}  // namespace

CrossValidation DeviceCosts::crossValidate(const std::vector<const Tuned*>& rules,
                                           double minGain,
                                           const ReportShare& progress) const {
  Jury jury(minGain);
  double done = 0;
  for (const Tuned* tuned : rules) {
    if (progress) progress(done++ / static_cast<double>(rules.size()));
    const Predictor& p = usedOf(*tuned);
    const double margin = &p == &tuned->here ? 1 : marginOf(*patternOf(p).pattern);
    const size_t turns = turnsToLeaveOut(p.samples.size());
    for (size_t turn = 0; turn < turns; ++turn) {
      std::vector<Sample> rest;
      for (size_t i = 0; i < p.samples.size(); ++i) {
        if (i % turns != turn) rest.push_back(p.samples[i]);
      }
      const Predictor others = predictorOf(*p.rule, std::move(rest));
      for (size_t out = turn; out < p.samples.size(); out += turns) {
        auto guess = estimate(others, p.samples[out].shapes);
        if (guess) guess->margin = margin;
        jury.judge(*p.rule, p.samples[out].shapes, p.samples[out].logRatio, guess);
      }
    }
  }
  return jury.verdict();
}

CrossValidation DeviceCosts::crossValidate(const Rule& rule, double minGain) const {
  const Tuned* tuned = find(rule);
  return tuned ? crossValidate(std::vector{tuned}, minGain, nullptr) : CrossValidation{};
}

CrossValidation DeviceCosts::crossValidate(double minGain, const ReportShare& progress) const {
  std::vector<const Tuned*> all;
  for (const auto& [name, tuned] : tuned_)
    all.push_back(&tuned);
  return crossValidate(all, minGain, progress);
}

// --- A whole machine left out ---

std::vector<DeviceCosts::Foreseen> DeviceCosts::withoutMachines(const std::vector<const Tuned*>& rules,
                                                                const ReportShare& progress) const {
  std::vector<Foreseen> result;
  double done = 0;
  for (const Tuned* tuned : rules) {
    if (progress) progress(done++ / static_cast<double>(rules.size()));
    std::map<std::string_view, std::vector<const Sample*>> byOrigin;
    for (const Sample& s : tuned->samples)
      byOrigin[s.origin].push_back(&s);
    for (const auto& [origin, samples] : byOrigin) {
      if (byOrigin.size() == 1) continue;
      const std::string without(origin);
      const Predictor others =
          predictorOf(*tuned->rule, gatheredFor(*tuned, origins_.find(origin)->second.machine, without));
      if (others.samples.size() < kEnough) continue;
      for (const Sample* s : samples) {
        auto timed = timedAt(others, s->shapes);
        result.push_back({tuned, s, timed ? timed : estimate(others, s->shapes)});
      }
    }
  }
  return result;
}

double DeviceCosts::marginOf(const Pattern& pattern) const {
  constexpr size_t kOneIn = 8;
  const double unknown = std::log(1.5);
  auto cost = patterns_.find(pattern.name);
  if (cost == patterns_.end()) return std::exp(unknown);
  std::optional<double>& margin = cost->second.margin;
  if (margin) return *margin;
  std::vector<const Tuned*> rules;
  for (const auto& [name, tuned] : tuned_) {
    if (tuned.rule->pattern == pattern.name) rules.push_back(&tuned);
  }
  std::vector<double> beyond;  // what was promised and did not come
  for (const Foreseen& f : withoutMachines(rules, nullptr)) {
    if (f.guess) beyond.push_back(telling(std::log(f.guess->ratio())) - telling(f.sample->logRatio));
  }
  std::sort(beyond.begin(), beyond.end(), std::greater<>());
  double log = beyond.size() < kOneIn ? std::max(unknown, beyond.empty() ? 0 : beyond.front())
                                      : std::max(0.0, beyond[beyond.size() / kOneIn]);
  // Above 1, so that what other CPUs say is told from what this one does.
  margin = std::exp(std::max(log, 1e-3));
  return *margin;
}

CrossValidation DeviceCosts::crossValidateMachines(double minGain, const ReportShare& progress) const {
  std::vector<const Tuned*> all;
  for (const auto& [name, tuned] : tuned_)
    all.push_back(&tuned);
  Jury jury(minGain);
  for (Foreseen& f : withoutMachines(all, progress)) {
    if (f.guess) f.guess->margin = marginOf(*patterns_.find(f.tuned->rule->pattern)->second.pattern);
    jury.judge(*f.tuned->rule, f.sample->shapes, f.sample->logRatio, f.guess);
  }
  return jury.verdict();
}

}  // namespace pet
