#pragma once

#include <vector>

#include "rules/gain/gain.h"
#include "tools/tune/jobs.h"

namespace pet::tune {

/// Seconds of a run that each job's rule is expected to save at its shapes, by what was timed before, wherever that was
/// (DeviceCosts::withoutMarginAt()): negative where it is expected to lose, 0 where the job is none of its rule's first
/// points. Where nothing is known of the rule on this device, a billionth of what it might save, so that what is known
/// to gain comes first: by its gain on others, if it was timed there, else if the replacement ran at the machine's
/// roofline (rooflineSeconds()), of what the pattern took here, or takes at the roofline.
std::vector<double> promisedSeconds(const RuleSet& rules,
                                    const std::vector<Job>& jobs,
                                    const Timings& timings,
                                    const Machine& machine,
                                    const Options& o);

/// Of the open jobs (indices, ascending), those that are next worth their time: the first points of every rule, which
/// are the most telling ones, those that promise most before the others; then a few about which the decision is least
/// certain, by what was timed so far, each of another rule.
std::vector<size_t> nextJobs(const RuleSet& rules,
                             const std::vector<Job>& jobs,
                             const std::vector<size_t>& open,
                             const std::vector<double>& promised,
                             const Timings& timings,
                             const Machine& machine,
                             const Options& o);

/// How open the decision is between a rule and its pattern, in [0, 1]: 1 where nothing is known; near 1 where the ratio
/// may well lie on either side of the least gain; near 0 where it is far from it, in units of its error.
double uncertainty(const Expected<CostEstimate>& cost, double minGain);

}  // namespace pet::tune
