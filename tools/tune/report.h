#pragma once

#include <string>
#include <vector>

#include "tools/tune/tuner.h"

namespace pet::tune {

/// One line for each sample and each failure, by rule.
std::string report(const std::vector<Job>& jobs, const std::vector<Row>& rows);
/// One line for each rule that the timings hold.
std::string summary(const Timings& timings);
/// How many points met which end.
std::string counts(const std::vector<Row>& rows);

}  // namespace pet::tune
