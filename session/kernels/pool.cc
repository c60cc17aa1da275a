// MaxPool, with the positions of its maxima; MaxUnpool.

#include <algorithm>
#include <limits>

#include "ir/wide_loops.h"
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
  if (!kernel || kernel->empty() || x.size() != kernel->size() + 2)
    throw BadNode{"no kernel_shape of the images' rank"};
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

/// Values that some windows read at one of their taps, and where these stand.
template <class T, class Index>
struct TapRow {
  const T* x;
  int64_t step, count;  ///< step: from one window's to the next one's
  Index first, by;      ///< positions: of the first one, and from one to the next
};

/// Keeps the larger one, and its position; the earlier one of equal ones, and a NaN where it is the first. Below 0:
/// none yet.
template <int64_t kStep, class T, class Index>
[[gnu::always_inline]] inline void keepLarger(const TapRow<T, Index>& row, T* best, Index* position) {
  const int64_t step = kStep == 0 ? row.step : kStep;
  for (int64_t i = 0; i < row.count; ++i) {
    const T value = row.x[i * step];
    const Index at = row.first + static_cast<Index>(i) * row.by;
    const bool takes = (position[i] < 0) | (value > best[i]);
    best[i] = takes ? value : best[i];
    position[i] = takes ? at : position[i];
  }
}

template <class T, class Index>
void keepLargerOf(const TapRow<T, Index>& row, T* best, Index* position) {
  keepLarger<0>(row, best, position);
}
PET_WIDE_LOOPS void keepLargerOf(const TapRow<float, int32_t>& row, float* best, int32_t* position) {
  const TapRow<float, int32_t> r = row;  // which no result lies over
  if (r.step == 1) return keepLarger<1>(r, best, position);
  if (r.step == 2) return keepLarger<2>(r, best, position);
  keepLarger<0>(r, best, position);
}

/// A MaxPool's windows over row-major images.
struct Windows {
  std::vector<WindowAlong> along;
  std::vector<int64_t> strides;  ///< of the operand
  std::vector<int64_t> counted;  ///< by how much a position grows along each dimension

  size_t outer() const { return along.size() - 1; }
  /// The maxima and their positions within one image. `Index`: holds the number of its elements.
  template <class T, class Index>
  void run(const T* x, T* y, Index* positions) const;
  /// Those of a row, of which the outer dimensions' taps stand so many elements and positions behind the image's first.
  template <class T, class Index>
  void runRow(const T* x, int64_t position, T* y, Index* positions) const;
};

template <class T, class Index>
void Windows::runRow(const T* x, int64_t position, T* y, Index* positions) const {
  const WindowAlong& w = along.back();
  for (int64_t tap = 0; tap < w.kernel; ++tap) {
    const int64_t start = tap * w.dilation - w.before;
    const int64_t begin = start < 0 ? (-start + w.stride - 1) / w.stride : 0;
    const int64_t end = start >= w.in ? 0 : std::min(w.out, (w.in - start + w.stride - 1) / w.stride);
    if (begin >= end) continue;
    const int64_t first = start + begin * w.stride;
    keepLargerOf(
        TapRow<T, Index>{x + first, w.stride, end - begin, static_cast<Index>(position + first * counted.back()),
                         static_cast<Index>(w.stride * counted.back())},
        y + begin, positions + begin);
  }
}

template <class T, class Index>
void Windows::run(const T* x, T* y, Index* positions) const {
  using Limits = std::numeric_limits<T>;
  const T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const int64_t columns = along.back().out;
  Extents place(outer(), 0);
  do {
    std::fill_n(y, columns, least);
    std::fill_n(positions, columns, Index{-1});
    Extents tap(outer(), 0);
    do {
      int64_t offset = 0, position = 0;
      bool inside = true;
      for (size_t d = 0; d < outer(); ++d) {
        const int64_t p = place[d] * along[d].stride + tap[d] * along[d].dilation - along[d].before;
        inside = inside && p >= 0 && p < along[d].in;
        offset += p * strides[d];
        position += p * counted[d];
      }
      if (inside) runRow(x + offset, position, y, positions);
    } while (advance(tap, [&](size_t d) { return along[d].kernel; }));
    y += columns;
    positions += columns;
  } while (advance(place, [&](size_t d) { return along[d].out; }));
}

/// All images; a position counts from the first one.
template <class Index, class T>
void runImages(const Windows& windows, int64_t images, int64_t extent, const T* x, Made<T>& y, Made<int64_t>& indices) {
  if (images == 0) return;
  const int64_t each = std::ssize(dataOf<T>(y.constant)) / images;
  std::vector<Index> positions(static_cast<size_t>(each));
  for (int64_t n = 0; n < images; ++n) {
    windows.run(x + n * extent, y.data + n * each, positions.data());
    std::transform(positions.begin(), positions.end(), indices.data + n * each,
                   [base = n * extent](Index p) { return p < 0 ? int64_t{-1} : base + p; });
  }
}

std::vector<Constant> runMaxPool(const NodeCall& call) {
  const Constant& x = call.operand(0);
  std::vector<WindowAlong> along = windowsOf(call);
  Extents to{x.extents[0], x.extents[1]}, plane(x.extents.begin() + 2, x.extents.end());
  Windows windows{std::move(along), rowMajorStrides(plane), rowMajorStrides(plane)};
  for (const WindowAlong& w : windows.along)
    to.push_back(w.out);
  if (call.integer("storage_order", 0) != 0) {  // the first dimension innermost
    windows.counted = rowMajorStrides({plane.rbegin(), plane.rend()});
    std::reverse(windows.counted.begin(), windows.counted.end());
  }
  const int64_t images = elementCount(to) == 0 ? 0 : to[0] * to[1], extent = elementCount(plane);
  Made<int64_t> indices = make<int64_t>(ElementType::kInt64, to);
  return withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> y = make<T>(x.element, to);
    const T* from = dataOf<T>(x).data();
    extent <= std::numeric_limits<int32_t>::max() ? runImages<int32_t>(windows, images, extent, from, y, indices)
                                                  : runImages<int64_t>(windows, images, extent, from, y, indices);
    return std::vector<Constant>{y.constant, indices.constant};
  });
}

/// y[index] = x over zeros. Indices count within the extents that the MaxPool read; larger ones may be asked for, and
/// are filled up behind.
std::vector<Constant> runMaxUnpool(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto kernel = call.integers("kernel_shape");
  if (!kernel || x.extents.size() != kernel->size() + 2) throw BadNode{"no kernel_shape of the images' rank"};
  const size_t rank = kernel->size();
  const auto strides = call.integers("strides").value_or(Extents(rank, 1));
  const auto pads = call.integers("pads").value_or(Extents(2 * rank, 0));
  if (strides.size() != rank || pads.size() != 2 * rank) throw BadNode{"strides or pads of the wrong length"};
  Extents to{x.extents[0], x.extents[1]};
  for (size_t d = 0; d < rank; ++d)
    to.push_back((x.extents[d + 2] - 1) * strides[d] - pads[d] - pads[rank + d] + (*kernel)[d]);
  if (std::any_of(to.begin(), to.end(), [](int64_t extent) { return extent < 0; }))
    throw BadNode{"pads that are more than there is"};
  const Extents asked = call.has(2) ? integersOf(call.operand(2)) : to;
  if (asked.size() != to.size()) throw BadNode{"an output_shape of another rank"};
  const Integers indices(call.operand(1));
  if (static_cast<int64_t>(indices.size()) != elementCount(x.extents)) throw BadNode{"not an index for each element"};
  std::vector<int64_t> by = rowMajorStrides(asked);
  const std::vector<int64_t> from = rowMajorStrides(to);
  const int64_t count = elementCount(to);
  auto offsetOf = [&](int64_t index) {
    if (index < 0 || index >= count) throw BadNode{fmt::format("index {} into {} elements", index, count)};
    if (asked == to) return index;
    int64_t offset = 0;
    for (size_t d = 0; d < to.size(); ++d) {
      const int64_t p = index / from[d] % to[d];
      if (p >= asked[d]) throw BadNode{fmt::format("index {} beyond the output_shape", index)};
      offset += p * by[d];
    }
    return offset;
  };
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> y = make<T>(x.element, asked);
    std::fill_n(y.data, elementCount(asked), T{});
    const auto values = dataOf<T>(x);
    for (size_t i = 0; i < values.size(); ++i)
      y.data[offsetOf(indices[i])] = values[i];
    return y.constant;
  })};
}

const KernelRow kPoolKernels[] = {{"MaxPool", runMaxPool}, {"MaxUnpool", runMaxUnpool}};

}  // namespace

std::span<const KernelRow> poolKernels() {
  return kPoolKernels;
}

}  // namespace pet::session
