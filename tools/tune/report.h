#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"
#include "tools/tune/tuner.h"

namespace pet::tune {

/// One line for each sample and each failure, by rule.
std::string report(const std::vector<Job>& jobs, const std::vector<Row>& rows);
/// Where each rule pays on a machine by these timings, in words, with what its predictor is worth; then what all of
/// them are.
std::string wherePays(const RuleSet& rules, const Timings& timings, const Machine& machine, const Options& o);
/// How many points met which end, how much runs of one model varied, and how many were far from the others.
std::string counts(const std::vector<Row>& rows);

}  // namespace pet::tune
