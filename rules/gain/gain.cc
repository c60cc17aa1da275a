#include "rules/gain/gain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "ir/quantile.h"
#include "rules/gain/neighbours.h"
#include "rules/gain/roofline.h"
#include "rules/pack/pack.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

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

/// Those of a number of threads, of a place, and of the opset that tells of the setting's: one for all rules, since
/// they are compared, and for all machines and places, since an engine has the same kernels there.
std::vector<TimedRule> relevant(const std::vector<TimedRule>& all, const Setting& setting) {
  std::set<int> opsets;
  for (const TimedRule& timed : all) {
    for (const TimingSample& s : timed.samples)
      opsets.insert(s.opset);
  }
  if (opsets.empty()) return all;
  const int opset = nearestOpset(opsets, setting.opset);
  std::vector<TimedRule> rules;
  for (const TimedRule& timed : all) {
    std::vector<TimingSample> samples;
    std::copy_if(timed.samples.begin(), timed.samples.end(), std::back_inserter(samples), [&](const TimingSample& s) {
      return s.threads == setting.threads && s.place == setting.place && s.opset == opset && isSane(s);
    });
    rules.push_back({timed.rule, coldFirst(std::move(samples))});
  }
  return rules;
}

/// Seconds at one machine's rates over seconds at another's, if both are known.
std::optional<double> slowdown(const Load& load, const Rates& from, const Rates& to) {
  auto before = rooflineSeconds(load, from), after = rooflineSeconds(load, to);
  return before && after && *before > 0 && *after > 0 ? std::optional(*after / *before) : std::nullopt;
}

/// Keeps of one choice of shapes the sample that promises least.
template <class Sample>
void takeLeast(std::map<Bindings, Sample>& byShapes, Sample sample) {
  auto [it, added] = byShapes.emplace(sample.shapes, sample);
  if (!added && sample.logRatio - sample.noise < it->second.logRatio - it->second.noise) it->second = std::move(sample);
}

template <class Sample>
std::vector<Sample> valuesIn(std::map<Bindings, Sample> byShapes) {
  std::vector<Sample> values;
  for (auto& [shapes, sample] : byShapes)
    values.push_back(std::move(sample));
  return values;
}

}  // namespace

// --- Fitting ---

DeviceCosts::Predictor DeviceCosts::predictorOf(const Rule& rule, std::vector<Sample> samples) {
  Predictor p{&rule, std::move(samples)};
  std::vector<double> layouts;
  for (const Sample& s : p.samples) {
    double bytes = kElementBytes * (s.figures.input + s.figures.output);
    if (s.layouts > 0 && bytes > 0) layouts.push_back(s.layouts / bytes);
  }
  p.layoutsPerByte = median(std::move(layouts));
  return p;
}

/// What a rule's sides ask of a machine; nullopt where the rule does not hold.
const std::optional<DeviceCosts::Sides>& DeviceCosts::sidesAt(const Rule& rule, const Bindings& shapes) const {
  auto [known, isNew] = sides_[rule.name].try_emplace(shapes);
  if (!isNew) return known->second;
  auto pattern = patterns_.find(rule.pattern);
  if (pattern == patterns_.end()) return known->second;
  try {
    auto symbols = rewrite::bindRule(rule, shapes);
    if (!symbols) return known->second;
    auto before = loadOf(pattern->second.pattern->program, shapes), after = loadOf(rule.replacement, *symbols);
    if (before && after) known->second = {*before, *after};
  } catch (const OverflowError&) {
    // as where it does not hold
  }
  return known->second;
}

std::vector<double> DeviceCosts::valuesAt(const Predictor& p, const Bindings& shapes, const Figures& figures) const {
  const auto& sides = sidesAt(*p.rule, shapes);
  const double workRatio =
      sides && sides->pattern.work > 0 ? sides->replacement.work / sides->pattern.work : 1;  // pads, corrections
  return valuesOf(patternOf(p).pattern->shapes.symbols, shapes, figures, workRatio);
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

/// The logarithm of the ratio by the roofline at this machine's rates; 0 where these are not known.
double DeviceCosts::rooflineOf(const Predictor& p, const Bindings& shapes) const {
  const auto& sides = sidesAt(*p.rule, shapes);
  if (!sides) return 0;
  const Rates rates = ratesOf(setting_.machine);
  auto before = rooflineSeconds(sides->pattern, rates), after = rooflineSeconds(sides->replacement, rates);
  return before && after && *before > 0 && *after > 0 ? std::log(*before / *after) : 0;
}

/// The samples that are not too far from shapes.
std::vector<Neighbour> DeviceCosts::neighboursOf(const Predictor& p, const Bindings& shapes) const {
  if (!p.rooflines) {
    p.rooflines.emplace();
    for (const Sample& s : p.samples) {
      p.rooflines->push_back(rooflineOf(p, s.shapes));
      p.points.emplace_back(s.shapes);
    }
  }
  const double here = rooflineOf(p, shapes);
  const ShapePoint point(shapes);
  std::vector<Neighbour> neighbours;
  for (size_t i = 0; i < p.samples.size(); ++i) {
    const Sample& s = p.samples[i];
    const double doublings = p.points[i].doublingsTo(point);
    if (doublings <= kFarthest) neighbours.push_back({doublings, s.logRatio, s.noise, (*p.rooflines)[i] - here});
  }
  return neighbours;
}

const std::string& DeviceCosts::enterOrigin(const std::string& machine, const std::string& isa) {
  const std::string key = machine.empty() ? "isa " + isa : machine;
  auto [at, isNew] = origins_.try_emplace(key);
  if (!isNew) return at->first;
  Origin& origin = at->second;
  auto known = machines_.find(machine);
  origin.isHere = machine.empty()          ? isa == setting_.machine.isa
                : known != machines_.end() ? isSameCpu(known->second, setting_.machine)
                                           : machine == setting_.machine.name();
  origin.machine = known != machines_.end() ? known->second : origin.isHere ? setting_.machine : Machine{.isa = isa};
  return at->first;
}

void DeviceCosts::learn(const Pattern& pattern, const std::vector<TimedRule>& all) {
  const std::vector<TimedRule> rules = relevant(all, setting_);
  FiguresByShapes figures;
  for (const TimedRule& timed : rules) {
    std::map<std::pair<std::string, Bindings>, Sample> bySetting;
    for (const TimingSample& s : timed.samples) {
      auto known = figures.find(s.shapes);
      if (known == figures.end()) known = figures.emplace(s.shapes, figuresOf(pattern.program, s.shapes)).first;
      const Expected<Figures>& f = known->second;
      if (!f) continue;
      Sample sample{s.shapes, *f, std::log(s.ratio()), s.noise(), s.opening + s.closing, enterOrigin(s.machine, s.isa)};
      // Of several engines or versions, the one that promises least.
      auto [it, added] = bySetting.emplace(std::pair(sample.origin, s.shapes), sample);
      if (!added && sample.logRatio - sample.noise < it->second.logRatio - it->second.noise) it->second = sample;
    }
    if (bySetting.empty()) continue;
    Tuned tuned{timed.rule, {}};
    std::map<Bindings, Sample> here;
    for (auto& [setting, sample] : bySetting) {
      tuned.samples.push_back(sample);
      if (origins_.at(sample.origin).isHere) takeLeast(here, std::move(sample));
    }
    tuned.here = predictorOf(*timed.rule, valuesIn(std::move(here)));
    tuned_.insert_or_assign(timed.rule->name, std::move(tuned));
  }
  learnSeconds(pattern, rules, figures);
}

/// What the pattern took here; at other shapes what it took on other machines, at the rates of this one.
void DeviceCosts::learnSeconds(const Pattern& pattern,
                               const std::vector<TimedRule>& rules,
                               const FiguresByShapes& figures) {
  std::map<Bindings, std::vector<double>> here, elsewhere;
  const Rates rates = ratesOf(setting_.machine);
  for (const TimedRule& timed : rules) {
    for (const TimingSample& s : timed.samples) {
      if (!figures.at(s.shapes)) continue;
      const Origin& origin = origins_.at(enterOrigin(s.machine, s.isa));
      if (origin.isHere) here[s.shapes].push_back(s.pattern);
      if (origin.isHere) continue;
      auto load = loadOf(pattern.program, s.shapes);
      elsewhere[s.shapes].push_back(s.pattern *
                                    (load ? slowdown(*load, ratesOf(origin.machine), rates).value_or(1) : 1));
    }
  }
  if (here.size() < kEnough) here.insert(elsewhere.begin(), elsewhere.end());
  if (here.empty()) return;
  PatternCost& shared = patterns_[pattern.name] = {&pattern};
  std::vector<SecondsFit::Point> points;
  for (auto& [shapes, each] : here) {
    shared.seconds[shapes] = median(std::move(each));
    points.push_back({*figures.at(shapes), shared.seconds[shapes]});
    shared.points.emplace_back(shapes);
  }
  shared.fit = SecondsFit::of(points);
}

DeviceCosts::Sample DeviceCosts::carriedOver(const Rule& rule, Sample sample, const Machine& to) const {
  const Rates from = ratesOf(origins_.at(sample.origin).machine), there = ratesOf(to);
  const auto& sides = sidesAt(rule, sample.shapes);
  if (!sides) return sample;
  auto before = slowdown(sides->pattern, from, there), after = slowdown(sides->replacement, from, there);
  if (before && after) {
    const double carried = sample.logRatio + std::log(*before / *after);
    // Rates say how much a rule gains elsewhere, not whether: what lost where it was timed gains nowhere else.
    sample.logRatio = sample.logRatio < 0 ? std::min(carried, 0.0) : carried;
  }
  if (from.copy > 0 && there.copy > 0) sample.layouts *= from.copy / there.copy;
  return sample;
}

/// The samples of other machines than `without`, as they would be on `to`: of one choice of shapes one, of this CPU if
/// there is any, else the one that promises least.
std::vector<DeviceCosts::Sample> DeviceCosts::gatheredFor(const Tuned& tuned,
                                                          const Machine& to,
                                                          const std::string& without) const {
  std::map<Bindings, Sample> same, others;
  for (const Sample& s : tuned.samples) {
    if (s.origin == without) continue;
    const bool isSame = isSameCpu(origins_.at(s.origin).machine, to);
    takeLeast(isSame ? same : others, isSame ? s : carriedOver(*tuned.rule, s, to));
  }
  same.merge(others);
  return valuesIn(std::move(same));
}

const DeviceCosts::Predictor& DeviceCosts::allOf(const Tuned& tuned) const {
  if (!tuned.all) tuned.all = predictorOf(*tuned.rule, gatheredFor(tuned, setting_.machine, ""));
  return *tuned.all;
}

/// The predictor that decides at most shapes.
const DeviceCosts::Predictor& DeviceCosts::usedOf(const Tuned& tuned) const {
  return isHereOnly(tuned) || tuned.here.samples.size() >= kEnough ? tuned.here : allOf(tuned);
}

void DeviceCosts::learnLayouts(const std::vector<LayoutSample>& layouts) {
  std::vector<LayoutSample> known = layouts;
  std::erase_if(known, [&](const LayoutSample& s) {
    return s.threads != setting_.threads || s.bytes <= 0 || !std::isfinite(s.seconds) || s.seconds <= 0;
  });
  const double copy = ratesOf(setting_.machine).copy;
  std::vector<double> here, elsewhere;
  for (const LayoutSample& s : coldFirst(std::move(known))) {
    const Origin& origin = origins_.at(enterOrigin(s.machine, s.isa));
    const double from = ratesOf(origin.machine).copy, perByte = s.seconds / static_cast<double>(s.bytes);
    (origin.isHere ? here : elsewhere).push_back(from > 0 && copy > 0 ? perByte * from / copy : perByte);
  }
  if (here.size() < kEnough) here.insert(here.end(), elsewhere.begin(), elsewhere.end());
  // Between two rules layouts move what is in cache, and much of it: what is small, cold or disturbed takes longer.
  constexpr double kQuick = 0.25;
  if (!here.empty()) layoutSecondsPerByte_ = quantile(std::move(here), kQuick);
}

DeviceCosts DeviceCosts::fit(const RuleSet& rules, const Timings& timings, Setting setting) {
  const std::string device = setting.device;
  DeviceCosts costs(std::move(setting), timings.machines());
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

const DeviceCosts::Tuned* DeviceCosts::find(const Rule& rule) const {
  auto it = tuned_.find(rule.name);
  return it == tuned_.end() ? nullptr : &it->second;
}

bool DeviceCosts::isOfThisCpu() const {
  return std::any_of(origins_.begin(), origins_.end(), [](const auto& origin) { return origin.second.isHere; });
}

double DeviceCosts::secondsAt(const PatternCost& pattern, const Bindings& shapes, const Figures& figures) {
  auto timed = pattern.seconds.find(shapes);
  return timed != pattern.seconds.end() ? timed->second : pattern.fit.at(figures);
}

std::optional<double> DeviceCosts::secondsOf(const Pattern& pattern, const Bindings& shapes, double doublings) const {
  auto known = patterns_.find(pattern.name);
  if (known == patterns_.end()) return std::nullopt;
  const auto& timed = known->second.points;
  const bool isNear = std::any_of(timed.begin(), timed.end(), [&, here = ShapePoint(shapes)](const ShapePoint& there) {
    return there.doublingsTo(here) <= doublings;
  });
  auto figures = figuresOf(pattern.program, shapes);
  return isNear && figures ? std::optional(secondsAt(known->second, shapes, *figures)) : std::nullopt;
}

Expected<CostEstimate> DeviceCosts::estimate(const Predictor& p, const Bindings& shapes) const {
  auto far = fail(ErrorKind::kCheck, std::string(kNoTimingNear));
  const PatternCost& pattern = patternOf(p);
  auto figures = figuresOf(pattern.pattern->program, shapes);
  if (!figures) return far;
  const std::vector<Neighbour> neighbours = neighboursOf(p, shapes);
  if (neighbours.empty() || treeOf(p).empty()) return far;
  auto values = valuesAt(p, shapes, *figures);
  if (values.empty()) return far;
  const NearGuess guess = corrected(treeOf(p).guess(values), neighbours);
  CostEstimate cost{.pattern = secondsAt(pattern, shapes, *figures)};
  cost.replacement = cost.pattern / std::exp(guess.value);
  cost.lower = std::exp(guess.floor);
  cost.doublings = nearest(neighbours);
  cost.layouts = std::min(cost.replacement, p.layoutsPerByte * kElementBytes * (figures->input + figures->output));
  return cost;
}

/// kCheck: these shapes were not timed.
Expected<CostEstimate> DeviceCosts::timedAt(const Predictor& p, const Bindings& shapes) const {
  auto sample = std::find_if(p.samples.begin(), p.samples.end(), [&](const Sample& s) { return s.shapes == shapes; });
  if (sample == p.samples.end()) return fail(ErrorKind::kCheck, std::string(kNoTimingNear));
  CostEstimate cost{.pattern = secondsAt(patternOf(p), shapes, sample->figures)};
  cost.replacement = cost.pattern / std::exp(sample->logRatio);
  cost.lower = std::exp(sample->logRatio - sample->noise);
  cost.layouts = std::min(cost.replacement, sample->layouts);
  return cost;
}

Expected<CostEstimate> DeviceCosts::ofOtherCpus(const Predictor& all, const Bindings& shapes, bool isTimedKnown) const {
  auto timed = isTimedKnown ? timedAt(all, shapes) : fail(ErrorKind::kCheck, std::string(kNoTimingNear));
  if (timed) return timed;
  auto cost = estimate(all, shapes);
  if (cost && cost->doublings > kFarthestElsewhere) return fail(ErrorKind::kCheck, std::string(kNoTimingNear));
  return cost;
}

/// What is expected at shapes that were not timed here.
Expected<CostEstimate> DeviceCosts::foreseen(const Tuned& tuned, const Bindings& shapes, bool isTimedElsewhere) const {
  auto none = fail(ErrorKind::kCheck, std::string(kNoTimingNear));
  const bool isEnough = isHereOnly(tuned) || tuned.here.samples.size() >= kEnough;
  auto here = isEnough ? estimate(tuned.here, shapes) : none;
  if (isHereOnly(tuned) || (here && here->doublings <= kNear)) return here;
  const Predictor& all = allOf(tuned);
  auto cost = ofOtherCpus(all, shapes, isTimedElsewhere);
  if (here && !(cost && cost->doublings < here->doublings)) return here;
  if (cost) cost->findMargin = [this, pattern = patternOf(all).pattern] { return marginOf(*pattern); };
  return cost;
}

namespace {

Expected<CostEstimate> withMargin(const Expected<CostEstimate>& cost) {
  return cost ? Expected<CostEstimate>(cost->withMargin()) : cost;
}

}  // namespace

Expected<CostEstimate> DeviceCosts::predicted(const Rule& rule, const Bindings& patternSymbols) const {
  const Tuned* tuned = find(rule);
  if (!tuned) return fail(ErrorKind::kCheck, std::string(kNoTiming));
  return withMargin(foreseen(*tuned, patternSymbols, false));
}

Expected<CostEstimate> DeviceCosts::at(const Rule& rule, const Bindings& patternSymbols) const {
  return withMargin(withoutMarginAt(rule, patternSymbols));
}

Expected<CostEstimate> DeviceCosts::withoutMarginAt(const Rule& rule, const Bindings& patternSymbols) const {
  const Tuned* tuned = find(rule);
  if (!tuned) return fail(ErrorKind::kCheck, std::string(kNoTiming));
  auto timed = timedAt(tuned->here, patternSymbols);
  if (!timed) return foreseen(*tuned, patternSymbols, true);
  timed->measured = true;
  return timed;
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
  const Tuned* tuned = find(rule);
  if (!tuned || treeOf(usedOf(*tuned)).empty()) return "not tuned";
  const Predictor& p = usedOf(*tuned);
  const bool isHere = &p == &tuned->here;
  const double margin = isHere ? 0 : std::log(marginOf(*patternOf(p).pattern));
  std::string text;
  for (const RatioTree::Leaf& leaf : treeOf(p).leaves()) {
    const TreeGuess& g = leaf.guess;
    if (g.floor <= margin) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", leaf.when, ratioWords(g.value, g.low, g.high, g.cases));
  }
  // All the others together: where a rule does not pay, how is of less interest.
  std::vector<double> others;
  for (const Sample& s : p.samples) {
    if (treeOf(p).guess(valuesAt(p, s.shapes, s.figures)).floor <= margin) others.push_back(s.logRatio);
  }
  const std::string whose = isHere ? "" : fmt::format("by other CPUs, margin {:.2f}: ", std::exp(margin));
  if (others.empty()) return whose + text;
  std::sort(others.begin(), others.end());
  double middle = median(others);
  const char* word = !text.empty() ? "; else " : others.back() <= 0 ? "never: " : "not proven to pay: ";
  return whose + text + word + ratioWords(middle, others.front(), others.back(), others.size());
}

}  // namespace pet
