#pragma once

#include <vector>

#include "rules/gain/figures.h"

namespace pet {

/// The seconds of one run, in terms of a program's figures:
///
///     log s = a + b·log work + c·log (input + output) + d·log weights.
///
/// Least squares, regularised slightly towards b = 1, c = d = 0, so that one point is enough: from there, seconds are
/// proportional to work.
class SecondsFit {
 public:
  struct Point {
    Figures figures;
    double seconds = 0;  ///< > 0
  };
  SecondsFit() = default;
  static SecondsFit of(const std::vector<Point>& points);

  bool empty() const { return points_ == 0; }
  /// > 0; 0 if there were no points.
  double at(const Figures& figures) const;

 private:
  static constexpr int kTerms = 3;
  double constant_ = 0;
  double slope_[kTerms] = {1, 0, 0};
  double mean_[kTerms] = {0, 0, 0};
  size_t points_ = 0;
};

}  // namespace pet
