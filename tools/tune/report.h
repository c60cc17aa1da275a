#pragma once

#include <string>
#include <vector>

#include "rules/gain/gain.h"
#include "rules/rule.h"
#include "tools/tune/jobs.h"
#include "tools/tune/tuner.h"

namespace pet::tune {

/// One line for each sample and each failure, by rule.
std::string report(const std::vector<Job>& jobs, const std::vector<Row>& rows);
/// Where each rule pays on a machine by these timings, in words, with what its predictor is worth.
std::string wherePays(const RuleSet& rules, const Timings& timings, const Machine& machine, const Options& o);

/// What the predictors of all rules are worth on a machine: each sample, all of a model's, and all of a machine's left
/// out in turn.
struct Worth {
  std::string machine;  ///< for people
  size_t models = 0;
  CrossValidation bySample, byModel, byMachine;
};
/// `models`: the shapes of their sites.
Worth worthOf(const RuleSet& rules,
              const Timings& timings,
              const Machine& machine,
              const std::vector<PointsOf>& models,
              const Options& o);
std::string text(const Worth& worth);
std::string json(const Worth& worth);

/// How many points met which end, how much runs of one model varied, and how many were far from the others.
std::string counts(const std::vector<Row>& rows);

}  // namespace pet::tune
