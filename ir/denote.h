#pragma once

#include "ir/ops/op.h"

namespace pet {

/// One read of an input in a monomial: the input's position in Program::inputs() and its flat digits.
struct Factor {
  int input = 0;
  std::vector<Expr> at;
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// Σ over `reduction` in `domain` of coefficient · Π factors, at output position v.
struct Piece {
  Rational coefficient;
  std::vector<std::string> reduction;
  std::vector<Constraint> domain;
  std::vector<Factor> factors;  ///< sorted by input
};

/// The meaning of one output of a multilinear program: O[v] = Σ pieces (DESIGN, section 4). `index` names the digits of
/// v, "v0", "v1", …, in the order of the output's dimensions and their atoms; every piece's domain holds v's own range
/// too.
struct Denotation {
  std::vector<std::string> index;
  std::vector<Piece> pieces;
};

/// Inlines every operator's access relation. Reduction indices get fresh names from `names`; the result is a function
/// of the program and the state of `names` alone, so a proof record may refer to pieces by number and to indices by
/// name. Pieces with a constraint that is false for constants are left out. kUnsupported: an operator is opaque, with
/// its name.
Expected<Denotation> denote(const Program& program, Value output, NameSource& names);

/// Everything the rows demand of the shape symbols, plus extents: >= 0 for values that reach a Concat only, >= 1 for
/// others.
std::vector<Constraint> obligations(const Program& program);

}  // namespace pet
