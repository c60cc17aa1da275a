#include "ir/signs.h"

#include <algorithm>

namespace pet {
namespace {

bool isNonNegative(const Factor& factor, const std::vector<Application>& applications) {
  if (factor.kind == Factor::Kind::kConstant) return factor.positive;
  if (factor.kind == Factor::Kind::kInput) return false;
  const Facts& facts = applications[static_cast<size_t>(factor.number)].facts;
  return facts.positive || facts.nonNegative;
}

/// A product of numbers and values that are never negative, and of squares.
bool isNonNegative(const Piece& piece, const std::vector<Application>& applications) {
  if (piece.coefficient.numerator < 0) return false;
  std::vector<const Factor*> others;  // each once, for an odd power
  for (const Factor& f : piece.factors) {
    if (isNonNegative(f, applications)) continue;
    auto equal = std::find_if(others.begin(), others.end(), [&](const Factor* o) { return *o == f; });
    if (equal == others.end()) {
      others.push_back(&f);
    } else {
      others.erase(equal);
    }
  }
  return others.empty();
}

}  // namespace

bool isNonNegative(const Sum& sum, const std::vector<Application>& applications) {
  return sum.isFinite() && std::all_of(sum.pieces.begin(), sum.pieces.end(),
                                       [&](const Piece& p) { return isNonNegative(p, applications); });
}

}  // namespace pet
