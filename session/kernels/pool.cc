// MaxPool, with the positions of its maxima.

#include <algorithm>
#include <limits>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

/// How a window slides along one dimension.
struct WindowAlong {
  int64_t in, out, kernel, stride, dilation, before;
};

/// The extent of what a window makes; with ceil_mode the last one may reach beyond the pads, but not begin there.
int64_t windowCount(int64_t extent, const WindowAlong& w, int64_t after, bool ceil) {
  const int64_t room = extent + w.before + after - ((w.kernel - 1) * w.dilation + 1);
  if (room < 0) throw BadNode{"a window that is larger than what it slides over"};
  int64_t count = (ceil ? (room + w.stride - 1) / w.stride : room / w.stride) + 1;
  if (ceil && (count - 1) * w.stride >= extent + w.before) --count;
  return count;
}

std::vector<WindowAlong> windowsOf(const NodeCall& call) {
  const Extents& x = call.extents(0);
  const auto kernel = call.integers("kernel_shape");
  if (!kernel || x.size() != kernel->size() + 2) throw BadNode{"no kernel_shape of the images' rank"};
  const size_t rank = kernel->size();
  const auto strides = call.integers("strides").value_or(Extents(rank, 1));
  const auto dilations = call.integers("dilations").value_or(Extents(rank, 1));
  const auto pads = call.integers("pads").value_or(Extents(2 * rank, 0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    throw BadNode{"strides, dilations or pads of the wrong length"};
  const std::string autoPad = call.text("auto_pad", "NOTSET");
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  std::vector<WindowAlong> windows;
  for (size_t d = 0; d < rank; ++d) {
    WindowAlong w{x[d + 2], 0, (*kernel)[d], strides[d], dilations[d], 0};
    if (w.kernel < 1 || w.stride < 1 || w.dilation < 1) throw BadNode{"a window's extents are not at least 1"};
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      w.out = (w.in + w.stride - 1) / w.stride;
      const int64_t total = std::max<int64_t>(0, (w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1 - w.in);
      w.before = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else {
      const bool padded = autoPad != "VALID";
      w.before = padded ? pads[d] : 0;
      w.out = windowCount(w.in, w, padded ? pads[rank + d] : 0, ceil);
    }
    windows.push_back(w);
  }
  return windows;
}

/// The next position within these extents, the last dimension first; false behind the last one.
template <class ExtentOf>
bool advance(Extents& position, ExtentOf extentOf) {
  for (size_t d = position.size(); d > 0; --d) {
    if (++position[d - 1] < extentOf(d - 1)) return true;
    position[d - 1] = 0;
  }
  return false;
}

std::vector<Constant> runMaxPool(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const std::vector<WindowAlong> windows = windowsOf(call);
  Extents to{x.extents[0], x.extents[1]}, plane(x.extents.begin() + 2, x.extents.end());
  for (const WindowAlong& w : windows)
    to.push_back(w.out);
  const int64_t image = elementCount(plane);
  const std::vector<int64_t> strides = rowMajorStrides(plane);
  std::vector<int64_t> counted = strides;
  if (call.integer("storage_order", 0) != 0) {  // the first dimension innermost
    counted = rowMajorStrides({plane.rbegin(), plane.rend()});
    std::reverse(counted.begin(), counted.end());
  }
  Made<int64_t> indices = make<int64_t>(ElementType::kInt64, to);
  return withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> values = make<T>(x.element, to);
    const auto from = dataOf<T>(x);
    int64_t at = 0;
    for (int64_t n = 0; n < to[0] * to[1]; ++n) {
      Extents place(windows.size(), 0);
      do {
        T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                      : std::numeric_limits<T>::lowest();
        int64_t index = -1;
        Extents tap(windows.size(), 0);
        do {
          int64_t offset = 0, position = 0;
          bool inside = true;
          for (size_t d = 0; d < windows.size(); ++d) {
            const int64_t p = place[d] * windows[d].stride + tap[d] * windows[d].dilation - windows[d].before;
            inside = inside && p >= 0 && p < windows[d].in;
            offset += p * strides[d];
            position += p * counted[d];
          }
          if (!inside) continue;
          const T value = from[static_cast<size_t>(n * image + offset)];
          if (index >= 0 && !(value > best)) continue;
          best = value;
          index = n * image + position;
        } while (advance(tap, [&](size_t d) { return windows[d].kernel; }));
        values.data[at] = best;
        indices.data[at++] = index;
      } while (advance(place, [&](size_t d) { return windows[d].out; }));
    }
    return std::vector<Constant>{values.constant, indices.constant};
  });
}

const KernelRow kPoolKernels[] = {{"MaxPool", runMaxPool}};

}  // namespace

std::span<const KernelRow> poolKernels() {
  return kPoolKernels;
}

}  // namespace pet::session
