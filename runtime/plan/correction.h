#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/planner.h"

// A whole whose parts are pieces of one larger value at the places where they belong, and others that take the place of
// what that value has there: a result that is right but for its border, which is computed once more. The whole is that
// value's memory, and only the other parts are written.
namespace pet::plan {

/// A Concat's parts along its axis.
struct Parts {
  size_t axis = 0;
  std::vector<std::vector<int64_t>> ranges;  ///< per operand: its positions in the whole
};
Parts partsOf(const Planner& p, int concat);

/// The whole around the largest part, if the other parts can be written there: nothing that is still to be read is
/// where they go. Asked when all parts have places.
std::optional<Place> correctedInPlace(Planner& p, int concat, const Parts& parts);

/// Where a result that is about to be computed can be written, so that the Concat that alone reads it finds it in
/// place: its part of the whole around the largest part, which is computed already. Neither does anything that is still
/// to be read lie there, nor do operands of what computes the result lie in that buffer.
std::optional<Place> correctionPlace(Planner& p, Value result);

/// That place, or a new one of this form: for lowerings that write to any place.
Place placeOfResult(Planner& p, Value result, const Access& form);

}  // namespace pet::plan
