// Convolutions of few channels with as many, and of each channel by itself.

#include "runtime/onednn/lower_grouped.h"

#include <algorithm>
#include <optional>

#include "runtime/onednn/grouped.h"
#include "runtime/onednn/lanes.h"

namespace pet::onednn {
namespace {

GroupedConvolution::Axes axesOf(const Window& w) {
  GroupedConvolution::Axes axes;
  const Extents x = w.x.access.extents();
  for (size_t d = 0; d < w.kernel.size(); ++d)
    axes[axes.size() - w.kernel.size() + d] = {x[2 + d],     w.y[2 + d],         w.kernel[d],
                                               w.strides[d], w.dilations[d] + 1, w.before[d]};
  return axes;
}

/// The same with functions as this kernel has them. Nothing: it lacks one, or the epilogue is no such.
std::optional<GroupedConvolution::Behind> withFunctionsOf(const Epilogue& e) {
  const auto behind = behindOf(e);
  if (!behind) return std::nullopt;
  GroupedConvolution::Behind result{behind->bounds, {}};
  for (const Activation& function : behind->functions) {
    const auto op = elementOp(function);
    if (!op) return std::nullopt;
    result.functions.push_back(*op);
  }
  return result;
}

/// Whether it is faster than oneDNN 2.6's, whose functions of exponentials take longer, and which reads each element
/// once for each tap. Not where the operand comes from behind the second-level cache, which tiles are not good for.
/// Measured on an EPYC (Zen 5), on the layers of EfficientNet, MnasNet and MobileNet-V3. In oneDNN groups
/// of few channels fill a part of a register: ours takes 0.06 to 0.9 of its time for them on a Xeon (Emerald Rapids),
/// but 1.3 for eight channels at a stride of 2. Not measured where registers are shorter.
bool pays(const Window& w, const GroupedConvolution::Behind& behind) {
  if (w.group < w.inner)
    return hasIsa(dnnl::cpu_isa::avx512_core) && (w.inner / w.group < kLanes / 2 || w.strides.back() == 1);
  constexpr int64_t kFewTaps = 9, kFewColumns = 8, kCached = 1 << 18;
  const int64_t image = elementCount(w.x.access.extents()) / w.x.access.extents()[0];
  if (image > kCached) return false;
  if (!behind.functions.empty()) return std::all_of(behind.functions.begin(), behind.functions.end(), isTranscendental);
  return elementCount(w.kernel) > kFewTaps && w.strides.back() == 1 && w.y.back() >= kFewColumns;
}

}  // namespace

bool lowerAsGrouped(Planner& p, int n, const Window& w, const Epilogue& e, bool always) {
  const bool fits = w.kernel.size() <= 3 && w.outer == w.inner && w.inner >= kLanes &&
                    elementCount(w.kernel) / w.kernel.back() <= GroupedConvolution::kMostRows;
  const int64_t width = w.inner / w.group;
  if (!fits || !GroupedConvolution::takes(width)) return false;
  auto behind = withFunctionsOf(e);
  if (!behind || !(always || pays(w, *behind))) return false;
  const Tensor<float>& kernel = *p.constant(p.node(n).operands[1]);
  const auto bias = e.shift.empty() ? std::vector<float>(static_cast<size_t>(w.inner)) : e.shift;
  GroupedConvolution grouped(w.y[0], width, axesOf(w), kernel.data, e.scale, bias, std::move(*behind));
  const int threads = p.options().threads;
  const Place x = p.windowOperand(p.node(n).operands[0], w.x, channelsLast(w.x.access.extents()));
  const Access form = w.resultForm(channelsLast(w.y));
  std::vector<int> used{x.buffer};
  int64_t addend = 0;
  if (e.sum()) {
    const Place added = p.as(*e.sum(), form);
    used.push_back(added.buffer);
    addend = added.access.offset;
  }
  Place y = p.create(form);
  used.push_back(y.buffer);
  used.push_back(p.createBuffer(threads * grouped.scratch()));
  p.emit(std::make_unique<KernelStep>(used, [grouped = std::move(grouped), from = x.access.offset,
                                             adds = used.size() > 3, addend, threads](float* const* q) {
    const float* added = adds ? q[1] + addend : nullptr;
    float* const* results = q + (adds ? 2 : 1);
    grouped.run(q[0] + from, added, results[0], results[1], threads);
  }));
  p.define(e.result, std::move(y));
  p.note(n, width == 1 ? "a kernel of our own: channel by channel" : "a kernel of our own: few channels a group");
  return true;
}

}  // namespace pet::onednn
