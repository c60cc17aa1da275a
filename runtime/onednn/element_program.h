#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ir/program.h"
#include "runtime/plan/epilogue.h"
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
    kMax,
    kGreater,
    kWhere,
    kLinear,
    kRelu,
    kSigmoid,
    kTanh,
    kErf,
    kSin,
    kCos,
    kFloor,
    kCeil,
    kMod,
    kExp,
    kElu,
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
std::optional<ElementOp> elementOp(const plan::Activation& function);

/// A function of exponentials: kernels of ours compute them faster than oneDNN 2.6.
bool isTranscendental(const ElementOp& op);

/// y[i] = f(x[i]) for a function of one element; may be one place.
void applyElements(const ElementOp& op, const float* x, float* y, int64_t count);

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
  static constexpr int64_t kBlock = 512;  ///< the most elements of one
  using Blocks = std::array<float, kBlock*(kMostOperands + kMostSteps)>;
  void runBlocks(float* const* pointers, int64_t begin, int64_t end) const;
  void startRow(const std::array<const float*, kMostOperands>& row, Blocks& blocks) const;
  const float* operandOf(size_t i, const float* row, int64_t first, int64_t count, Blocks& blocks) const;
  void store(const float* block, float* row, int64_t first, int64_t count) const;
  /// How a tensor of the loops, the result first, lies along a row of blocks.
  enum class Lying { kSideBySide, kRepeated, kApart };
  Lying lying(size_t tensor) const;
  /// Of a tensor, where an element of a row lies that begins a period.
  int64_t at(size_t tensor, int64_t first) const;

  plan::Loops loops_;
  std::vector<Step> steps_;
  size_t operands_;
  std::vector<float> numbers_;       ///< a block of each
  int64_t block_, blocksOfRow_ = 1;  ///< elements of a block, whole periods
};

}  // namespace pet::onednn
