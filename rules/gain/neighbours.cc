#include "rules/gain/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pet {
namespace {

constexpr double kFade = 4;         ///< a sample counts so many times less with each doubling
constexpr double kFallShare = 0.5;  ///< of what the roofline lets a ratio fall, so much came, as logarithms
constexpr double kDoubt = 0.05;     ///< of each doubling beyond kNear
constexpr double kOfOne = 2;        ///< doublings between an extent that is 1 and one that is not

}  // namespace

ShapePoint::ShapePoint(const Bindings& shapes) {
  for (const auto& [symbol, extent] : shapes) {
    symbols_ += symbol + ' ';
    logs_.push_back(std::log2(static_cast<double>(extent) + 1));
  }
  if (std::any_of(shapes.begin(), shapes.end(), [](const auto& s) { return s.second < 0; })) symbols_.clear();
}

double ShapePoint::doublingsTo(const ShapePoint& other) const {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kOne = 1;
  if (symbols_ != other.symbols_ || (symbols_.empty() && !logs_.empty())) return kNever;
  double sum = 0;
  for (size_t i = 0; i < logs_.size(); ++i) {
    if ((logs_[i] <= kOne) != (other.logs_[i] <= kOne)) sum += kOfOne;
    sum += std::abs(logs_[i] - other.logs_[i]);
  }
  return sum;
}

double doublingsBetween(const Bindings& a, const Bindings& b) {
  return ShapePoint(a).doublingsTo(ShapePoint(b));
}

double nearest(const std::vector<Neighbour>& neighbours) {
  auto isNearer = [](const Neighbour& a, const Neighbour& b) { return a.doublings < b.doublings; };
  return std::min_element(neighbours.begin(), neighbours.end(), isNearer)->doublings;
}

NearGuess corrected(const TreeGuess& tree, const std::vector<Neighbour>& neighbours) {
  if (neighbours.empty()) return {tree.value, tree.floor};
  double weights = 0, value = tree.value, floor = tree.floor, fall = 0;
  for (const Neighbour& n : neighbours) {
    const double weight = std::pow(kFade, 1 - n.doublings);
    weights += weight;
    value += weight * n.value;
    floor += weight * (n.value - n.noise);
    fall += weight * std::max(0.0, n.fall);
  }
  const double fallen = weights > 0 ? kFallShare * fall / weights : 0;
  const double closest = nearest(neighbours);
  NearGuess guess{.value = value / (1 + weights) - fallen,
                  .floor = floor / (1 + weights) - fallen - kDoubt * std::max(0.0, closest - kNear)};
  const bool isLossClosest = std::any_of(neighbours.begin(), neighbours.end(),
                                         [&](const Neighbour& n) { return n.doublings == closest && n.value < 0; });
  if (isLossClosest) guess.floor = std::min(guess.floor, 0.0);
  return guess;
}

}  // namespace pet
