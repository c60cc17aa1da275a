// ScatterND, ScatterElements, Scatter.

#include <algorithm>
#include <cstring>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

/// What is done where an update meets the value: by the attribute `reduction`.
template <class T>
T reduced(const std::string& how, T old, T update) {
  if (how == "none") return update;
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  if (how == "max") return std::max(old, update);
  if (how == "min") return std::min(old, update);
  throw BadNode{fmt::format("reduction '{}' is not known", how)};
}

int64_t scatterPosition(int64_t index, int64_t extent) {
  const int64_t p = index < 0 ? index + extent : index;
  if (p < 0 || p >= extent) throw BadNode{fmt::format("index {} into an extent of {}", index, extent)};
  return p;
}

/// A copy of x in which update u[i] was put at offsets[i], one element after another.
std::vector<Constant> scattered(const NodeCall& call, const std::vector<int64_t>& offsets) {
  const Constant &x = call.operand(0), &updates = call.operand(2);
  if (updates.element != x.element) throw BadNode{"updates of another type"};
  const std::string how = call.text("reduction", "none");
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> y = make<T>(x.element, x.extents);
    std::memcpy(y.data, x.bytes->data(), x.bytes->size());
    const auto from = dataOf<T>(updates);
    if (from.size() != offsets.size()) throw BadNode{"as many updates as indices are needed"};
    for (size_t i = 0; i < offsets.size(); ++i)
      y.data[offsets[i]] = reduced<T>(how, y.data[offsets[i]], from[i]);
    return y.constant;
  })};
}

std::vector<Constant> runScatterNd(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents& shape = call.extents(1);
  if (shape.empty() || static_cast<size_t>(shape.back()) > x.extents.size())
    throw BadNode{"more indices than dimensions"};
  const auto depth = static_cast<size_t>(shape.back());
  const auto indices = integersOf(call.operand(1));
  const auto strides = rowMajorStrides(x.extents);
  const int64_t run = elementCount({x.extents.begin() + static_cast<std::ptrdiff_t>(depth), x.extents.end()});
  std::vector<int64_t> offsets;
  for (int64_t n = 0; n < elementCount({shape.begin(), shape.end() - 1}); ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < depth; ++d)
      offset += strides[d] * scatterPosition(indices[static_cast<size_t>(n) * depth + d], x.extents[d]);
    for (int64_t i = 0; i < run; ++i)
      offsets.push_back(offset + i);
  }
  return scattered(call, offsets);
}

std::vector<Constant> runScatterElements(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents& over = call.extents(1);
  const size_t axis = call.axisOf("axis", 0, x.extents.size());
  if (over.size() != x.extents.size()) throw BadNode{"indices of another rank"};
  const auto indices = integersOf(call.operand(1));
  auto strides = rowMajorStrides(x.extents);
  const int64_t along = strides[axis];
  strides[axis] = 0;
  std::vector<int64_t> offsets;
  forRows<1>(over, {strides}, [&](const auto& at, int64_t count, const auto& step) {
    for (int64_t i = 0; i < count; ++i)
      offsets.push_back(at[0] + i * step[0] + along * scatterPosition(indices[offsets.size()], x.extents[axis]));
  });
  return scattered(call, offsets);
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
