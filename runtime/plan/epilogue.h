#pragma once

#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "ir/program.h"

namespace pet::plan {

class Planner;

/// Functions of one number that engines compute with the operator in front of them. `alpha` and `beta` are what the
/// operator of ONNX calls so, or as said.
enum class Function {
  kLinear,  ///< alpha x + beta
  kRelu,    ///< alpha x below 0
  kSigmoid,
  kTanh,
  kExp,
  kLog,
  kSqrt,
  kSquare,
  kPow,  ///< alpha x^beta
  kElu,  ///< beta x, below 0 beta alpha (e^x - 1)
  kSoftplus,
  kSwish,  ///< x sigmoid(alpha x)
  kMish,
  kHardSwish,
  kGeluErf,
  kGeluTanh,
  kClip,  ///< between alpha and beta
};

struct Activation {
  Function function = Function::kLinear;
  float alpha = 0, beta = 0;

  /// max(x, 0).
  bool isRelu() const { return function == Function::kRelu && alpha == 0; }
};

/// The operators that are applied to the result of another operator before it is stored.
struct Epilogue {
  /// Per channel, first; empty: 1 and 0.
  std::vector<float> scale, shift;
  /// Then, in this order, functions and sums with another value.
  std::vector<std::variant<Activation, Value>> post;
  int length = 0;  ///< members of the chain
  Value result;    ///< the value after all of this

  bool isEmpty() const { return length == 0; }
  /// The value that is added; null: none.
  const Value* sum() const;
  /// The same for one channel more than once: scale and shift are there, for `channels`.
  void complete(int64_t channels);
};

/// post[i], if it is a Relu.
bool isRelu(const Epilogue& epilogue, size_t i);

/// What a number is kept between; what is none stays.
struct Bounds {
  float least = -std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::infinity();

  bool areSome() const {
    return least > -std::numeric_limits<float>::infinity() || most < std::numeric_limits<float>::infinity();
  }
  float operator()(float x) const { return x < least ? least : x > most ? most : x; }
};

/// What an epilogue does behind its scale and shift, as kernels of ours do it: they add the value of sum(), if there is
/// one, and keep the result between bounds as they write it; functions that are left are passes of their own.
struct Behind {
  Bounds bounds;
  std::vector<Activation> functions;
};
/// Nothing: a function comes in front of the sum, or there are two sums.
std::optional<Behind> behindOf(const Epilogue& epilogue);

/// The longest epilogue that the nodes `members` (each reads the one before) make for a value of which dimension
/// `channel` has the channels, but no longer than `limit`.
Epilogue epilogueOf(const Planner& planner, Value value, std::span<const int> members, size_t channel, int limit);

/// What follows a Gemm with what it does itself behind its product: alpha, and beta c. Throws NotLowered: c is not one
/// number per column.
Epilogue gemmEpilogue(const Planner& planner, int gemm, const Epilogue& behind);

/// The node as one of these functions. Nothing: it is none.
std::optional<Activation> activationOf(const Node& node);

}  // namespace pet::plan
