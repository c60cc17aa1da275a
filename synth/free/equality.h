#pragma once

#include "synth/free/enumerate.h"

namespace pet::freemode {

/// A variable of an equality, or a constant.
struct Variable {
  TensorType type;  ///< at which it was seen to hold; nothing was joined
  Constant constant = Constant::kNone;
};

/// Which node, or, below 0, which variable: ~v.
using Operand = int;
constexpr Operand kNoOperand = std::numeric_limits<int>::max();
constexpr Operand variable(size_t v) {
  return ~static_cast<int>(v);
}
constexpr size_t variableOf(Operand o) {
  return static_cast<size_t>(~o);
}

struct EqualityNode {
  uint32_t step = 0;
  Operand a = kNoOperand, b = kNoOperand;
};

/// Two graphs that compute the same, as far as random inputs tell. Operands stand before what reads them; a node may
/// belong to both sides.
struct Equality {
  std::vector<EqualityNode> nodes;
  std::vector<Variable> variables;
  Operand left = kNoOperand, right = kNoOperand;
};

/// The equality of the graphs that two candidates stand for. Sub-graphs that both sides compute, and constants that
/// both read, become variables where the two sides stay equal for random values of them: what is left is the most
/// general equality of which this is an instance.
Equality equalityOf(const ClassTable& table, const Candidate& left, const Candidate& right, Scratch& scratch);

/// Equal for equalities that differ in the names of variables, in the order of the operands of Add and Mul, in which
/// side is which, or in extents. (Others may be equal with a probability of 2^-64.)
uint64_t canonicalKey(const Equality& e, const std::vector<Step>& steps);

/// "Relu(Relu(x0)) = Relu(x0)": for people.
std::string str(const Equality& e, const std::vector<Step>& steps);

/// How many nodes a side has.
size_t sizeOf(const Equality& e, Operand side);

}  // namespace pet::freemode
