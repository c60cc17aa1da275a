#include "runtime/plan/interpolation.h"

#include <algorithm>

namespace pet::plan {
namespace {

struct WeighedTap {
  int64_t position;
  float weight;
};

/// As many for each position of the result: one that is missing has half of the first one's weight, which is exact, and
/// no zero, which would make NaN of what is not finite.
void fillUp(std::vector<WeighedTap>& taps, size_t count) {
  while (taps.size() < count) {
    taps.front().weight /= 2;
    taps.push_back(taps.front());
  }
}

}  // namespace

ResizeAxis resizeAxisOf(const Planner& p, int n, size_t d) {
  const Node& node = p.node(n);
  const int64_t x = p.extents(node.operands[0])[d], y = p.extents({n, 0})[d];
  const Extents scales = p.list(n, "scales");
  const int64_t numerator = scales.empty() ? y : scales[2 * d], denominator = scales.empty() ? x : scales[2 * d + 1];
  return {
      node.text("mode"), node.text("nearest_mode"),
      asRational(node.number("cubic_coeff_a")).value_or(Rational{}),  // where it counts the shape rule has checked it
      resizeLine(node.text("coordinate_transformation_mode"), x, y, numerator, denominator), x};
}

std::optional<InterpolationTaps> interpolationTaps(const Planner& p, int n, size_t d) {
  const ResizeAxis axis = resizeAxisOf(p, n, d);
  const int64_t y = p.extents({n, 0})[d];
  if (axis.line.isIdentity() && axis.extent == y) return std::nullopt;
  std::vector<std::vector<WeighedTap>> all;
  size_t count = 0;
  try {
    for (int64_t i = 0; i < y; ++i) {
      all.emplace_back();
      for (const ResizeTap& tap : resizeTaps(axis, i))
        all.back().push_back({tap.position, static_cast<float>(static_cast<double>(tap.weight.numerator) /
                                                               static_cast<double>(tap.weight.denominator))});
      count = std::max(count, all.back().size());
    }
  } catch (const OverflowError&) {
    throw NotLowered{"weights that are no small fractions"};
  }
  InterpolationTaps taps;
  for (auto& of : all)
    fillUp(of, count);
  for (size_t t = 0; t < count; ++t) {
    taps.positions.emplace_back();
    taps.weights.emplace_back();
    for (const auto& of : all) {
      taps.positions.back().push_back(of[t].position);
      taps.weights.back().push_back(of[t].weight);
    }
  }
  return taps;
}

}  // namespace pet::plan
