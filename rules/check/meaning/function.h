#pragma once

#include "rules/check/meaning/sum.h"

namespace pet::check {

/// The laws that take a function apart where a record unfolds it.
enum class Law {
  kNone,
  kOdd,           ///< f(-x) = -f(x)
  kExponential,   ///< f(x + y) = f(x) f(y)
  kPositivePart,  ///< f(x) = x + f(-x), and f(x) = x for x >= 0
  kInverse,       ///< f(x y) = f(x) f(y), f(-x) = -f(x), and f(x) x = 1 for x > 0
};

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
  Law law = Law::kNone;
};

/// f(x) for a number, if that is known to be a number.
std::optional<Fraction> valueOf(const Function& f, const Node& node, const Fraction& x);

/// The facts about the function's values with a node's attributes.
Sign signOf(const Function& f, const Node& node);

/// Null for an operator that is no such function.
const Function* functionOf(std::string_view op);
/// "LeakyRelu 0.01": equal keys are equal functions.
std::string keyOf(const Function& f, const Node& node);

/// "positive", "negative": Relus by conditions (docs/rule-language.md, Unfolding).
bool isSign(std::string_view unfolded);

/// The program without composite operators (Softmax is Exp, ReduceSum, Reciprocal and Mul).
Expected<Program> expanded(const Program& program, const Unfolded& unfolded = {});

/// Writes the definition of an unfolded operator; nullopt if it has none. Throws Opaque.
class Definitions {
 public:
  explicit Definitions(ProgramBuilder& into) : into_(into) {}
  static bool has(std::string_view op);
  /// Whether at most one term of the operator's definition is not 0, whatever its operands.
  static bool hasOneTermAtATime(const Node& node);
  std::optional<Value> write(const Node& node, const std::vector<Value>& x);

 private:
  ProgramBuilder& into_;

  Value make(std::string_view op, std::vector<Value> operands, Attributes attributes = {});
  Value number(double value);
  Value clip(Value x, double low, double high);
  Value bentAtZero(Value x, Value slope);
  std::optional<Value> largerOf(const std::vector<Value>& x);
  Value shareOf(Value a, Value b);
  Value elu(Value x, double alpha);
  Value sigmoid(Value x);
  Value softplus(Value z);
  Value behindThePoint(Value x);
  Value errorOf(Value x);
  Value approximateErrorOf(Value x);
  Value tanhOfSoftplus(Value z);
};

}  // namespace pet::check
