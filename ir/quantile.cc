#include "ir/quantile.h"

#include <algorithm>

namespace pet {

double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  double at = q * static_cast<double>(samples.size() - 1);
  auto below = static_cast<size_t>(at), above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
}

}  // namespace pet
