#pragma once

#include "rules/check/meaning/sum.h"

namespace pet::check {

/// A function of real numbers, as an operator applies it at every position.
struct Function {
  std::string_view op;
  std::vector<std::string_view> attributes;  ///< in the order in which its key names them
  bool keepsZero;                            ///< f(0) = 0; of two arguments, f(0, y) = 0
  bool monotone;                             ///< x <= y implies f(x) <= f(y)
  bool idempotent;                           ///< f(f(x)) = f(x)
  bool dropsMinusInfinity;                   ///< f(-inf) = 0
  Needs needs = Needs::kNothing;
  Sign sign = Sign::kAny;
  bool scales = false;  ///< f(a x) = a f(x) for a > 0, x being the first argument
};

/// f(x) for a number, if that is known to be a number.
std::optional<Fraction> valueOf(const Function& f, const Node& node, const Fraction& x);

/// What is known of the function's values with a node's attributes.
Sign signOf(const Function& f, const Node& node);

/// Null for an operator that is none.
const Function* functionOf(std::string_view op);
/// "LeakyRelu 0.01": equal keys are equal functions.
std::string keyOf(const Function& f, const Node& node);

/// The program without operators that are made of others (Softmax is Exp, ReduceSum, Reciprocal and Mul).
Expected<Program> expanded(const Program& program);

}  // namespace pet::check
