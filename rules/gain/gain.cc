#include "rules/gain/gain.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ir/quantile.h"
#include "rules/pack/pack.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

constexpr double kBytes = 4;       ///< of an element
constexpr double kNearSymbol = 2;  ///< a symbol may lie so many times outside of what was timed,
constexpr double kNearWork = 4;    ///< the work so many times

/// As featuresOf() and valuesOf() have them, behind the symbols.
constexpr std::array kFigures{"work", "input", "weights", "output", "output / input", "new work / work"};

std::vector<Feature> featuresOf(const std::vector<std::string>& symbols) {
  std::vector<Feature> features;
  for (const std::string& s : symbols)
    features.push_back({s, true});
  for (const char* f : kFigures)
    features.push_back({f, false});
  return features;
}

/// One value for each feature; nothing where a symbol is unbound.
std::vector<double> valuesOf(const std::vector<std::string>& symbols,
                             const Bindings& shapes,
                             const Figures& f,
                             double workRatio) {
  std::vector<double> values;
  for (const std::string& s : symbols) {
    auto it = shapes.find(s);
    if (it == shapes.end()) return {};
    values.push_back(static_cast<double>(it->second));
  }
  for (double figure : {f.work, f.input, f.weights, f.output, f.output / std::max(1.0, f.input), workRatio})
    values.push_back(figure);
  return values;
}

/// How much more or less a rule computes than its pattern: what is padded, corrected, left out. 1 where it does not
/// hold.
double workRatioOf(const Rule& rule, const Bindings& shapes, const Figures& before) {
  try {
    auto symbols = rewrite::bindRule(rule, shapes);
    auto after = symbols ? figuresOf(rule.replacement, *symbols) : fail(ErrorKind::kCheck, "outside the class");
    return after && before.work > 0 ? after->work / before.work : 1;
  } catch (const OverflowError&) {
    return 1;
  }
}

/// value lies in [least, greatest], or beyond by a factor; one is added, for pads may be 0.
bool isWithin(double value, double least, double greatest, double factor) {
  return (least + 1) <= factor * (value + 1) && value + 1 <= factor * (greatest + 1);
}

/// Whether decisions may rest on a sample: numbers that a clock can give.
bool isSane(const TimingSample& s) {
  constexpr double kLeast = 1e-15;
  auto isTime = [](double x) { return std::isfinite(x) && x >= kLeast; };
  auto isSize = [](double x) { return std::isfinite(x) && x >= 0; };
  return isTime(s.pattern) && isTime(s.replacement) && isTime(s.ratio()) && isSize(s.spread) && isSize(s.opening) &&
         isSize(s.closing);
}

/// Without weights from the caches, where there are others.
template <class T>
std::vector<T> coldFirst(std::vector<T> samples) {
  bool cold = std::any_of(samples.begin(), samples.end(), [](const T& s) { return s.weights == "cold"; });
  if (cold) std::erase_if(samples, [](const T& s) { return s.weights != "cold"; });
  return samples;
}

/// Those of a number of threads.
std::vector<TimingSample> relevant(std::vector<TimingSample> samples, int threads) {
  std::erase_if(samples, [&](const TimingSample& s) { return s.threads != threads || !isSane(s); });
  return coldFirst(std::move(samples));
}

double noiseOf(const TimingSample& s) {
  return std::log1p(s.spread / 2);
}

}  // namespace

void DeviceCosts::Span::add(double value) {
  least = samples == 0 ? value : std::min(least, value);
  greatest = samples == 0 ? value : std::max(greatest, value);
  ++samples;
}

bool DeviceCosts::isNear(const Predictor& p, const Bindings& shapes, const Figures& figures) {
  for (const auto& [symbol, value] : shapes) {
    auto span = p.symbols.find(symbol);
    bool everywhere = span != p.symbols.end() && span->second.samples == p.samples.size();
    if (!everywhere || value < 0) return false;
    if (!isWithin(static_cast<double>(value), span->second.least, span->second.greatest, kNearSymbol)) return false;
  }
  return !p.samples.empty() && isWithin(figures.work, p.work.least, p.work.greatest, kNearWork);
}

// --- Fitting ---

DeviceCosts::Predictor DeviceCosts::predictorOf(const Rule& rule, std::vector<Sample> samples) {
  Predictor p{&rule, std::move(samples)};
  std::vector<double> layouts;
  for (const Sample& s : p.samples) {
    for (const auto& [symbol, value] : s.shapes)
      p.symbols[symbol].add(static_cast<double>(value));
    p.work.add(s.figures.work);
    double bytes = kBytes * (s.figures.input + s.figures.output);
    if (s.layouts > 0 && bytes > 0) layouts.push_back(s.layouts / bytes);
  }
  p.layoutsPerByte = median(std::move(layouts));
  return p;
}

std::vector<double> DeviceCosts::valuesAt(const Predictor& p, const Bindings& shapes, const Figures& figures) const {
  return valuesOf(patternOf(p).pattern->shapes.symbols, shapes, figures, workRatioOf(*p.rule, shapes, figures));
}

const RatioTree& DeviceCosts::treeOf(const Predictor& p) const {
  if (!p.tree) {
    std::vector<TreeCase> cases;
    for (const Sample& s : p.samples)
      cases.push_back({valuesAt(p, s.shapes, s.figures), s.logRatio, s.noise});
    p.tree = RatioTree::grow(featuresOf(patternOf(p).pattern->shapes.symbols), std::move(cases));
  }
  return *p.tree;
}

void DeviceCosts::learn(const Pattern& pattern, const std::vector<TimedRule>& rules) {
  std::map<Bindings, std::vector<double>> seconds;
  std::map<Bindings, Expected<Figures>> figures;
  for (const TimedRule& timed : rules) {
    std::map<Bindings, Sample> byShapes;
    for (const TimingSample& s : relevant(timed.samples, threads_)) {
      auto known = figures.find(s.shapes);
      if (known == figures.end()) known = figures.emplace(s.shapes, figuresOf(pattern.program, s.shapes)).first;
      const Expected<Figures>& f = known->second;
      if (!f) continue;
      seconds[s.shapes].push_back(s.pattern);
      Sample sample{s.shapes, *f, std::log(s.ratio()), noiseOf(s), s.opening + s.closing};
      // Of several engines or versions, the one that promises least.
      auto [it, added] = byShapes.emplace(s.shapes, sample);
      if (!added && sample.logRatio - sample.noise < it->second.logRatio - it->second.noise) it->second = sample;
    }
    if (byShapes.empty()) continue;
    std::vector<Sample> samples;
    for (auto& [shapes, sample] : byShapes)
      samples.push_back(std::move(sample));
    predictors_.insert_or_assign(timed.rule->name, predictorOf(*timed.rule, std::move(samples)));
  }
  if (seconds.empty()) return;
  PatternCost& shared = patterns_[pattern.name] = {&pattern};
  std::vector<SecondsFit::Point> points;
  for (const auto& [shapes, each] : seconds) {
    shared.seconds[shapes] = median(each);
    points.push_back({*figures.at(shapes), shared.seconds[shapes]});
  }
  shared.fit = SecondsFit::of(points);
}

void DeviceCosts::learnLayouts(const std::vector<LayoutSample>& layouts) {
  std::vector<LayoutSample> relevant = layouts;
  std::erase_if(relevant, [&](const LayoutSample& s) {
    return s.threads != threads_ || s.bytes <= 0 || !std::isfinite(s.seconds) || s.seconds <= 0;
  });
  std::vector<double> perByte;
  for (const LayoutSample& s : coldFirst(std::move(relevant)))
    perByte.push_back(s.seconds / static_cast<double>(s.bytes));
  if (!perByte.empty()) layoutSecondsPerByte_ = median(std::move(perByte));
}

DeviceCosts DeviceCosts::fit(const RuleSet& rules, const Timings& timings, const std::string& device, int threads) {
  DeviceCosts costs(threads);
  std::map<std::string_view, std::vector<TimedRule>> byPattern;
  for (const Rule& rule : rules.rules) {
    const Pattern* pattern = rules.findPattern(rule.pattern);
    if (pattern) byPattern[pattern->name].push_back({&rule, timings.samples(ruleHash(*pattern, rule), device)});
  }
  for (const auto& [name, timed] : byPattern)
    costs.learn(*rules.findPattern(name), timed);
  costs.learnLayouts(timings.layouts(device));
  return costs;
}

// --- Answers ---

const DeviceCosts::Predictor* DeviceCosts::find(const Rule& rule) const {
  auto it = predictors_.find(rule.name);
  return it == predictors_.end() ? nullptr : &it->second;
}

CostEstimate DeviceCosts::costOf(const PatternCost& pattern, const Bindings& shapes, const Figures& figures) const {
  CostEstimate cost;
  auto timed = pattern.seconds.find(shapes);
  cost.pattern = timed != pattern.seconds.end() ? timed->second : pattern.fit.at(figures);
  return cost;
}

Expected<CostEstimate> DeviceCosts::estimate(const Predictor& p, const Bindings& shapes) const {
  auto far = fail(ErrorKind::kCheck, std::string(kNoTimingNear));
  const PatternCost& pattern = patternOf(p);
  auto figures = figuresOf(pattern.pattern->program, shapes);
  if (!figures || !isNear(p, shapes, *figures) || treeOf(p).empty()) return far;
  auto values = valuesAt(p, shapes, *figures);
  if (values.empty()) return far;
  TreeGuess guess = treeOf(p).guess(values);
  CostEstimate cost = costOf(pattern, shapes, *figures);
  cost.replacement = cost.pattern / std::exp(guess.value);
  cost.lower = std::exp(guess.floor);
  cost.layouts = std::min(cost.replacement, p.layoutsPerByte * kBytes * (figures->input + figures->output));
  return cost;
}

Expected<CostEstimate> DeviceCosts::predicted(const Rule& rule, const Bindings& patternSymbols) const {
  const Predictor* p = find(rule);
  if (!p) return fail(ErrorKind::kCheck, std::string(kNoTiming));
  return estimate(*p, patternSymbols);
}

Expected<CostEstimate> DeviceCosts::at(const Rule& rule, const Bindings& patternSymbols) const {
  const Predictor* p = find(rule);
  if (!p) return fail(ErrorKind::kCheck, std::string(kNoTiming));
  auto sample =
      std::find_if(p->samples.begin(), p->samples.end(), [&](const Sample& s) { return s.shapes == patternSymbols; });
  if (sample == p->samples.end()) return estimate(*p, patternSymbols);
  CostEstimate cost = costOf(patternOf(*p), patternSymbols, sample->figures);
  cost.replacement = cost.pattern / std::exp(sample->logRatio);
  cost.lower = std::exp(sample->logRatio - sample->noise);
  cost.layouts = std::min(cost.replacement, sample->layouts);
  cost.measured = true;
  return cost;
}

// --- Words ---

namespace {

std::string ratioWords(double middle, double low, double high, size_t samples) {
  std::string count = fmt::format("{} sample{}", samples, samples == 1 ? "" : "s");
  if (samples == 1) return fmt::format("{:.2f} ({})", std::exp(middle), count);
  return fmt::format("{:.2f} ({:.2f} - {:.2f}, {})", std::exp(middle), std::exp(low), std::exp(high), count);
}

}  // namespace

std::string DeviceCosts::words(const Rule& rule) const {
  const Predictor* p = find(rule);
  if (!p || treeOf(*p).empty()) return "not tuned";
  std::string text;
  for (const RatioTree::Leaf& leaf : treeOf(*p).leaves()) {
    const TreeGuess& g = leaf.guess;
    if (g.floor <= 0) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", leaf.when, ratioWords(g.value, g.low, g.high, g.cases));
  }
  // All the others together: where a rule does not pay, how is of less interest.
  std::vector<double> others;
  for (const Sample& s : p->samples) {
    if (treeOf(*p).guess(valuesAt(*p, s.shapes, s.figures)).floor <= 0) others.push_back(s.logRatio);
  }
  if (others.empty()) return text;
  std::sort(others.begin(), others.end());
  double middle = median(others);
  const char* word = !text.empty() ? "; else " : others.back() <= 0 ? "never: " : "not proven to pay: ";
  return text + word + ratioWords(middle, others.front(), others.back(), others.size());
}

// --- Cross-validation ---

std::string CrossValidation::str() const {
  if (samples == 0) return "nothing was timed";
  auto percent = [&](size_t n, size_t of) { return 100.0 * static_cast<double>(n) / static_cast<double>(of); };
  return fmt::format(
      "{} samples left out in turn: {:.0f} % decided right, {} fired at a loss; {:.0f} % predicted, off by a factor of "
      "{:.2f}; chosen / best {:.3f} at {} sites",
      samples, percent(right, samples), lost, percent(predicted, samples), std::exp(logError), chosenOverBest, sites);
}

CrossValidation DeviceCosts::crossValidate(const std::vector<const Predictor*>& predictors, double minGain) const {
  struct Site {
    double promised = 0, chosen = 0;  ///< ratios' logarithms; 0: the pattern stays
    double best = 0;
  };
  CrossValidation result;
  std::map<std::pair<std::string, Bindings>, Site> sites;
  double least = std::log(minGain);
  auto judge = [&](const Predictor& p, const Sample& left, const Expected<CostEstimate>& guess) {
    double promised = guess ? std::log(guess->ratio()) : 0;
    bool fires = guess && promised >= least && guess->lower > 1;
    ++result.samples;
    result.right += fires == (left.logRatio >= least);
    result.lost += fires && left.logRatio < 0;
    if (guess) {
      ++result.predicted;
      result.logError += std::abs(promised - left.logRatio);
    }
    Site& site = sites[{p.rule->pattern, left.shapes}];
    site.best = std::max(site.best, left.logRatio);
    if (fires && promised > site.promised) {
      site.promised = promised;
      site.chosen = left.logRatio;
    }
  };
  for (const Predictor* p : predictors) {
    const size_t turns = turnsToLeaveOut(p->samples.size());
    for (size_t turn = 0; turn < turns; ++turn) {
      std::vector<Sample> rest;
      for (size_t i = 0; i < p->samples.size(); ++i) {
        if (i % turns != turn) rest.push_back(p->samples[i]);
      }
      const Predictor others = predictorOf(*p->rule, std::move(rest));
      for (size_t out = turn; out < p->samples.size(); out += turns)
        judge(*p, p->samples[out], estimate(others, p->samples[out].shapes));
    }
  }
  if (result.predicted > 0) result.logError /= static_cast<double>(result.predicted);
  result.sites = sites.size();
  double sum = 0;
  for (const auto& [where, site] : sites)
    sum += std::exp(site.best - site.chosen);
  if (!sites.empty()) result.chosenOverBest = sum / static_cast<double>(sites.size());
  return result;
}

CrossValidation DeviceCosts::crossValidate(const Rule& rule, double minGain) const {
  const Predictor* p = find(rule);
  return p ? crossValidate(std::vector{p}, minGain) : CrossValidation{};
}

CrossValidation DeviceCosts::crossValidate(double minGain) const {
  std::vector<const Predictor*> all;
  for (const auto& [name, p] : predictors_)
    all.push_back(&p);
  return crossValidate(all, minGain);
}

}  // namespace pet
