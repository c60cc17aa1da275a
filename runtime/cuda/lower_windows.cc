// MaxPool and AveragePool, with what follows them.

#include <fmt/format.h>

#include "runtime/cuda/generate/window_kernel.h"
#include "runtime/cuda/points.h"

namespace pet::cuda {
namespace {

/// A WindowKernel that grows operand by operand.
class Windows final : public Operands {
 public:
  Windows(Planner& planner, WindowKernel kernel, const Place& from, Place to)
      : Operands(planner, std::move(to)), kernel_(std::move(kernel)), arguments_{{to_.buffer}, {from.buffer}} {}

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

bool lowerPool(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  Place from = p.place(node.operands[0]);
  if (!stridesOf(from.access)) from = p.as(node.operands[0], compacted(from.access));
  const Extents pads = p.list(n, "pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  const auto corrected = p.stridedPlace(e.result, 1);
  Place to = corrected ? *corrected : p.create(inOrder(p.extents({n, 0}), memoryOrder(from.access)));
  WindowKernel kernel;
  kernel.x = from.access;
  kernel.to = to.access;
  kernel.kernel = p.list(n, "kernel_shape");
  kernel.strides = p.list(n, "strides");
  kernel.dilations = p.list(n, "dilations");
  kernel.before = {pads.begin(), middle};
  kernel.after = {middle, pads.end()};
  kernel.isMax = node.is(ops::kMaxPool);
  kernel.countsPads = node.is(ops::kAveragePool) && p.scalar(n, "count_include_pad") != 0;
  Windows windows(p, std::move(kernel), from, to);
  windows.emit(windows.after("r", e, channelDimension(p, n)));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
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
