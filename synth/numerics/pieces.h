#pragma once

#include <optional>

#include "ir/denote.h"

namespace pet {

/// The meaning of one value; nullopt where it has none.
std::optional<Denotation> denotationOf(const Program& program, Value value);

/// A constant that is a plain number, whatever its position: 1e30 is no coefficient that can be kept exactly.
std::optional<double> numberOf(const Factor& factor);

/// The absolute value of the coefficient, times that of the factors that are plain numbers.
double magnitudeOf(const Piece& piece);

}  // namespace pet
