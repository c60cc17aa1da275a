#include "rules/gain/seconds.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pet {
namespace {

constexpr size_t kTerms = 3;
constexpr double kPull = 0.5;  ///< towards the slopes that are expected: of so many points an e-fold away
constexpr std::array<double, kTerms> kExpected{1, 0, 0};

std::array<double, kTerms> logsOf(const Figures& f) {
  auto log = [](double x) { return std::log(std::max(1.0, x)); };
  return {log(f.work), log(f.input + f.output), log(f.weights)};
}

/// Solves a symmetric, positive definite system in place.
std::array<double, kTerms> solve(std::array<std::array<double, kTerms>, kTerms> a, std::array<double, kTerms> b) {
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = i + 1; j < kTerms; ++j) {
      double factor = a[j][i] / a[i][i];
      for (size_t k = i; k < kTerms; ++k)
        a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = kTerms; i-- > 0;) {
    for (size_t k = i + 1; k < kTerms; ++k)
      b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

}  // namespace

SecondsFit SecondsFit::of(const std::vector<Point>& points) {
  SecondsFit fit;
  fit.points_ = points.size();
  if (points.empty()) return fit;
  double n = static_cast<double>(points.size());
  for (const Point& p : points) {
    auto x = logsOf(p.figures);
    for (size_t t = 0; t < kTerms; ++t)
      fit.mean_[t] += x[t] / n;
    fit.constant_ += std::log(p.seconds) / n;
  }
  // What the expected slopes leave, around the means.
  std::array<std::array<double, kTerms>, kTerms> a{};
  std::array<double, kTerms> b{};
  for (const Point& p : points) {
    auto x = logsOf(p.figures);
    double rest = std::log(p.seconds) - fit.constant_;
    for (size_t t = 0; t < kTerms; ++t) {
      x[t] -= fit.mean_[t];
      rest -= kExpected[t] * x[t];
    }
    for (size_t i = 0; i < kTerms; ++i) {
      b[i] += x[i] * rest;
      for (size_t j = 0; j < kTerms; ++j)
        a[i][j] += x[i] * x[j];
    }
  }
  for (size_t i = 0; i < kTerms; ++i)
    a[i][i] += kPull;
  auto beyond = solve(a, b);
  for (size_t t = 0; t < kTerms; ++t)
    fit.slope_[t] = kExpected[t] + beyond[t];
  return fit;
}

double SecondsFit::at(const Figures& figures) const {
  if (points_ == 0) return 0;
  auto x = logsOf(figures);
  double log = constant_;
  for (size_t t = 0; t < kTerms; ++t)
    log += slope_[t] * (x[t] - mean_[t]);
  // An extrapolation that leaves what a clock can show is none.
  return std::exp(std::clamp(log, std::log(1e-9), std::log(1e6)));
}

}  // namespace pet
