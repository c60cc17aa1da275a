// MaxPool and AveragePool, with what follows them.

#include <fmt/format.h>

#include "runtime/cuda/call_kernels.h"
#include "runtime/cuda/points.h"

namespace pet::cuda {
namespace {

/// A WindowKernel that grows operand by operand.
class Windows final : public Operands {
 public:
  Windows(Planner& planner, WindowKernel kernel, const Place& from, Place to)
      : Operands(planner, std::move(to)), kernel_(std::move(kernel)), arguments_(argumentsOf(to_, from)) {}

  static std::vector<CallStep::Argument> argumentsOf(const Place& to, const Place& from) {
    return {{to.buffer, to.access.offset}, {from.buffer, from.access.offset}};
  }
  using Operands::add;
  std::string add(const Place& operand) override {
    const bool isStrided = stridesOf(operand.access).has_value();
    const Place there = isStrided ? operand : planner_.as(operand, compacted(operand.access));
    kernel_.from.push_back(broadcast(there.access, to_.access.extents()));
    arguments_.push_back({there.buffer});
    return fmt::format("e{}", kernel_.from.size() - 1);
  }
  void emit(std::string value) {
    kernel_.value = std::move(value);
    planner_.emitCall(planner_.device().kernel(generate(kernel_)), to_, std::move(arguments_));
  }

 private:
  WindowKernel kernel_;
  std::vector<CallStep::Argument> arguments_;
};

PoolCall poolCall(Planner& p, int n, const Place& from, const Place& to) {
  const Node& node = p.node(n);
  const Extents pads = p.list(n, "pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  return {formOf(from.access),
          formOf(to.access),
          p.list(n, "kernel_shape"),
          p.list(n, "strides"),
          p.list(n, "dilations"),
          {pads.begin(), middle},
          {middle, pads.end()},
          node.is(ops::kMaxPool),
          node.is(ops::kAveragePool) && p.scalar(n, "count_include_pad") != 0};
}

/// By the fastest of cuDNN's plans and our kernel; with what follows the pool by our kernel, in one pass over memory.
bool lowerPool(Planner& p, int n, const Epilogue& e) {
  Place from = p.place(p.node(n).operands[0]);
  if (!stridesOf(from.access)) from = p.as(p.node(n).operands[0], compacted(from.access));
  const auto corrected = p.stridedPlace(e.result, 1);
  Place to = corrected ? *corrected : p.create(inOrder(p.extents({n, 0}), memoryOrder(from.access)));
  const PoolCall call = poolCall(p, n, from, to);
  const bool isOnBorders = from.access.offset % p.alignment() == 0 && to.access.offset % p.alignment() == 0;
  std::unique_ptr<Call> plan;
  if (e.isEmpty() && isOnBorders) plan = p.device().pool(call).value_or(nullptr);
  p.note(n, plan ? noteOf(*plan) : kOwnKernel);
  if (plan) {
    p.emitCall(std::move(plan), to, Windows::argumentsOf(to, from));
  } else {
    Windows windows(p, windowKernel(call), from, to);
    windows.emit(windows.after("r", e, channelDimension(p, n)));
  }
  p.define(e.result, std::move(to));
  return true;
}

constexpr LowerRow kWindowRows[] = {
    {"MaxPool", lowerPool, channelDimension},
    {"AveragePool", lowerPool, channelDimension},
};

}  // namespace

std::span<const LowerRow> windowLowerings() {
  return kWindowRows;
}

}  // namespace pet::cuda
