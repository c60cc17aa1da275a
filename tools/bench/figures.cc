#include "tools/bench/figures.h"

#include <algorithm>

#include "ir/quantile.h"

namespace pet::bench {

Ratio ratioOf(const std::vector<double>& original, const std::vector<double>& other) {
  std::vector<double> pairs;
  for (size_t i = 0; i < std::min(original.size(), other.size()); ++i)
    pairs.push_back(original[i] / other[i]);
  return {median(original) / median(other), median(pairs), quantile(pairs, 0.1), quantile(pairs, 0.9)};
}

Figures figuresOf(const TimeAnswer& a) {
  auto times = [&](size_t i) {
    const auto& s = a.samples[i];
    return Times{median(s), quantile(s, 0.1), quantile(s, 0.9), s};
  };
  Figures f{times(0), ratioOf(a.samples[0], a.samples[1])};
  if (a.samples.size() < 3) return f;
  f.rewritten = times(2);
  f.ratio = ratioOf(a.samples[0], a.samples[2]);
  f.difference = a.maxAbs > 0 ? a.maxAbsDiff[2] / a.maxAbs : a.maxAbsDiff[2];
  return f;
}

}  // namespace pet::bench
