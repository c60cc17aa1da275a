#include "rules/gain/tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/quantile.h"

namespace pet {
namespace {

constexpr int kMaxDepth = 3;
constexpr size_t kLeastLeaf = 2;          ///< cases of a leaf
constexpr size_t kExceptions = 8;         ///< one case of so many may stay below a leaf's floor
constexpr double kWorthADepth = 0.95;     ///< a deeper tree's error is at most so much of a shallower one's
constexpr double kWorthALaterOne = 1.02;  ///< what a later feature's split must be better by: symbols come first
constexpr double kErrorOfOne = 0.4;

bool isFinite(const TreeCase& c) {
  return std::isfinite(c.value) && std::isfinite(c.noise) && c.noise >= 0 &&
         std::all_of(c.at.begin(), c.at.end(), [](double x) { return std::isfinite(x) && x >= 0; });
}

/// A question, and what it is worth.
struct Split {
  int feature = -1;
  double below = 0, above = 0;  ///< neighbouring values of the feature, on either side of the threshold
  double gain = 0;              ///< squared error that goes away
};

}  // namespace

double telling(double logRatio) {
  return std::clamp(logRatio, std::log(0.5), std::log(4));
}

double roundBetween(double low, double high, bool whole) {
  double middle = std::sqrt((low + 1) * (high + 1)) - 1;
  double best = low, bestDistance = std::numeric_limits<double>::infinity();
  auto consider = [&](double candidate) {
    bool inside = low <= candidate && candidate < high && (!whole || candidate == std::floor(candidate));
    double distance = std::abs(std::log((candidate + 1) / (middle + 1)));
    if (inside && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  };
  // Round: few digits, or a power of two.
  for (int exponent = -3; exponent < 19; ++exponent) {
    for (double digits : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0})
      consider(digits * std::pow(10.0, exponent));
  }
  for (int exponent = 0; exponent < 20; ++exponent)
    consider(std::ldexp(1, exponent));
  consider(0);
  if (std::isfinite(bestDistance)) return best;
  return whole ? std::floor(std::max(low, middle)) : std::max(low, middle);
}

std::string plainNumber(double value) {
  if (value < 1e5 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

// --- Growing ---

struct RatioTree::Grower {
  using Range = std::vector<size_t>;  // cases, ascending
  const std::vector<Feature>& features;
  const std::vector<TreeCase>& cases;
  std::vector<Range> orders = {};  ///< all cases by each feature; empty where they do not differ
  int maxDepth = kMaxDepth;
  std::vector<Node> nodes = {};

  Grower(const std::vector<Feature>& f, const std::vector<TreeCase>& c) : features(f), cases(c) {
    for (size_t feature = 0; feature < f.size(); ++feature) {
      Range order(c.size());
      std::iota(order.begin(), order.end(), size_t{0});
      auto before = [&](size_t a, size_t b) { return c[a].at[feature] < c[b].at[feature]; };
      std::stable_sort(order.begin(), order.end(), before);
      if (order.empty() || !before(order.front(), order.back())) order.clear();
      orders.push_back(std::move(order));
    }
  }

  std::vector<Node> grow(const Range& range, int depth) {
    maxDepth = depth;
    nodes.clear();
    add(range, 0);
    return std::move(nodes);
  }

  /// The best question about one feature, from running sums over the cases in its order.
  Split bestOf(size_t feature, const std::vector<char>& within, size_t count, double all) const {
    Split best{static_cast<int>(feature)};
    double left = 0, n = static_cast<double>(count), last = 0;
    size_t i = 0;  // cases on the left
    for (size_t c : orders[feature]) {
      if (!within[c]) continue;
      double here = cases[c].at[feature];
      if (i >= kLeastLeaf && count - i >= kLeastLeaf && last < here) {
        // Σ (x - mean)² = Σ x² - (Σ x)² / n, where Σ x² is the same on both sides.
        double k = static_cast<double>(i), right = all - left;
        double gain = left * left / k + right * right / (n - k) - all * all / n;
        if (gain > best.gain * (1 + 1e-9) + 1e-12) {
          best.gain = gain;
          best.below = last;
          best.above = here;
        }
      }
      left += telling(cases[c].value);
      last = here;
      ++i;
    }
    return best;
  }

  Split bestSplit(const Range& range) const {
    std::vector<char> within(cases.size(), 0);
    double all = 0;
    for (size_t c : range) {
      within[c] = 1;
      all += telling(cases[c].value);
    }
    Split best;
    for (size_t f = 0; f < features.size(); ++f) {
      if (orders[f].empty()) continue;
      Split split = bestOf(f, within, range.size(), all);
      if (split.gain > best.gain * kWorthALaterOne) best = split;
    }
    return best;
  }

  TreeGuess summary(const Range& range) const {
    std::vector<double> values, noise;
    for (size_t c : range) {
      values.push_back(cases[c].value);
      noise.push_back(cases[c].noise);
    }
    std::sort(values.begin(), values.end());
    return {.value = median(values),
            .low = values.front(),
            .high = values.back(),
            .floor = values[values.size() / kExceptions],
            .noise = median(noise),
            .cases = range.size()};
  }

  int add(const Range& range, int depth) {
    int index = static_cast<int>(nodes.size());
    nodes.push_back({.guess = summary(range)});
    Split split = depth < maxDepth && range.size() >= 2 * kLeastLeaf ? bestSplit(range) : Split{};
    if (split.feature < 0 || split.gain <= 0) return index;
    auto feature = static_cast<size_t>(split.feature);
    Range below, above;
    for (size_t c : range)
      (cases[c].at[feature] <= split.below ? below : above).push_back(c);
    int left = add(below, depth + 1), right = add(above, depth + 1);
    Node& node = nodes[static_cast<size_t>(index)];
    node.feature = split.feature;
    node.last = split.below;
    node.next = split.above;
    node.below = left;
    node.above = right;
    return index;
  }

  /// The guess of the tree that is cut off at a depth. Between the cases on either side of a threshold, one side goes
  /// over into the other.
  static TreeGuess guessAt(const std::vector<Node>& tree, const std::vector<double>& at, int depth, int index = 0) {
    const Node& node = tree[static_cast<size_t>(index)];
    if (depth == 0 || node.feature < 0) return node.guess;
    double share = std::log((at[static_cast<size_t>(node.feature)] + 1) / (node.last + 1)) /
                   std::log((node.next + 1) / (node.last + 1));
    if (share <= 0) return guessAt(tree, at, depth - 1, node.below);
    if (share >= 1) return guessAt(tree, at, depth - 1, node.above);
    return between(guessAt(tree, at, depth - 1, node.below), guessAt(tree, at, depth - 1, node.above), share);
  }

  static TreeGuess between(const TreeGuess& a, const TreeGuess& b, double share) {
    auto mix = [&](double x, double y) { return (1 - share) * x + share * y; };
    return {.value = mix(a.value, b.value),
            .low = std::min(a.low, b.low),
            .high = std::max(a.high, b.high),
            .floor = mix(a.floor, b.floor),
            .noise = std::max(a.noise, b.noise),
            .cases = a.cases + b.cases};
  }
};

RatioTree RatioTree::grow(const std::vector<Feature>& features, std::vector<TreeCase> cases) {
  std::erase_if(cases, [&](const TreeCase& c) { return c.at.size() != features.size() || !isFinite(c); });
  std::sort(cases.begin(), cases.end(), [](const TreeCase& a, const TreeCase& b) {
    return std::tie(a.at, a.value, a.noise) < std::tie(b.at, b.value, b.noise);
  });
  RatioTree tree;
  tree.features_ = features;
  if (cases.empty()) return tree;
  Grower grower(tree.features_, cases);
  Grower::Range all(cases.size());
  std::iota(all.begin(), all.end(), size_t{0});

  std::vector<double> errors(kMaxDepth + 1, 0);
  const size_t turns = turnsToLeaveOut(all.size());
  for (size_t turn = 0; turn < turns && all.size() > 1; ++turn) {
    Grower::Range rest = all;
    std::erase_if(rest, [&](size_t i) { return i % turns == turn; });
    auto nodes = grower.grow(rest, kMaxDepth);
    for (size_t out = turn; out < all.size(); out += turns) {
      for (int depth = 0; depth <= kMaxDepth; ++depth) {
        double guess = Grower::guessAt(nodes, cases[out].at, depth).value;
        errors[static_cast<size_t>(depth)] += std::abs(telling(guess) - telling(cases[out].value));
      }
    }
  }
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    if (errors[static_cast<size_t>(depth)] < kWorthADepth * errors[static_cast<size_t>(tree.depth_)])
      tree.depth_ = depth;
  }
  tree.error_ =
      all.size() > 1 ? errors[static_cast<size_t>(tree.depth_)] / static_cast<double>(all.size()) : kErrorOfOne;
  tree.nodes_ = grower.grow(all, tree.depth_);
  for (Node& node : tree.nodes_) {
    if (node.feature >= 0)
      node.threshold = roundBetween(node.last, node.next, features[static_cast<size_t>(node.feature)].whole);
    TreeGuess& g = node.guess;
    double n = static_cast<double>(g.cases);
    g.floor = std::min(g.floor - tree.error_ / n, g.value - g.noise / std::sqrt(n));
  }
  return tree;
}

TreeGuess RatioTree::guess(const std::vector<double>& at) const {
  if (nodes_.empty() || at.size() != features_.size()) return {};
  return Grower::guessAt(nodes_, at, kMaxDepth);
}

// --- Words ---

namespace {

/// What a path's questions leave of a feature's values: above `from`, up to `to`.
struct Interval {
  std::optional<double> from, to;
};

constexpr double kSmall = 16;

std::string words(const Feature& feature, const Interval& i) {
  // Small integers read best with the bound itself.
  bool exact = feature.whole && i.from && *i.from < kSmall;
  std::string from = i.from ? plainNumber(exact ? *i.from + 1 : *i.from) : "", to = i.to ? plainNumber(*i.to) : "";
  if (exact && i.to && *i.from + 1 == *i.to) return fmt::format("{} = {}", feature.name, to);
  if (i.from && i.to) return fmt::format("{} {} {} <= {}", from, exact ? "<=" : "<", feature.name, to);
  return i.from ? fmt::format("{} {} {}", feature.name, exact ? ">=" : ">", from)
                : fmt::format("{} <= {}", feature.name, to);
}

}  // namespace

std::vector<RatioTree::Leaf> RatioTree::leaves() const {
  std::vector<Leaf> result;
  auto visit = [&](auto& self, int index, std::vector<Interval> where) -> void {
    const Node& node = nodes_[static_cast<size_t>(index)];
    if (node.feature >= 0) {
      auto f = static_cast<size_t>(node.feature);
      std::vector<Interval> other = where;
      where[f].to = node.threshold;  // deeper questions about a feature are the narrower ones
      other[f].from = node.threshold;
      self(self, node.below, std::move(where));
      self(self, node.above, std::move(other));
      return;
    }
    std::vector<std::string> parts;
    for (size_t f = 0; f < features_.size(); ++f) {
      if (where[f].from || where[f].to) parts.push_back(words(features_[f], where[f]));
    }
    result.push_back({parts.empty() ? "always" : fmt::format("{}", fmt::join(parts, " and ")), node.guess});
  };
  if (!nodes_.empty()) visit(visit, 0, std::vector<Interval>(features_.size()));
  return result;
}

}  // namespace pet
