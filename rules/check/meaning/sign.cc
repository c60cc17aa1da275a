#include <algorithm>

#include "rules/check/meaning/sum.h"

namespace pet::check {
namespace {

bool isNotNegative(const Meaning& meaning, const Factor& f) {
  if (f.kind == Factor::Kind::kConstant) return isPositive(f);
  return f.kind == Factor::Kind::kApplication && meaning.applications[static_cast<size_t>(f.number)].sign != Sign::kAny;
}

/// Factors of any sign stand there an even number of times.
bool isNotNegative(const Meaning& meaning, const Piece& piece) {
  if (piece.coefficient.over < 0) return false;
  std::vector<Factor> unpaired;
  for (const Factor& f : piece.factors) {
    if (isNotNegative(meaning, f)) continue;
    auto square = std::find(unpaired.begin(), unpaired.end(), f);
    if (square == unpaired.end()) {
      unpaired.push_back(f);
    } else {
      unpaired.erase(square);
    }
  }
  return unpaired.empty();
}

}  // namespace

bool isNotNegative(const Meaning& meaning, const Sum& sum) {
  return sum.isFinite() &&
         std::all_of(sum.pieces.begin(), sum.pieces.end(), [&](const Piece& p) { return isNotNegative(meaning, p); });
}

}  // namespace pet::check
