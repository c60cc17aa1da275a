#pragma once

#include "ir/limits.h"
#include "ir/ops/op.h"

namespace pet {

/// An operator has more than kMostCases cases. Callers that do affine arithmetic must catch its base class anyway.
struct TooManyCases : OverflowError {
  const char* what() const noexcept override { return "a regrouping of dimensions with very many cases"; }
};

/// Throws TooManyCases where `cases`, each of which falls into `further`, are too many.
inline void requireFewCases(size_t cases, int64_t further) {
  if (further <= 0) return;
  if (further > static_cast<int64_t>(kMostCases) || cases * static_cast<size_t>(further) > kMostCases)
    throw TooManyCases();
}

/// The digits of some axes (or of their product), valid where the guards hold.
struct DigitCase {
  Index digits;
  std::vector<Constraint> guards;
};

/// Given the digits of Dim::product(axes), the digits of each axis. A number outside a symbolic factor, as in (2 W) =
/// 2W, makes one case per value, i = a·W + w with a fixed, and so does one that Dim::product moves to the first atom,
/// as in (N W 2) = (2N W); all else is one quasi-affine case. Throws TooManyCases.
std::vector<DigitCase> splitDigits(std::span<const Dim> axes, const std::vector<Expr>& digits);

/// The inverse: given the digits of each axis, the digits of Dim::product(axes) (the only entry of DigitCase::digits).
/// Throws TooManyCases.
std::vector<DigitCase> joinDigits(std::span<const Dim> axes, const Index& axisDigits);

/// d / g for a leading factor g: product({g, result}) = d. Nullopt where d has no such form.
std::optional<Dim> divideByOuter(const Dim& d, const Expr& g);
/// d / g for a trailing factor g: product({result, g}) = d.
std::optional<Dim> divideByInner(const Dim& d, const Expr& g);

}  // namespace pet
