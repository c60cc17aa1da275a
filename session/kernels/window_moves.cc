// Slice and Pad, with positions that are known only when the model runs; DepthToSpace and SpaceToDepth; Trilu.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "session/kernels/moves.h"
#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

struct SliceAlong {
  int64_t start, count;
};

/// ONNX's clamping: a start or an end beyond the extent is moved to it, by the direction of the step.
SliceAlong clamped(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (step == 0) throw BadNode{"a step of 0"};
  if (start < 0) start += extent;
  if (end < 0) end = end < -extent ? -1 - extent : end + extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {start, start >= end ? 0 : (end - start + step - 1) / step};
  }
  start = std::clamp<int64_t>(start, -1, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return {start, start <= end ? 0 : (start - end - step - 1) / -step};
}

std::vector<Constant> runSlice(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const size_t rank = x.extents.size();
  const auto starts = call.given("starts", 1, 10), ends = call.given("ends", 2, 10), axes = call.given("axes", 3, 10);
  const auto steps = call.opset() < 10 ? std::nullopt : call.given("", 4, 10);
  if (!starts || !ends || starts->size() != ends->size()) throw BadNode{"starts and ends are not of one length"};
  const size_t count = starts->size();
  if ((axes && axes->size() != count) || (steps && steps->size() != count)) throw BadNode{"lists of unequal length"};
  Extents to = x.extents;
  auto by = rowMajorStrides(x.extents);
  int64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t d = call.axis(axes ? (*axes)[i] : static_cast<int64_t>(i), rank);
    const int64_t step = steps ? (*steps)[i] : 1;
    const SliceAlong along = clamped(x.extents[d], (*starts)[i], (*ends)[i], step);
    to[d] = along.count;
    if (along.count > 0) offset += along.start * by[d];
    by[d] *= step;
  }
  return {strided(x, to, elementCount(to) == 0 ? 0 : offset, by)};
}

/// For each position of a padded dimension the position that it is read from; -1: the fill.
std::vector<int64_t> paddedPositions(int64_t extent, int64_t before, int64_t after, const std::string& mode) {
  const int64_t to = extent + before + after;
  if (to < 0) throw BadNode{"more is cut off than there is"};
  std::vector<int64_t> from(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    int64_t p = i - before;
    const bool inside = p >= 0 && p < extent;
    if (!inside && mode == "constant") {
      p = -1;
    } else if (!inside && extent == 0) {
      throw BadNode{"nothing to pad with"};
    } else if (mode == "edge") {
      p = std::clamp<int64_t>(p, 0, extent - 1);
    } else if (mode == "wrap") {
      p = ((p % extent) + extent) % extent;
    } else if (!inside) {
      const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
      p = ((p % period) + period) % period;
      p = p < extent ? p : period - p;
    }
    from[static_cast<size_t>(i)] = p;
  }
  return from;
}

/// One dimension after another: dimension d of x is read at `from`.
Constant readAlong(const Constant& x, size_t d, const std::vector<int64_t>& from, const std::string& fill) {
  const auto at = x.extents.begin() + static_cast<std::ptrdiff_t>(d);
  const int64_t outer = elementCount({x.extents.begin(), at});
  const int64_t run = elementCount({at + 1, x.extents.end()});
  Extents to = x.extents;
  to[d] = std::ssize(from);
  Made<char> y = makeRaw(x.element, to);
  const auto size = static_cast<int64_t>(elementSize(x.element));
  char* out = y.data;
  for (int64_t o = 0; o < outer; ++o) {
    const char* in = x.bytes->data() + o * x.extents[d] * run * size;
    for (int64_t p : from) {
      if (p >= 0) std::memcpy(out, in + p * run * size, static_cast<size_t>(run * size));
      for (int64_t i = 0; p < 0 && i < run; ++i)
        std::memcpy(out + i * size, fill.data(), fill.size());
      out += run * size;
    }
  }
  return y.constant;
}

std::vector<Constant> runPad(const NodeCall& call) {
  Constant x = call.operand(0);
  const size_t rank = x.extents.size();
  const auto pads = call.given("pads", 1, 11);
  if (!pads) throw BadNode{"no pads"};
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.opset() >= 18 && call.has(3)) axes = integersOf(call.operand(3));
  if (pads->size() != 2 * axes.size()) throw BadNode{"pads of the wrong length"};
  std::string fill(elementSize(x.element), '\0');
  if (call.opset() >= 11 && call.has(2)) {
    fill = std::string(call.operand(2).bytes->substr(0, fill.size()));
  } else if (call.opset() < 11) {
    const Tensor<double> value({}, {call.number("value", 0)});
    fill = std::string(*Constant::rounded(x.element, value).bytes);
  }
  const std::string mode = call.text("mode", "constant");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = (*pads)[i], after = (*pads)[axes.size() + i];
    const size_t d = call.axis(axes[i], rank);
    if (before != 0 || after != 0) x = readAlong(x, d, paddedPositions(x.extents[d], before, after, mode), fill);
  }
  return {x};
}

std::vector<Constant> runTrilu(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const bool upper = call.integer("upper", 1) != 0;
  const int64_t k = call.has(1) ? call.scalar(1) : 0;
  if (x.extents.size() < 2) throw BadNode{"it is for matrices"};
  Made<char> y = makeRaw(x.element, x.extents);
  std::memcpy(y.data, x.bytes->data(), x.bytes->size());
  const int64_t rows = x.extents[x.extents.size() - 2], columns = x.extents.back();
  const auto size = static_cast<int64_t>(elementSize(x.element));
  const int64_t all = columns == 0 ? 0 : elementCount(x.extents) / columns;
  for (int64_t r = 0; r < all; ++r) {
    const int64_t diagonal = r % rows + k;
    const int64_t from = upper ? 0 : std::clamp<int64_t>(diagonal + 1, 0, columns);
    const int64_t to = upper ? std::clamp<int64_t>(diagonal, 0, columns) : columns;
    std::memset(y.data + (r * columns + from) * size, 0, static_cast<size_t>((to - from) * size));
  }
  return {y.constant};
}

const KernelRow kWindowMoveKernels[] = {
    {"Slice", runSlice, false},
    {"Pad", runPad, false},
    {"Trilu", runTrilu, false},
};

}  // namespace

std::span<const KernelRow> windowMoveKernels() {
  return kWindowMoveKernels;
}

}  // namespace pet::session
