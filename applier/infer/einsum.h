#pragma once

#include <string>
#include <vector>

namespace pet {

/// The sides of an Einsum's equation: a letter for each dimension, '.' for an ellipsis.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::string result;  ///< where the text has none: the dimensions of '.', then the labels that occur once, by alphabet
};

EinsumEquation readEinsum(const std::string& text);

}  // namespace pet
