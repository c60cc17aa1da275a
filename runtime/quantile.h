#pragma once

#include <vector>

namespace pet {

/// The value below which a share q of the samples lies, between two samples linearly. At least one sample; 0 <= q <= 1.
double quantile(std::vector<double> samples, double q);

}  // namespace pet
