#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/prepared.h"
#include "session/kernels/array.h"

namespace pet::session {

/// What one step of a program of bytes computes, from where its operands lie to where its result does.
using ByteKernel = std::function<void(const uint8_t* const* from, uint8_t* to)>;

/// Steps on tensors of bytes, which integers of 8 bits stand for numbers in, from tensors of a model to tensors of it.
/// Between steps integers have no sign (one with a sign is moved up by 128), and tensors of four dimensions and more
/// have their channels last.
class ByteProgram {
 public:
  /// Buffers, by number: the next operand, of `count` bytes, the next result, and one for `count` bytes between steps.
  int addOperand(int64_t count);
  int addResult(ElementType element, Extents extents);
  int addBuffer(int64_t count);
  void addStep(EngineNote note, std::vector<int> from, int to, ByteKernel kernel);
  /// Decides where the buffers lie; nothing is added behind it.
  void finish();

  /// In the order of addOperand() and of addResult(). One call at a time. Throws BadNode.
  std::vector<Constant> run(const std::vector<const Constant*>& operands);
  /// One per step.
  std::vector<EngineNote> notes() const;
  int64_t arenaBytes() const;

 private:
  struct Buffer {
    enum class Kind { kOperand, kResult, kBetween };
    Kind kind = Kind::kBetween;
    size_t index = 0;  ///< of the operand, the result or the slot
    int64_t count = 0;
  };
  struct Step {
    EngineNote note;
    std::vector<int> from;
    int to;
    ByteKernel kernel;
  };
  struct Result {
    ElementType element;
    Extents extents;
  };
  int add(Buffer buffer);

  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<Result> results_;
  std::vector<int64_t> operands_;  ///< their bytes
  std::vector<RawBytes> slots_;    ///< where buffers between steps lie, those that are not needed at once in one
};

}  // namespace pet::session
