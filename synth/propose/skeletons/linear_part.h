#pragma once

#include "rules/rule.h"

namespace pet {

/// A pattern as a program of sums and products over its inputs and over the values of its functions, which become
/// inputs of their own ("leaves", after the pattern's inputs). What a normalisation does with its scale and bias is
/// linear and stands apart from it.
struct LinearPart {
  Pattern pattern;   ///< over inputs and leaves
  Program complete;  ///< over the inputs; a leaf is the value of the same name
};
Expected<LinearPart> linearPart(const Pattern& pattern);

/// A program over inputs and leaves, as one over the inputs: the leaves are computed as in the pattern.
Expected<Program> withLeaves(const LinearPart& part, const Program& program);

}  // namespace pet
