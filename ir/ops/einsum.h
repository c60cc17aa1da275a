#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pet {

/// The sides of an Einsum's equation: a letter for each dimension, '.' for an ellipsis.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::string result;  ///< where the text has none: the dimensions of '.', then the labels that occur once, by alphabet
};

/// As ONNX has it: with spaces, an ellipsis, and perhaps without a result.
EinsumEquation readEinsum(const std::string& text);
/// As text, of letters that come in the order of the alphabet: one for all equations that differ in their letters.
std::string inOrder(const EinsumEquation& equation);
/// The labels of an equation of letters, each once, as they come in its operands.
std::string labelsOf(const EinsumEquation& equation);
/// So many letters that it has not; nullopt: there are fewer.
std::optional<std::string> unusedLetters(const EinsumEquation& equation, size_t count);

}  // namespace pet
