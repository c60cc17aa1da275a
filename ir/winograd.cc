// The Toom-Cook algorithm, transposed. Polynomials of degree < m and < r are multiplied by their values at n points:
//
//     s = V^-1 · ((V_r g) ⊙ (V_m y)),   V[i, j] = p_i^j, and for infinity the leading coefficient alone,
//
// which is linear in y; its transpose is the sum over sliding windows: output = V_m^T, kernel = V_r, input = (V^-1)^T.
// Row i of (V^-1)^T holds the coefficients of Π_{j≠i} (x - p_j) / Π_{j≠i} (p_i - p_j); the divisor goes to the kernel.

#include "ir/winograd.h"

#include <fmt/format.h>

namespace pet {
namespace {

Rational negated(Rational a) {
  return {-a.numerator, a.denominator};
}

/// For a != 0.
Rational inverse(Rational a) {
  return a.numerator < 0 ? Rational{-a.denominator, -a.numerator} : Rational{a.denominator, a.numerator};
}

/// 0, 1, -1, 2, -2, 1/2, -1/2, 3, -3, 1/3, -1/3, …
std::vector<Rational> defaultPoints(size_t count) {
  std::vector<Rational> points{{0, 1}, {1, 1}, {-1, 1}};
  for (int64_t k = 2; points.size() < count; ++k)
    points.insert(points.end(), {{k, 1}, {-k, 1}, {1, k}, {-1, k}});
  points.resize(count);
  return points;
}

/// V[i, j] = p_i^j for j < columns; the last row is that of infinity.
RationalMatrix values(const std::vector<Rational>& points, int columns) {
  auto n = static_cast<int>(points.size()) + 1;
  RationalMatrix v(n, columns);
  for (int i = 0; i + 1 < n; ++i) {
    Rational power{1, 1};
    for (int j = 0; j < columns; ++j, power = power * points[static_cast<size_t>(i)])
      v.at(i, j) = power;
  }
  v.at(n - 1, columns - 1) = {1, 1};
  return v;
}

/// The coefficients of Π (x - p) over all points but one (none: -1).
std::vector<Rational> productWithout(const std::vector<Rational>& points, int without) {
  std::vector<Rational> product{{1, 1}};
  for (int j = 0; j < static_cast<int>(points.size()); ++j) {
    if (j == without) continue;
    std::vector<Rational> next(product.size() + 1, Rational{0, 1});
    for (size_t k = 0; k < product.size(); ++k) {
      next[k + 1] = next[k + 1] + product[k];
      next[k] = next[k] + product[k] * negated(points[static_cast<size_t>(j)]);
    }
    product = std::move(next);
  }
  return product;
}

}  // namespace

Expected<Winograd> winograd(int m, int r, std::vector<Rational> points) {
  if (m < 1 || r < 1) return fail(ErrorKind::kUsage, fmt::format("F({}, {}) has no meaning", m, r));
  int n = m + r - 1;
  if (points.empty()) points = defaultPoints(static_cast<size_t>(n - 1));
  if (static_cast<int>(points.size()) != n - 1) {
    return fail(ErrorKind::kUsage, fmt::format("F({}, {}) needs {} points, got {}", m, r, n - 1, points.size()));
  }
  RationalMatrix evaluated = values(points, m), input(n, n);
  Winograd result{RationalMatrix(m, n), values(points, r), input};
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j)
      result.output.at(i, j) = evaluated.at(j, i);
  }
  for (int i = 0; i < n; ++i) {
    bool infinity = i + 1 == n;
    auto coefficients = productWithout(points, infinity ? -1 : i);
    for (size_t k = 0; k < coefficients.size(); ++k)
      result.input.at(i, static_cast<int>(k)) = coefficients[k];
    if (infinity) continue;
    Rational divisor{1, 1};
    for (int j = 0; j + 1 < n; ++j) {
      if (j == i) continue;
      divisor = divisor * (points[static_cast<size_t>(i)] + negated(points[static_cast<size_t>(j)]));
    }
    if (divisor.numerator == 0) return fail(ErrorKind::kUsage, fmt::format("F({}, {}): a point twice", m, r));
    for (int k = 0; k < r; ++k)
      result.kernel.at(i, k) = result.kernel.at(i, k) * inverse(divisor);
  }
  return result;
}

Attributes tableOf(const RationalMatrix& matrix) {
  int64_t denominator = 1;
  for (const Rational& e : matrix.entries)
    denominator = checkedMul(denominator, e.denominator / std::gcd(denominator, e.denominator));
  std::vector<Expr> values;
  for (const Rational& e : matrix.entries)
    values.emplace_back(checkedMul(e.numerator, denominator / e.denominator));
  return {{"shape", std::vector<Expr>{matrix.rows, matrix.columns}},
          {"values", std::move(values)},
          {"denominator", Expr(denominator)}};
}

}  // namespace pet
