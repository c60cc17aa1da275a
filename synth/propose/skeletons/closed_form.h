#pragma once

#include <tl/expected.hpp>

#include "synth/poly/poly.h"
#include "synth/propose/skeletons/weight_sum.h"

namespace pet {

/// A weight and the extents of its digits.
struct WeightDigits {
  std::string input;
  std::vector<Expr> extents;
};

/// A relation from slots (over `slot`'s axes) to the digits of the weights, one after the other, as terms: a digit is a
/// function of the slot and of the digits before it, or an axis that is summed. The error says what has no such form.
tl::expected<std::vector<WeightTerm>, std::string> closedForm(const poly::Context& context,
                                                              const std::vector<LayoutAxis>& slot,
                                                              const poly::Map& relation,
                                                              const Rational& coefficient,
                                                              const std::vector<WeightDigits>& weights);

}  // namespace pet
