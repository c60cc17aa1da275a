#include "ir/ops/power.h"

#include <cmath>

#include <fmt/format.h>

#include "ir/ops/operator_writer.h"

namespace pet {

bool isQuarterPower(double exponent) {
  return exponent != 0 && std::abs(exponent) <= 4 && std::trunc(4 * exponent) == 4 * exponent;
}

/// A factor for each binary digit of the exponent's magnitude, the largest first: x^4, x^2, x, its root, the root's
/// root.
Expected<Value> addPower(ProgramBuilder& builder, Value x, double exponent) {
  if (!isQuarterPower(exponent)) return fail(ErrorKind::kUnsupported, fmt::format("the exponent {}", exponent));
  const int quarters = static_cast<int>(4 * std::abs(exponent));
  OperatorWriter step(builder);
  std::vector<Value> factors;
  auto digit = [&](int value, Value power) {
    if ((quarters & value) != 0) factors.push_back(power);
  };
  if (quarters >= 8) {
    const Value square = step("Mul", {x, x});
    if (quarters >= 16) digit(16, step("Mul", {square, square}));
    digit(8, square);
  }
  digit(4, x);
  if ((quarters & 3) != 0) {
    const Value root = step("Sqrt", {x});
    digit(2, root);
    if ((quarters & 1) != 0) digit(1, step("Sqrt", {root}));
  }
  Value result = factors[0];
  for (size_t i = 1; i < factors.size(); ++i)
    result = step("Mul", {result, factors[i]});
  return step.result(exponent < 0 ? step("Reciprocal", {result}) : result);
}

}  // namespace pet
