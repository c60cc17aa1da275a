#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rules/gain/gain.h"
#include "rules/gain/roofline.h"
#include "rules/pack/pack.h"
#include "rules/pack/timings.h"
#include "rules/surroundings.h"
#include "tools/common/points.h"

namespace pet::tool {

/// The rules of a pack, with what they cost in a setting: what was timed of a pattern's rules is read with them, so
/// that nothing is read or fitted of what does not match. Pack and timings outlive it.
class TunedRules final : public RuleSource {
 public:
  /// `ceiling`: what is guessed by where nothing was timed.
  static Expected<TunedRules> open(Pack& pack,
                                   const OpenTimings& timings,
                                   const Setting& setting,
                                   const std::optional<Ceiling>& ceiling);

  Expected<std::vector<const Pattern*>> patternsOf(const OperatorNames& anchors) override;
  /// Errors of the timings as well.
  Expected<std::vector<const Rule*>> rulesOf(const Pattern& pattern) override;
  Expected<PatternsOfRules> patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) override;
  /// Of a rule that rulesOf() gave: as DeviceCosts::withoutMarginAt(), or a guess.
  Expected<CostEstimate> costAt(const Rule& rule, const Bindings& patternSymbols) const;
  /// The same beside what is no usual neighbour, if the rule was timed there close to these shapes, or closer than
  /// between two; else as between these. Where nothing was timed alone, being the last one counts, then the first. Of
  /// what only other CPUs were timed at, and what this one was, the surer. What the pattern takes there is the same for
  /// all of its rules, wherever these were timed.
  Expected<CostEstimate> costBeside(const Rule& rule, const Bindings& patternSymbols, const Surroundings& beside) const;
  double layoutSecondsPerByte() const;
  /// Where costBeside() was asked in vain: nothing was timed near. By name, shapes and place.
  std::vector<RulePoint> untuned() const;
  /// Some timing is of the setting's CPU, or GPU.
  bool isOfThisCpu() const { return costs_.isOfThisCpu(); }

 private:
  using CostsBeside = std::vector<std::pair<Surroundings, DeviceCosts>>;
  /// What was learnt beside what is there, what has most in common with it first.
  std::vector<const DeviceCosts*> costsAt(const Surroundings& beside) const;
  Expected<CostEstimate> closestCost(const Rule& rule,
                                     const Bindings& patternSymbols,
                                     const Surroundings& beside) const;
  std::optional<double> patternSeconds(const Rule& rule,
                                       const Bindings& patternSymbols,
                                       const Surroundings& beside) const;
  static CostsBeside costsBeside(const Setting& setting, const Machines& machines);
  TunedRules(Pack& pack, const OpenTimings& timings, const Setting& setting, const std::optional<Ceiling>& ceiling)
      : pack_(pack),
        timings_(timings),
        device_(setting.device),
        opset_(static_cast<int>(setting.opset)),
        ceiling_(ceiling),
        costs_(setting, timings.machines()),
        costsBeside_(costsBeside(setting, timings.machines())) {}

  Pack& pack_;
  const OpenTimings& timings_;
  std::string device_;
  int opset_;
  std::optional<Ceiling> ceiling_;
  bool knowsLayouts_ = false;  ///< some were timed
  DeviceCosts costs_;
  CostsBeside costsBeside_;  ///< what has most in common with "alone" first
  std::map<const Pattern*, std::vector<const Rule*>> known_;
  std::map<std::string, const Pattern*, std::less<>> patterns_;  ///< of known_, by name
  /// What costBeside() answered: sites of one model have few shapes, and are asked for again in each round.
  using Asked = std::tuple<const Rule*, std::string_view, Bindings>;
  mutable std::map<Asked, Expected<CostEstimate>> answers_;
};

}  // namespace pet::tool
