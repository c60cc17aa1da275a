#pragma once

#include <map>

#include "rules/check/bijection.h"

namespace pet::check {

/// The known signs of one program's sums, each computed once.
class Signs {
 public:
  explicit Signs(const Side& side) : side_(side) {}

  bool isNotNegative(int sum) const { return check::isNotNegative(side_.meaning, side_.sum(sum)); }
  /// A condition on the sum's index under which it is > 0: no term is negative, and one is positive.
  const Formula& isPositive(int sum);

 private:
  const Side& side_;
  std::map<int, Formula> positive_;

  Formula isPositive(const Factor& f);
  Formula isPositive(const Piece& piece);
};

}  // namespace pet::check
