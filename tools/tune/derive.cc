#include "tools/tune/derive.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "rules/gain/figures.h"
#include "rules/pack/pack.h"

namespace pet::tune {
namespace {

/// Of a machine, what was seen on an engine.
struct Seen {
  double gemm = 0, conv = 0;
  std::vector<double> copies;
};
using Engine = std::tuple<std::string, std::string, std::string>;  // machine, engine, version

/// The rate that the one operator of a program is bound by; null where there are others.
double Seen::*rateOf(const Program& program) {
  double Seen::*rate = nullptr;
  for (const Node& node : program.nodes()) {
    if (node.is(ops::kInput)) continue;
    if (rate) return nullptr;
    const bool isProduct = node.is(ops::kMatMul) || node.is(ops::kGemm);
    const bool isConv = node.is(ops::kConv) && node.scalar("group") == Expr(1);
    if (!isProduct && !isConv) return nullptr;
    rate = isProduct ? &Seen::gemm : &Seen::conv;
  }
  return rate;
}

/// The value that one in ten exceeds: a single layout may be timed at nothing.
double high(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() * 9 / 10];
}

bool isCalibrated(const Machine& machine, const EngineRates& setting) {
  return std::any_of(machine.rates.begin(), machine.rates.end(), [&](const EngineRates& r) {
    return r.device == setting.device && r.engine == setting.engine && r.version == setting.version &&
           r.threads == setting.threads && !r.derived;
  });
}

void look(const Pattern& pattern, const TimingSample& s, Seen& seen) {
  constexpr double kFlops = 2;
  auto figures = figuresOf(pattern.program, s.shapes);
  if (double Seen::*rate = rateOf(pattern.program); rate && figures)
    seen.*rate = std::max(seen.*rate, kFlops * figures->work / s.pattern);
  const double layouts = s.opening + s.closing;
  if (layouts > 0 && s.moved > 0) seen.copies.push_back(2 * static_cast<double>(s.moved) / layouts);
}

}  // namespace

size_t deriveRates(const RuleSet& rules, const Options& o, Timings& timings) {
  std::map<Engine, Seen> byEngine;
  for (const Rule& rule : rules.rules) {
    const Pattern* pattern = rules.findPattern(rule.pattern);
    for (const TimingSample& s : timings.samples(ruleHash(*pattern, rule), o.device)) {
      if (s.threads == o.threads && !s.machine.empty()) look(*pattern, s, byEngine[{s.machine, s.engine, s.version}]);
    }
  }
  size_t added = 0;
  for (const auto& [setting, seen] : byEngine) {
    const auto& [name, engine, version] = setting;
    auto known = timings.machines().find(name);
    const EngineRates rates{o.device, engine, version, o.threads, {seen.gemm, seen.conv, high(seen.copies)}, true};
    if (known == timings.machines().end() || isCalibrated(known->second, rates)) continue;
    Machine machine = known->second;
    machine.add(rates);
    timings.add(std::move(machine));
    ++added;
  }
  return added;
}

}  // namespace pet::tune
