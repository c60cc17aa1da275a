// What the predictors are worth: samples, whole models and whole machines are left out in turn.

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "ir/quantile.h"
#include "rules/gain/gain.h"

namespace pet {

std::string CrossValidation::str() const {
  if (samples == 0) return "nothing was timed";
  auto percent = [](size_t n, size_t of) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(std::max<size_t>(1, of));
  };
  return fmt::format(
      "{} samples left out in turn: {:.0f} % decided right, {} fired at a loss; {:.0f} % predicted, off by a factor of "
      "{:.2f} (predicted / timed {:.2f} - {:.2f}), {:.0f} % of them below the bound; chosen / best {:.3f} at {} sites",
      samples, percent(right, samples), lost, percent(predicted, samples), std::exp(logError), low, high,
      percent(below, predicted), chosenOverBest, sites);
}

namespace {

/// Counts decisions, each about a sample that was left out.
class Jury {
 public:
  explicit Jury(double minGain) : least_(std::log(minGain)) {}

  /// `turn`: in which it was left out; rules compete at a site of the same turn.
  void judge(
      const Rule& rule, const Bindings& shapes, double logRatio, const Expected<CostEstimate>& guess, size_t turn = 0) {
    const double promised = guess ? std::log(guess->ratio()) : 0;
    const bool fires = guess && promised >= least_ && guess->lower > guess->margin;
    ++result_.samples;
    result_.right += fires == (logRatio >= least_);
    result_.lost += fires && logRatio < 0;
    if (guess) {
      errors_.push_back(promised - logRatio);
      result_.logError += std::abs(errors_.back());
      result_.below += std::log(guess->lower / guess->margin) > logRatio;
    }
    Site& site = sites_[{turn, rule.pattern, shapes}];
    site.best = std::max(site.best, logRatio);
    if (fires && promised > site.promised) {
      site.promised = promised;
      site.chosen = logRatio;
    }
  }

  CrossValidation verdict() {
    result_.predicted = errors_.size();
    if (!errors_.empty()) {
      result_.logError /= static_cast<double>(errors_.size());
      result_.low = std::exp(quantile(errors_, 0.1));
      result_.middle = std::exp(quantile(errors_, 0.5));
      result_.high = std::exp(quantile(errors_, 0.9));
    }
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
  std::vector<double> errors_;  ///< of predictions, logarithms
  std::map<std::tuple<size_t, std::string, Bindings>, Site> sites_;
};

}  // namespace

std::vector<DeviceCosts::Foreseen> DeviceCosts::without(const Tuned& tuned,
                                                        const std::function<bool(size_t sample)>& isOut) const {
  const Predictor& p = usedOf(tuned);
  std::vector<Sample> rest;
  for (size_t i = 0; i < p.samples.size(); ++i) {
    if (!isOut(i)) rest.push_back(p.samples[i]);
  }
  std::vector<Foreseen> result;
  if (rest.size() == p.samples.size()) return result;
  const Predictor others = predictorOf(*p.rule, std::move(rest));
  for (size_t i = 0; i < p.samples.size(); ++i) {
    if (!isOut(i)) continue;
    result.push_back({&tuned, &p.samples[i], estimate(others, p.samples[i].shapes)});
    if (auto& guess = result.back().guess; guess && &p != &tuned.here) guess->margin = marginOf(*patternOf(p).pattern);
  }
  return result;
}

CrossValidation DeviceCosts::crossValidate(const std::vector<const Tuned*>& rules,
                                           double minGain,
                                           const ReportShare& progress) const {
  Jury jury(minGain);
  double done = 0;
  for (const Tuned* tuned : rules) {
    if (progress) progress(done++ / static_cast<double>(rules.size()));
    const size_t turns = turnsToLeaveOut(usedOf(*tuned).samples.size());
    for (size_t turn = 0; turn < turns; ++turn) {
      for (const Foreseen& f : without(*tuned, [&](size_t sample) { return sample % turns == turn; }))
        jury.judge(*tuned->rule, f.sample->shapes, f.sample->logRatio, f.guess);
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

// --- A whole model left out ---

CrossValidation DeviceCosts::crossValidateModels(const std::vector<ShapesOfModel>& models,
                                                 double minGain,
                                                 const ReportShare& progress) const {
  Jury jury(minGain);
  double done = 0;
  for (const auto& [name, tuned] : tuned_) {
    if (progress) progress(done++ / static_cast<double>(tuned_.size()));
    const std::vector<Sample>& samples = usedOf(tuned).samples;
    for (size_t model = 0; model < models.size(); ++model) {
      auto shapes = models[model].find(tuned.rule->pattern);
      if (shapes == models[model].end()) continue;
      auto isOut = [&](size_t sample) { return shapes->second.contains(samples[sample].shapes); };
      for (const Foreseen& f : without(tuned, isOut))
        jury.judge(*tuned.rule, f.sample->shapes, f.sample->logRatio, f.guess, model);
    }
  }
  return jury.verdict();
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
      for (const Sample* s : samples)
        result.push_back({tuned, s, ofOtherCpus(others, s->shapes, true)});
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
