#pragma once

#include <map>
#include <vector>

#include "ir/program.h"

namespace pet {

/// A program and the same on magnitudes, in one: Sub is Add there, numbers are positive. Values of functions and
/// maxima stay as they are, and so do their operands.
struct Magnitudes {
  Program program;
  std::map<Value, Value> plain, magnitude;  ///< by the value that the program was made from
  size_t inputs = 0;                        ///< of the program that it was made from; then come the tables
  std::vector<Attributes> tables;           ///< those that became inputs

  bool differs(Value v) const { return plain.at(v) != magnitude.at(v); }
};

/// What becomes of a Table with entries of both signs, on magnitudes: a table that is summed out must not lose its
/// signs before, and what it was must not be lost by the sum.
enum class SignedTables { kKept, kAsInputs };

/// Of a program without composite operators. Errors: those of building a program.
Expected<Magnitudes> magnitudesOf(const Program& program, SignedTables tables);

}  // namespace pet
