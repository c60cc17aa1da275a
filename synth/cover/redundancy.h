#pragma once

#include <string_view>

#include "ir/progress.h"
#include "synth/cover/chain.h"

namespace pet::cover {

/// Why a rule is not needed.
enum class Redundancy {
  kSameProgram,  ///< both of its sides are one program
  kRenaming,     ///< another rule with other names of values and symbols, or read backwards
  kInstance,     ///< of a more general rule: fewer inputs or symbols, another class
  kProduct,      ///< its outputs fall into parts that share no input, each of which follows from rules
  kShared,       ///< another rule, with operators below or above that both sides have
  kChain,        ///< several rewrites by other rules lead from one side to the other
};
std::string_view redundancyName(Redundancy why);

struct Dropped {
  std::string rule;
  Redundancy why;
  std::vector<std::string> by;  ///< the kept rules, each once
};

struct MinimalSet {
  RuleSet kept;                  ///< with the patterns that they are of
  std::vector<Dropped> dropped;  ///< by rule
};

/// The rules without those that follow from others which are kept: small rules come first, of rules of one size those
/// with more symbols and inputs, then by name. What follows over a part of its class only is kept, and so is what no
/// chain of limits.steps rewrites leads to; without limits.backwards rules stand for rewrites from pattern to
/// replacement alone. A function of the arguments. `progress`: of the rules looked at; of those that are looked at
/// again, once more. It may be null.
MinimalSet minimalSet(const RuleSet& rules,
                      const ChainLimits& limits = {.steps = 1},
                      const ReportShare& progress = nullptr);

}  // namespace pet::cover
