// MaxPool and AveragePool.

#include "runtime/cuda/generate/window_kernel.h"
#include "runtime/cuda/planner.h"

namespace pet::cuda {
namespace {

bool lowerPool(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  Place from = p.place(node.operands[0]);
  if (!stridesOf(from.access)) from = p.as(node.operands[0], compacted(from.access));
  const Extents pads = p.list(n, "pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  const auto corrected = p.stridedPlace(e.result, 1);
  Place to = corrected ? *corrected : p.create(inOrder(p.extents({n, 0}), memoryOrder(from.access)));
  WindowKernel kernel{from.access,
                      to.access,
                      p.list(n, "kernel_shape"),
                      p.list(n, "strides"),
                      p.list(n, "dilations"),
                      {pads.begin(), middle},
                      {middle, pads.end()},
                      node.is(ops::kMaxPool),
                      false};
  kernel.countsPads = node.is(ops::kAveragePool) && p.scalar(n, "count_include_pad") != 0;
  p.emitCall(p.device().kernel(generate(kernel)), to, {{to.buffer}, {from.buffer}});
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

constexpr LowerRow kWindowRows[] = {{"MaxPool", lowerPool}, {"AveragePool", lowerPool}};

}  // namespace

std::span<const LowerRow> windowLowerings() {
  return kWindowRows;
}

}  // namespace pet::cuda
