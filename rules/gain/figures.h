#pragma once

#include "ir/program.h"

namespace pet {

inline constexpr double kElementBytes = 4;  ///< timings are of float

/// The figures that predict a program's cost at some shapes, in elements and operations.
struct Figures {
  double work = 0;     ///< multiply-adds; one for each element that is computed some other way
  double input = 0;    ///< elements of the activations that it reads
  double weights = 0;  ///< elements of the constants that it reads, as they are folded: Winograd's are larger ones
  double output = 0;   ///< elements that it makes
  friend bool operator==(const Figures&, const Figures&) = default;
};

/// Programs over constants count nothing: the applier folds them. kCheck: a symbol is unbound, an extent is negative or
/// beyond 64 bits.
Expected<Figures> figuresOf(const Program& program, const Bindings& symbols);

}  // namespace pet
