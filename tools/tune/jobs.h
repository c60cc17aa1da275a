#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/progress.h"
#include "rules/pack/timings.h"
#include "rules/rule.h"
#include "rules/surroundings.h"
#include "runtime/ort/client.h"
#include "runtime/ort/grid.h"
#include "tools/common/points.h"
#include "tools/tune/options.h"

namespace pet::tune {

/// One rule at one choice of shapes.
struct Job {
  const Pattern* pattern;
  const Rule* rule;
  std::string hash;
  Bindings shapes;   ///< the pattern's symbols
  Bindings symbols;  ///< the rule's
  Surroundings beside = {};
  int opset = kUsualOpset;
  int turn = 0;  ///< its place among the points of its rule: the first ones are the most telling
};

/// Shapes, what is beside a pattern in a model there, and the model's opset.
struct Point {
  Bindings shapes;
  Surroundings beside = {};
  int opset = kUsualOpset;
  friend bool operator==(const Point&, const Point&) = default;
};
using PointsOf = std::map<std::string, std::vector<Point>>;  ///< by pattern

/// Where patterns have sites in models: of each model, of all patterns. `show` may be null. Errors: load()'s.
Expected<std::vector<PointsOf>> sitesIn(const std::vector<std::string>& models,
                                        const std::vector<Pattern>& patterns,
                                        const ReportProgress& show);

/// kUsage: a name or glob of --rules that no rule of the pack has.
Expected<void> checkRules(const RuleSet& rules, const Options& o);

/// Rules that are no rules at the device's precision, since they may round more than pet-apply admits.
bool roundsTooMuch(const Rule& rule, const Options& o);

/// What is to be timed, but for rules that round too much: every rule's first point, then every rule's second, …, so
/// that a budget that runs out leaves something of each. `show` may be null. kUsage: see checkRules(); the pack is
/// empty.
Expected<std::vector<Job>> plan(const RuleSet& rules, const Grid& grid, const Options& o, const ReportProgress& show);

/// --points: these alone, in their order, at the opsets of the grid; those outside of a rule's class and large ones
/// (--max-work) are left out. kUsage: the pack has no rule of that name.
Expected<std::vector<Job>> planned(const RuleSet& rules,
                                   const std::vector<tool::RulePoint>& points,
                                   const Grid& grid,
                                   const Options& o);

/// --retake: what the timings have of this engine on this machine and of these options that is unsure, in their order.
/// Rules that the pack does not have are left out. kUsage as for plan().
Expected<std::vector<Job>> retaken(const RuleSet& rules,
                                   const Timings& timings,
                                   const RunnerHello& engine,
                                   const Options& o);

/// Values for symbols, as Program::substitute takes them.
std::map<std::string, Expr> exprsOf(const Bindings& bindings);

}  // namespace pet::tune
