#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/call_step.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/layouts.h"
#include "runtime/plan/planner.h"

namespace pet::cuda {

using namespace plan;  // this engine is a part of it

/// Plans on a GPU: cuDNN's and cuBLASLt's plans, and kernels that are generated for the program.
class Planner : public plan::Planner {
 public:
  /// `given`: orders of convolutions; one that is not named has the order that is usual for it.
  Planner(const Program& program, Device& device, Orders given = {})
      : plan::Planner(program), orders(std::move(given)), device_(device), storage_(storageOf(device.precision())) {}

  Device& device() const { return device_; }
  Storage storage() const { return storage_; }
  int64_t elementBytes() const { return bytesOf(storage_); }

  /// The plan, of which the kernels that copy boxes of one tensor are one each (joinCopies()).
  Expected<void> plan(const Weights& weights, bool late);

  /// `to`: what the call writes, its first argument's buffer.
  void emitCall(std::unique_ptr<Call> call, const Place& to, std::vector<CallStep::Argument> arguments);
  /// The arguments: the result, then the operands.
  void emitPoints(PointKernel kernel, std::vector<CallStep::Argument> arguments);
  /// The same numbers where a library reads them: on a border of 16 bytes.
  Place aligned(const Place& place);
  /// correctionPlace(), where strides describe it and it begins at a multiple of `border`.
  std::optional<Place> stridedPlace(Value result, int64_t border);
  /// What corrects a result is better computed beside it, in a place of its own, and copied there afterwards: it leaves
  /// a part of the device idle, and both it and the result were timed and take longer than the copy.
  bool isBetterBeside(const Place& corrected, const Call& correction) const;
  /// What lies in the first channels of a form, dense, channels innermost, that has more of them; these hold numbers.
  Place firstChannels(const Place& whole, int64_t channels);
  /// The place is such a part of this form.
  bool hasChannels(const Place& place, const Access& form) const;
  /// The place in this form, where it is so already, or a copy with zeros.
  Place withChannels(const Place& place, const Access& form);
  /// Where a result may be written of which each element, or row, comes from the same one there, wherever that lies:
  /// over it, if nobody needs it any more and it is dense or in rows, or in a new buffer, dense.
  Place overOrDense(const Place& operand);
  /// A constant in rows that begin on borders, of which it is given but one.
  const Place& rowsOf(Value constant);
  /// Numbers that a lowering made, as a buffer of a constant.
  Place constantPlace(Tensor<float> numbers);

  int64_t alignment() const override { return 16 / elementBytes(); }
  std::optional<Taking> taking(int n) const override;
  bool lowerNode(int n, const Epilogue& epilogue) override;
  std::vector<int> groupOf(int n) override;
  bool lowerGroup(const std::vector<int>& members) override;
  bool fuses(int n) const override;
  bool lowerFused(const std::vector<int>& members) override;
  size_t fusedThroughViews() const override { return 16; }
  void emitCopy(const Place& from, const Place& to) override;
  bool emitSum(const Place& to, const std::vector<Place>& from, const Epilogue& epilogue) override;
  void emitReference(int n, std::vector<ReferenceOperand> operands, std::vector<int> into) override;
  /// Why the attention that this Softmax belongs to is computed in pieces; "": it belongs to none.
  std::string whyInPieces(int softmax) const;

  const Orders orders;
  std::map<int, OrderCost> orderCosts;  ///< of convolutions that were timed in both orders

 private:
  Device& device_;
  Storage storage_;
  std::map<Value, Place> rows_;          ///< constants in rows
  std::set<int> wholes_;                 ///< buffers that firstChannels() was asked for
  std::map<int, std::string> inPieces_;  ///< per Softmax of an attention that the device does not take
};

/// Of a place that strides describe.
TensorForm formOf(const Access& access);

/// What notes say of nodes that a kernel of ours computes, and of such that a call does.
inline constexpr const char* kOwnKernel = "a kernel of our own";
inline std::string noteOf(const Call& call) {
  return call.isOwn ? kOwnKernel : call.name();
}

using LowerRow = LowerRowOf<Planner>;
const LowerRow* findLowering(std::string_view op);

// The rows, by family.
std::span<const LowerRow> convLowerings();
std::span<const LowerRow> matmulLowerings();
std::span<const LowerRow> pointLowerings();
std::span<const LowerRow> rowLowerings();
std::span<const LowerRow> windowLowerings();

}  // namespace pet::cuda
