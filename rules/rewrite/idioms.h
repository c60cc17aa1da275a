#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rules/rewrite/normal_form.h"

// Operators in the pieces in which exporters write them, because the opset lacks them or the framework's own code has
// no such operator.
namespace pet::rewrite {

/// Pieces that are one operator.
struct Idiom {
  /// A constant of the pieces: the number that it has to be, but for its rounding.
  struct Number {
    std::string_view input;
    double value;
  };
  std::string pieces;                ///< a program
  std::string_view whole;            ///< one with the same inputs but the numbers: a single operator
  std::vector<Number> numbers = {};  ///< inputs of the pieces that `whole` has not
  std::string_view attribute = {};   ///< of `whole`: the number that the input of this name is
};

/// In the language of rules, for tensors [M, K]; they stand for any number of dimensions in front.
std::span<const Idiom> idioms();

/// What `root`, which was added last, is the last piece of: the operator by itself, added with root's operands. Or, of
/// a sum, difference, product or quotient, the operator without an Expand or Tile in front of it that it needs not,
/// since it broadcasts. Nullopt: neither.
std::optional<Value> recognised(NormalFormBuilder& builder, Value root);

/// Idioms end in an operator of this name.
bool isLastOfIdiom(std::string_view op);

/// An operator in the pieces of its first idiom.
struct Pieces {
  Program program;
  /// What each input is: an operand of the operator, by its place, or a number.
  std::vector<std::variant<size_t, double>> inputs;
};
/// Nullopt: no idiom is known, or none with these attributes and operands.
std::optional<Pieces> piecesOf(const Program& program, int node);

}  // namespace pet::rewrite
