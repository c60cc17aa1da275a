#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/progress.h"
#include "rules/cost.h"
#include "rules/gain/neighbours.h"
#include "rules/gain/roofline.h"
#include "rules/gain/seconds.h"
#include "rules/gain/tree.h"
#include "rules/pack/timings.h"
#include "rules/rule.h"

// What rules are expected to cost on a device, from the samples that pet-tune took (docs/applier.md, Gains).
namespace pet {

/// What gains are predicted for.
struct Setting {
  std::string device;
  int threads = 1;
  Machine machine = {};
  std::string place = "between";  ///< of the samples that count (TimingSample::place)
  int64_t opset = kUsualOpset;    ///< the model's; nearestOpset() of a pattern's samples counts
};

/// How well the predictors decide about each choice of shapes when it is left out in turn, or with all others of its
/// model or machine.
struct CrossValidation {
  size_t samples = 0;    ///< left out, each in turn
  size_t predicted = 0;  ///< of these, close enough to others for a prediction
  size_t right = 0;      ///< decisions, per sample: fires where the ratio is at least the minimum, and only there
  size_t lost = 0;       ///< decisions to fire where the ratio is below 1
  size_t below = 0;      ///< ratios below the bound that was claimed of them
  double logError = 0;   ///< mean |log(predicted ratio / ratio)| of those predicted
  double low = 1, middle = 1, high = 1;  ///< 10th, 50th and 90th percentile of predicted ratio / ratio
  size_t sites = 0;                      ///< choices of shapes of a pattern, where its rules compete
  double chosenOverBest = 1;             ///< mean seconds of the choice there / of the best of pattern and rules
  std::string str() const;               ///< one line
};

/// A rule, and what was timed of it on a device.
struct TimedRule {
  const Rule* rule = nullptr;
  std::vector<TimingSample> samples;
};

/// The shapes of patterns' sites in a model, by the pattern's name.
using ShapesOfModel = std::map<std::string, std::set<Bindings>, std::less<>>;

/// The costs of rules on one device of one machine, as far as they were learnt. What was timed on this very kind of CPU
/// counts alone where there is enough of it; else what was timed on others is carried over, with a margin.
class DeviceCosts {
 public:
  /// `machines`: those that samples refer to. A sample that refers to none is of this CPU if its ISA is.
  explicit DeviceCosts(Setting setting = {}, Machines machines = {})
      : setting_(std::move(setting)), machines_(std::move(machines)) {}
  /// All rules of a set. They are found by their hash: one that changed since it was timed counts as not tuned. The set
  /// outlives the costs.
  static DeviceCosts fit(const RuleSet& rules, const Timings& timings, Setting setting);

  /// Takes the samples of a pattern's rules, once, and of all of them; a predictor is fitted when a rule's cost is
  /// first asked for at shapes that were not timed. Deterministic. Samples with other numbers of threads, of another
  /// place or opset are left out, and where a rule was timed with weights from memory, those with weights from the
  /// caches. Pattern and rules outlive the costs.
  void learn(const Pattern& pattern, const std::vector<TimedRule>& all);
  /// Takes what layouts took on the device, whatever rules they are of.
  void learnLayouts(const std::vector<LayoutSample>& layouts);

  /// kCheck, in words for people: "not tuned for this device", "not tuned at shapes close to these".
  Expected<CostEstimate> at(const Rule& rule, const Bindings& patternSymbols) const;
  /// The same without the margin, where only other CPUs were timed: CostEstimate::findMargin.
  Expected<CostEstimate> withoutMarginAt(const Rule& rule, const Bindings& patternSymbols) const;
  /// Seconds of the pattern, whatever rule it was timed for, if it was timed within so many doublings; else nullopt.
  std::optional<double> secondsOf(const Pattern& pattern, const Bindings& shapes, double doublings) const;
  /// Seconds that moving one byte of activations takes in a layout operator; where none was timed, a guess: 0.25 ns.
  double layoutSecondsPerByte() const { return layoutSecondsPerByte_; }

  bool isTuned(const Rule& rule) const { return find(rule) != nullptr; }
  /// Some sample that was learnt is of this CPU.
  bool isOfThisCpu() const;
  /// What gains on a CPU have to exceed that no sample is of: of the pattern's rules, each machine's samples are
  /// predicted from four and more of the other machines' in turn, and one in eight of such predictions promises more by
  /// this factor or a larger one. Of fewer than eight, the largest, and no less than a factor of 1.5.
  double marginOf(const Pattern& pattern) const;
  /// The predictor's estimate, as if the shapes had not been timed; the same errors.
  Expected<CostEstimate> predicted(const Rule& rule, const Bindings& patternSymbols) const;
  /// Where a rule pays: "F <= 4 and R >= 5: 3.1 (1.9 - 8.4, 7 samples); else 0.8 (0.3 - 0.9, 9 samples)", "never: 0.7
  /// (0.4 - 0.9, 6 samples)", "not proven to pay: …", "not tuned".
  std::string words(const Rule& rule) const;
  /// The quality of decisions at shapes that were not timed; of one rule, or of all that were timed. `progress`: of the
  /// rules; it may be null.
  CrossValidation crossValidate(const Rule& rule, double minGain) const;
  CrossValidation crossValidate(double minGain, const ReportShare& progress = nullptr) const;
  /// The same when all samples at a model's shapes are left out, of each model in turn: a model that nobody timed.
  CrossValidation crossValidateModels(const std::vector<ShapesOfModel>& models,
                                      double minGain,
                                      const ReportShare& progress = nullptr) const;
  /// The same when all samples of a machine are left out, of the rules that were timed on several.
  CrossValidation crossValidateMachines(double minGain, const ReportShare& progress = nullptr) const;

 private:
  static constexpr size_t kEnough = 4;  ///< samples that decide without those of other machines

  struct Sample {
    Bindings shapes;
    Figures figures;
    double logRatio = 0, noise = 0;
    double layouts = 0;
    std::string origin;  ///< of origins_
  };
  /// Where samples are from.
  struct Origin {
    Machine machine;
    bool isHere = false;
  };
  /// Where a rule was timed.
  struct Predictor {
    const Rule* rule = nullptr;
    std::vector<Sample> samples;  ///< by shapes
    double layoutsPerByte = 0;
    mutable std::optional<RatioTree> tree = {};                 ///< once it was asked for
    mutable std::optional<std::vector<double>> rooflines = {};  ///< of the samples, once they were asked for
    mutable std::vector<ShapePoint> points = {};                ///< the same
  };
  /// A rule's samples of all machines, and what is learnt from them.
  struct Tuned {
    const Rule* rule = nullptr;
    std::vector<Sample> samples;                ///< by origin and shapes
    Predictor here = {};                        ///< from those of this CPU
    mutable std::optional<Predictor> all = {};  ///< from all, carried over; once it was asked for
  };
  /// The timings of a pattern, whatever rule it was timed for.
  struct PatternCost {
    const Pattern* pattern = nullptr;
    std::map<Bindings, double> seconds = {};  ///< medians
    std::vector<ShapePoint> points = {};      ///< where they are
    SecondsFit fit = {};
    mutable std::optional<double> margin = {};  ///< once it was asked for
  };
  /// A sample, and what is predicted of it without some.
  struct Foreseen {
    const Tuned* tuned;
    const Sample* sample;
    Expected<CostEstimate> guess;
  };

  const std::string& enterOrigin(const std::string& machine, const std::string& isa);
  Rates ratesOf(const Machine& machine) const { return machine.ratesOn(setting_.device, setting_.threads); }
  /// The pattern's, at all shapes of its samples.
  using FiguresByShapes = std::map<Bindings, Expected<Figures>>;
  void learnSeconds(const Pattern& pattern, const std::vector<TimedRule>& rules, const FiguresByShapes& figures);
  Sample carriedOver(const Rule& rule, Sample sample, const Machine& to) const;
  std::vector<Sample> gatheredFor(const Tuned& tuned, const Machine& to, const std::string& without) const;
  bool isHereOnly(const Tuned& tuned) const { return tuned.here.samples.size() == tuned.samples.size(); }
  const Predictor& allOf(const Tuned& tuned) const;
  const Predictor& usedOf(const Tuned& tuned) const;
  /// What is predicted of a rule's samples that are out from those that are not; `isOut` of a place in usedOf().
  std::vector<Foreseen> without(const Tuned& tuned, const std::function<bool(size_t sample)>& isOut) const;
  std::vector<Foreseen> withoutMachines(const std::vector<const Tuned*>& rules, const ReportShare& progress) const;
  Expected<CostEstimate> timedAt(const Predictor& p, const Bindings& shapes) const;
  /// From samples that were carried over; `isTimedKnown`: also at shapes that they were timed at.
  Expected<CostEstimate> ofOtherCpus(const Predictor& all, const Bindings& shapes, bool isTimedKnown) const;
  Expected<CostEstimate> foreseen(const Tuned& tuned, const Bindings& shapes, bool isTimedElsewhere) const;
  static Predictor predictorOf(const Rule& rule, std::vector<Sample> samples);
  const PatternCost& patternOf(const Predictor& p) const { return patterns_.find(p.rule->pattern)->second; }
  struct Sides {
    Load pattern, replacement;
  };
  const std::optional<Sides>& sidesAt(const Rule& rule, const Bindings& shapes) const;
  /// The tree's features of a rule at some shapes; empty where a symbol is unbound.
  std::vector<double> valuesAt(const Predictor& p, const Bindings& shapes, const Figures& figures) const;
  const RatioTree& treeOf(const Predictor& p) const;
  double rooflineOf(const Predictor& p, const Bindings& shapes) const;
  std::vector<Neighbour> neighboursOf(const Predictor& p, const Bindings& shapes) const;
  Expected<CostEstimate> estimate(const Predictor& p, const Bindings& shapes) const;
  static double secondsAt(const PatternCost& pattern, const Bindings& shapes, const Figures& figures);
  const Tuned* find(const Rule& rule) const;
  CrossValidation crossValidate(const std::vector<const Tuned*>& rules,
                                double minGain,
                                const ReportShare& progress) const;

  Setting setting_;
  Machines machines_;
  std::map<std::string, Origin, std::less<>> origins_;
  std::map<std::string, Tuned, std::less<>> tuned_;           ///< by the rule's name
  std::map<std::string, PatternCost, std::less<>> patterns_;  ///< by name
  /// By the rule's name, at the shapes that were asked for.
  mutable std::map<std::string, std::map<Bindings, std::optional<Sides>>, std::less<>> sides_;
  double layoutSecondsPerByte_ = 0.25e-9;
};

}  // namespace pet
