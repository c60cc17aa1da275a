#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ir/program.h"
#include "runtime/plan/loops.h"

namespace pet::onednn {

/// A function of one element of each operand, as loops compute it.
struct ElementOp {
  enum class Code {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kPRelu,
    kWhere,
    kLinear,
    kRelu,
    kSigmoid,
    kTanh,
    kErf,
    kExp,
    kSqrt,
    kReciprocal,
    kSquare,
    kClip,
    kHardSwish,
    kHardSigmoid,
    kSwish,
    kGeluErf,
    kGeluTanh,
  };
  Code code = Code::kLinear;
  float alpha = 1, beta = 0;
};
/// Nothing: the operator is none of these.
std::optional<ElementOp> elementOp(const Node& node);

/// Element-wise operators one after another, block by block, so that what is between them stays in the first-level
/// cache.
class ElementProgram {
 public:
  static constexpr size_t kMostOperands = plan::Loops::kTensors - 1;
  static constexpr size_t kMostNumbers = 8, kMostSteps = 24;

  /// Registers, by number: operands come first, then numbers, then the results of steps.
  struct Step {
    ElementOp op;
    std::array<int, 3> from{};
    int to = 0;
  };
  /// `loops`: over the result and the operands. The last step makes the result.
  ElementProgram(plan::Loops loops, std::vector<float> numbers, std::vector<Step> steps);

  /// `pointers`: of the result and of the operands.
  void run(float* const* pointers, int threads) const;

 private:
  static constexpr int64_t kBlock = 512;
  void runRows(float* const* pointers, int64_t begin, int64_t end) const;

  plan::Loops loops_;
  std::vector<Step> steps_;
  size_t operands_, registers_;
  std::vector<float> numbers_;  ///< a block of each
};

}  // namespace pet::onednn
