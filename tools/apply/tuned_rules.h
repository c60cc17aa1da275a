#pragma once

#include <map>
#include <string>

#include "rules/gain/gain.h"
#include "rules/pack/pack.h"
#include "rules/pack/timings.h"

namespace pet::tool {

/// The rules of a pack, with what they cost in a setting: what was timed of a pattern's rules is read with them, so
/// that nothing is read or fitted of what does not match. Pack and timings outlive it.
class TunedRules final : public RuleSource {
 public:
  static Expected<TunedRules> open(Pack& pack, const OpenTimings& timings, const Setting& setting);

  Expected<std::vector<const Pattern*>> patternsOf(const OperatorNames& anchors) override;
  /// Errors of the timings as well.
  Expected<std::vector<const Rule*>> rulesOf(const Pattern& pattern) override;
  /// Of the rules that rulesOf() gave.
  const DeviceCosts& costs() const { return costs_; }

 private:
  TunedRules(Pack& pack, const OpenTimings& timings, const Setting& setting)
      : pack_(pack), timings_(timings), device_(setting.device), costs_(setting, timings.machines()) {}

  Pack& pack_;
  const OpenTimings& timings_;
  std::string device_;
  DeviceCosts costs_;
  std::map<const Pattern*, std::vector<const Rule*>> known_;
};

}  // namespace pet::tool
