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

/// A tree of some of the cases, which asks its questions when they are needed: to leave a case out, those on its way.
struct RatioTree::Grower {
  using Cases = std::vector<uint32_t>;
  /// What cases are sorted by.
  struct Column {
    int feature = -1;            ///< -1: none, their values or noise
    std::vector<double> values;  ///< of all cases
    Cases all;                   ///< all cases, ascending by their values
    Cases here = {};             ///< those of the tree; those of a node are neighbours
  };
  /// The cases of a node in each column.
  struct Part {
    size_t begin = 0, end = 0;
    int depth = 0;
    bool isAsked = false;

    size_t size() const { return end - begin; }
  };

  std::vector<Column> columns = {};  ///< features in which cases differ, then their values, then their noise
  std::vector<double> tellings = {};
  std::vector<Node> nodes = {};
  std::vector<Part> parts = {};  ///< of the nodes
  int maxDepth = kMaxDepth;
  Cases scratch = {};

  Grower(size_t features, const std::vector<TreeCase>& cases) {
    for (size_t f = 0; f < features; ++f) {
      Column column = columnOf(cases, [f](const TreeCase& c) { return c.at[f]; });
      column.feature = static_cast<int>(f);
      if (column.values[column.all.front()] < column.values[column.all.back()]) columns.push_back(std::move(column));
    }
    columns.push_back(columnOf(cases, [](const TreeCase& c) { return c.value; }));
    columns.push_back(columnOf(cases, [](const TreeCase& c) { return c.noise; }));
    for (const TreeCase& c : cases)
      tellings.push_back(telling(c.value));
  }

  template <class ValueOf>
  static Column columnOf(const std::vector<TreeCase>& cases, ValueOf valueOf) {
    Column column;
    for (const TreeCase& c : cases)
      column.values.push_back(valueOf(c));
    column.all.resize(cases.size());
    std::iota(column.all.begin(), column.all.end(), uint32_t{0});
    std::stable_sort(column.all.begin(), column.all.end(),
                     [&](uint32_t a, uint32_t b) { return column.values[a] < column.values[b]; });
    return column;
  }

  /// A tree of nothing but its root.
  template <class IsIn>
  void plant(int depth, IsIn isIn) {
    maxDepth = depth;
    nodes.clear();
    parts.clear();
    for (Column& column : columns) {
      column.here.clear();
      std::copy_if(column.all.begin(), column.all.end(), std::back_inserter(column.here), isIn);
    }
    add({.begin = 0, .end = columns.front().here.size()});
  }

  int add(const Part& part) {
    parts.push_back(part);
    nodes.push_back({.guess = summary(part)});
    return static_cast<int>(nodes.size()) - 1;
  }

  TreeGuess summary(const Part& part) const {
    const Column &values = columns[columns.size() - 2], &noise = columns.back();
    auto at = [&](const Column& column, size_t i) { return column.values[column.here[part.begin + i]]; };
    const size_t half = part.size() / 2, other = (part.size() - 1) / 2;
    return {.value = (at(values, half) + at(values, other)) / 2,
            .low = at(values, 0),
            .high = at(values, part.size() - 1),
            .floor = at(values, part.size() / kExceptions),
            .noise = (at(noise, half) + at(noise, other)) / 2,
            .cases = part.size()};
  }

  /// The best question about one feature, from running sums over the cases in its order.
  Split bestOf(const Column& column, const Part& part, double all) const {
    Split best{column.feature};
    const double n = static_cast<double>(part.size()), without = all * all / n;
    double left = 0, last = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      const uint32_t c = column.here[part.begin + i];
      const double here = column.values[c];
      if (i >= kLeastLeaf && part.size() - i >= kLeastLeaf && last < here) {
        // Σ (x - mean)² = Σ x² - (Σ x)² / n, where Σ x² is the same on both sides.
        double k = static_cast<double>(i), right = all - left;
        double gain = left * left / k + right * right / (n - k) - without;
        if (gain > best.gain * (1 + 1e-9) + 1e-12) {
          best.gain = gain;
          best.below = last;
          best.above = here;
        }
      }
      left += tellings[c];
      last = here;
    }
    return best;
  }

  Split bestSplit(const Part& part) const {
    double all = 0;
    const Cases& any = columns.back().here;
    for (size_t i = part.begin; i < part.end; ++i)
      all += tellings[any[i]];
    Split best;
    for (const Column& column : columns) {
      if (column.feature < 0) continue;
      Split split = bestOf(column, part, all);
      if (split.gain > best.gain * kWorthALaterOne) best = split;
    }
    return best;
  }

  /// Those below in front, in each column; their number.
  size_t divide(const Part& part, const Split& split) {
    auto asked =
        std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.feature == split.feature; });
    const std::vector<double>& values = asked->values;
    size_t below = 0;
    for (Column& column : columns) {
      scratch.clear();
      size_t to = part.begin;
      for (size_t i = part.begin; i < part.end; ++i) {
        const uint32_t c = column.here[i];
        if (values[c] <= split.below)
          column.here[to++] = c;
        else
          scratch.push_back(c);
      }
      std::copy(scratch.begin(), scratch.end(), column.here.begin() + static_cast<ptrdiff_t>(to));
      below = to - part.begin;
    }
    return below;
  }

  /// Asks the best question at a node, if it was not asked yet. Whether there is any.
  bool ask(int index) {
    const Part part = parts[static_cast<size_t>(index)];
    if (part.isAsked) return nodes[static_cast<size_t>(index)].feature >= 0;
    parts[static_cast<size_t>(index)].isAsked = true;
    Split split = part.depth < maxDepth && part.size() >= 2 * kLeastLeaf ? bestSplit(part) : Split{};
    if (split.feature < 0 || split.gain <= 0) return false;
    const size_t middle = part.begin + divide(part, split);
    const int below = add({.begin = part.begin, .end = middle, .depth = part.depth + 1});
    const int above = add({.begin = middle, .end = part.end, .depth = part.depth + 1});
    Node& node = nodes[static_cast<size_t>(index)];
    node.feature = split.feature;
    node.last = split.below;
    node.next = split.above;
    node.below = below;
    node.above = above;
    return true;
  }

  void askAll(int index = 0) {
    if (!ask(index)) return;
    const Node node = nodes[static_cast<size_t>(index)];
    askAll(node.below);
    askAll(node.above);
  }

  /// Asks what a case's guess depends on.
  void askFor(const std::vector<double>& at, int index = 0) {
    if (!ask(index)) return;
    const Node node = nodes[static_cast<size_t>(index)];
    const double share = shareAbove(node, at);
    if (share < 1) askFor(at, node.below);
    if (share > 0) askFor(at, node.above);
  }

  /// Between the cases on either side of a threshold, one side goes over into the other: 0 and less below, 1 and more
  /// above.
  static double shareAbove(const Node& node, const std::vector<double>& at) {
    return std::log((at[static_cast<size_t>(node.feature)] + 1) / (node.last + 1)) /
           std::log((node.next + 1) / (node.last + 1));
  }

  /// The guess of the tree that is cut off at a depth.
  static TreeGuess guessAt(const std::vector<Node>& tree, const std::vector<double>& at, int depth, int index = 0) {
    const Node& node = tree[static_cast<size_t>(index)];
    if (depth == 0 || node.feature < 0) return node.guess;
    const double share = shareAbove(node, at);
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
  Grower grower(features.size(), cases);

  std::vector<double> errors(kMaxDepth + 1, 0);
  const size_t turns = turnsToLeaveOut(cases.size());
  for (size_t turn = 0; turn < turns && cases.size() > 1; ++turn) {
    grower.plant(kMaxDepth, [&](uint32_t c) { return c % turns != turn; });
    for (size_t out = turn; out < cases.size(); out += turns) {
      grower.askFor(cases[out].at);
      for (int depth = 0; depth <= kMaxDepth; ++depth) {
        double guess = Grower::guessAt(grower.nodes, cases[out].at, depth).value;
        errors[static_cast<size_t>(depth)] += std::abs(telling(guess) - telling(cases[out].value));
      }
    }
  }
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    if (errors[static_cast<size_t>(depth)] < kWorthADepth * errors[static_cast<size_t>(tree.depth_)])
      tree.depth_ = depth;
  }
  tree.error_ =
      cases.size() > 1 ? errors[static_cast<size_t>(tree.depth_)] / static_cast<double>(cases.size()) : kErrorOfOne;
  grower.plant(tree.depth_, [](uint32_t) { return true; });
  grower.askAll();
  tree.nodes_ = std::move(grower.nodes);
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
