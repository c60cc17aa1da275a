#pragma once

#include <string>
#include <vector>

namespace pet {

/// A number that a tree may split by: a symbol's value, or a figure of a program.
struct Feature {
  std::string name;
  bool whole = true;  ///< an integer: "F >= 5" says the same as "F > 4"
};

/// A case: one value for each feature, each >= 0, and the measured ratio.
struct TreeCase {
  std::vector<double> at;
  double value = 0;  ///< the logarithm of a ratio
  double noise = 0;  ///< error bound of the value, >= 0
};

/// A tree's prediction for a case, from the cases of one leaf.
struct TreeGuess {
  double value = 0;          ///< their median
  double low = 0, high = 0;  ///< the least and the greatest of them
  double floor = 0;          ///< lower bound for a case like these: see RatioTree
  double noise = 0;          ///< the median of theirs
  size_t cases = 0;
};

/// The number of turns in which cases are left out, case i in turn i mod turns: each case by itself, or, if there are
/// many, in some groups, so that the work is proportional to their number.
inline size_t turnsToLeaveOut(size_t cases) {
  constexpr size_t kMostAlone = 32, kGroups = 16;
  return cases <= kMostAlone ? cases : kGroups;
}

/// A regression tree that people can read: at most three questions deep, thresholds half-way (geometrically) between
/// cases and round. A split is the one that leaves the least squared error; values are logarithms of ratios, clamped to
/// a half and four. Leaving out each case once (turnsToLeaveOut) decides the depth: the shallowest tree whose mean
/// error is within a twentieth of the least. Between the last case below a threshold and the next one above it, the
/// prediction is interpolated.
///
/// `floor` of a leaf: of a few cases the least value; of eight and more one in eight may stay below. The mean error
/// divided by the number of cases in the leaf is subtracted. It is at most the median less the noise over that number's
/// root.
class RatioTree {
 public:
  RatioTree() = default;
  /// The same for the same cases in any order. Cases that are not of `features`' size, or have a value that is not
  /// finite, are left out.
  static RatioTree grow(const std::vector<Feature>& features, std::vector<TreeCase> cases);

  bool empty() const { return nodes_.empty(); }
  TreeGuess guess(const std::vector<double>& at) const;
  /// The mean of |value - guess| when each case was left out; of a single case: 0.4, a factor of 1.5.
  double error() const { return error_; }
  int depth() const { return depth_; }

  /// A leaf and the questions that lead there: "F <= 4 and R >= 5", "always" where there are none.
  struct Leaf {
    std::string when;
    TreeGuess guess;
  };
  std::vector<Leaf> leaves() const;

 private:
  struct Node {
    int feature = -1;                          ///< -1: a leaf
    double threshold = 0, last = 0, next = 0;  ///< and the cases' values on either side
    int below = -1, above = -1;                ///< children: at[feature] <= threshold, and the rest
    TreeGuess guess;
  };
  struct Grower;

  std::vector<Feature> features_;
  std::vector<Node> nodes_;  ///< the root comes first
  double error_ = 0;
  int depth_ = 0;
};

/// The part of a ratio's logarithm that decisions depend on: a loss is a loss, and a factor of four is enough.
double telling(double logRatio);

/// A round number in [low, high), as close to their geometric mean as it can be; for whole numbers an integer.
double roundBetween(double low, double high, bool whole);

/// "4", "12000", "1.5e+08".
std::string plainNumber(double value);

}  // namespace pet
