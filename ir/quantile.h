#pragma once

#include <utility>
#include <vector>

namespace pet {

/// The value below which a share q of the samples lies, between two samples linearly; of none, 0. 0 <= q <= 1.
double quantile(std::vector<double> samples, double q);

inline double median(std::vector<double> samples) {
  return quantile(std::move(samples), 0.5);
}

}  // namespace pet
