// ScatterND, ScatterElements, Scatter.

#include <algorithm>
#include <cstring>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

/// Calls f with what is done where an update meets the value: by the attribute `reduction`.
template <class F>
void withReduction(const std::string& how, F f) {
  if (how == "none") return f([](auto, auto update) { return update; });
  if (how == "add") return f([](auto old, auto update) { return old + update; });
  if (how == "mul") return f([](auto old, auto update) { return old * update; });
  if (how == "max") return f([](auto old, auto update) { return std::max(old, update); });
  if (how == "min") return f([](auto old, auto update) { return std::min(old, update); });
  throw BadNode{fmt::format("reduction '{}' is not known", how)};
}

int64_t scatterPosition(int64_t index, int64_t extent) {
  const int64_t p = index < 0 ? index + extent : index;
  if (p < 0 || p >= extent) throw BadNode{fmt::format("index {} into an extent of {}", index, extent)};
  return p;
}

/// A copy of x, with `count` updates; each(put) calls put(offset, update) for all of them, in their order: the update
/// of this number meets the value at this offset.
template <class Each>
std::vector<Constant> scattered(const NodeCall& call, size_t count, Each each) {
  const Constant &x = call.operand(0), &updates = call.operand(2);
  if (updates.element != x.element) throw BadNode{"updates of another type"};
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> y = make<T>(x.element, x.extents);
    std::memcpy(y.data, x.bytes->data(), x.bytes->size());
    const auto from = dataOf<T>(updates);
    if (from.size() != count) throw BadNode{"as many updates as indices are needed"};
    withReduction(call.text("reduction", "none"), [&](auto reduce) {
      each([&](int64_t offset, size_t update) {
        y.data[offset] = static_cast<T>(reduce(y.data[offset], from[update]));
      });
    });
    return y.constant;
  })};
}

std::vector<Constant> runScatterNd(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents& shape = call.extents(1);
  if (shape.empty() || static_cast<size_t>(shape.back()) > x.extents.size())
    throw BadNode{"more indices than dimensions"};
  const auto depth = static_cast<size_t>(shape.back());
  const Integers indices(call.operand(1));
  const auto strides = rowMajorStrides(x.extents);
  const int64_t run = elementCount({x.extents.begin() + static_cast<std::ptrdiff_t>(depth), x.extents.end()});
  const int64_t count = elementCount({shape.begin(), shape.end() - 1});
  return scattered(call, static_cast<size_t>(count * run), [&](auto put) {
    for (int64_t n = 0; n < count; ++n) {
      int64_t offset = 0;
      for (size_t d = 0; d < depth; ++d)
        offset += strides[d] * scatterPosition(indices[static_cast<size_t>(n) * depth + d], x.extents[d]);
      for (int64_t i = 0; i < run; ++i)
        put(offset + i, static_cast<size_t>(n * run + i));
    }
  });
}

std::vector<Constant> runScatterElements(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents& over = call.extents(1);
  const size_t axis = call.axisOf("axis", 0, x.extents.size());
  if (over.size() != x.extents.size()) throw BadNode{"indices of another rank"};
  const Integers indices(call.operand(1));
  auto strides = rowMajorStrides(x.extents);
  const int64_t along = strides[axis], extent = x.extents[axis];
  strides[axis] = 0;
  return scattered(call, indices.size(), [&](auto put) {
    size_t next = 0;
    forRows<1>(over, {strides}, [&](const auto& at, int64_t count, const auto& step) {
      for (int64_t i = 0; i < count; ++i, ++next)
        put(at[0] + i * step[0] + along * scatterPosition(indices[next], extent), next);
    });
  });
}

const KernelRow kScatterKernels[] = {
    {"ScatterND", runScatterNd},
    {"ScatterElements", runScatterElements},
    {"Scatter", runScatterElements},
};

}  // namespace

std::span<const KernelRow> scatterKernels() {
  return kScatterKernels;
}

}  // namespace pet::session
