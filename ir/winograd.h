#pragma once

#include <vector>

#include "ir/ops/op.h"

namespace pet {

/// A matrix of fractions.
struct RationalMatrix {
  int rows = 0, columns = 0;
  std::vector<Rational> entries;  ///< row-major

  RationalMatrix(int r, int c) : rows(r), columns(c), entries(static_cast<size_t>(r * c), Rational{0, 1}) {}
  Rational& at(int r, int c) { return entries[static_cast<size_t>(r * columns + c)]; }
  const Rational& at(int r, int c) const { return entries[static_cast<size_t>(r * columns + c)]; }
};

/// Winograd's F(m, r): Σ_k d[i + k] · g[k] for i < m, r taps, by m + r - 1 products:
///
///     y = output · ((kernel · g) ⊙ (input · d)),   output: m × n, kernel: n × r, input: n × n, n = m + r - 1.
///
/// (Usually written A^T, G and B^T.)
struct Winograd {
  RationalMatrix output, kernel, input;
};

/// From n - 1 different interpolation points; the last one is infinity. The input's matrix is whole where the points
/// are, the kernel's has the denominators. Points are taken from 0, 1, -1, 2, -2, 1/2, -1/2, 3, … where none are given.
/// Errors: m or r < 1, too few points, a point twice. Throws OverflowError.
Expected<Winograd> winograd(int m, int r, std::vector<Rational> points = {});

/// The attributes of the Table that is this matrix.
Attributes tableOf(const RationalMatrix& matrix);

}  // namespace pet
