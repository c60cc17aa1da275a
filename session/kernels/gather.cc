// Gather, GatherND, GatherElements: indices that are known only when the model runs. Compress, ReverseSequence.

#include <cstring>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

/// Counts from the end below 0. Throws BadNode where it is beyond the extent.
int64_t positionIn(int64_t index, int64_t extent) {
  const int64_t p = index < 0 ? index + extent : index;
  if (p < 0 || p >= extent) throw BadNode{fmt::format("index {} into an extent of {}", index, extent)};
  return p;
}

/// x of [outer, extent, run] at these positions of its axis, with `places` in the axis's place.
Constant gatheredAlong(const Constant& x, size_t axis, const std::vector<int64_t>& positions, const Extents& places) {
  const auto at = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
  const int64_t outer = elementCount({x.extents.begin(), at});
  const auto run = static_cast<size_t>(elementCount({at + 1, x.extents.end()})) * elementSize(x.element);
  Extents to(x.extents.begin(), at);
  to.insert(to.end(), places.begin(), places.end());
  to.insert(to.end(), at + 1, x.extents.end());
  Made<char> y = makeRaw(x.element, to);
  char* out = y.data;
  for (int64_t o = 0; o < outer; ++o) {
    const char* in = x.bytes->data() + static_cast<size_t>(o * *at) * run;
    for (int64_t p : positions) {
      std::memcpy(out, in + static_cast<size_t>(p) * run, run);
      out += run;
    }
  }
  return y.constant;
}

std::vector<Constant> runGather(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const size_t axis = call.axisOf("axis", 0, x.extents.size());
  auto indices = integersOf(call.operand(1));
  for (int64_t& i : indices)
    i = positionIn(i, x.extents[axis]);
  return {gatheredAlong(x, axis, indices, call.extents(1))};
}

std::vector<Constant> runCompress(const NodeCall& call) {
  const bool flat = !call.attribute("axis");
  const Constant x = flat ? withExtents(call.operand(0), {elementCount(call.extents(0))}) : call.operand(0);
  const size_t axis = flat ? 0 : call.axisOf("axis", 0, x.extents.size());
  const auto condition = integersOf(call.operand(1));
  std::vector<int64_t> positions;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) positions.push_back(positionIn(static_cast<int64_t>(i), x.extents[axis]));
  }
  return {gatheredAlong(x, axis, positions, {std::ssize(positions)})};
}

std::vector<Constant> runGatherNd(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents& shape = call.extents(1);
  const auto batch = static_cast<size_t>(call.integer("batch_dims", 0));
  if (shape.empty() || shape.size() <= batch) throw BadNode{"indices of a too small rank"};
  const auto depth = static_cast<size_t>(shape.back());
  if (batch + depth > x.extents.size()) throw BadNode{"more indices than dimensions"};
  const Integers indices(call.operand(1));
  const auto strides = rowMajorStrides(x.extents);
  const auto inner = x.extents.begin() + static_cast<std::ptrdiff_t>(batch + depth);
  Extents to(shape.begin(), shape.end() - 1);
  to.insert(to.end(), inner, x.extents.end());
  Made<char> y = makeRaw(x.element, to);
  const auto size = elementSize(x.element);
  const auto run = static_cast<size_t>(elementCount({inner, x.extents.end()})) * size;
  const int64_t batches = elementCount({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch)});
  const int64_t count = elementCount({shape.begin(), shape.end() - 1});
  const int64_t each = batches == 0 ? 0 : count / batches;
  const int64_t whole = batches == 0 ? 0 : elementCount(x.extents) / batches;
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = n / each * whole;
    for (size_t d = 0; d < depth; ++d)
      offset += strides[batch + d] * positionIn(indices[static_cast<size_t>(n) * depth + d], x.extents[batch + d]);
    std::memcpy(y.data + static_cast<size_t>(n) * run, x.bytes->data() + static_cast<size_t>(offset) * size, run);
  }
  return {y.constant};
}

std::vector<Constant> runGatherElements(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents& to = call.extents(1);
  const size_t axis = call.axisOf("axis", 0, x.extents.size());
  if (to.size() != x.extents.size()) throw BadNode{"indices of another rank"};
  const Integers indices(call.operand(1));
  auto strides = rowMajorStrides(x.extents);
  const int64_t along = strides[axis];
  strides[axis] = 0;
  Made<char> y = makeRaw(x.element, to);
  const auto size = static_cast<int64_t>(elementSize(x.element));
  size_t next = 0;
  forRows<1>(to, {strides}, [&](const auto& at, int64_t count, const auto& step) {
    for (int64_t i = 0; i < count; ++i, ++next) {
      const int64_t offset = at[0] + i * step[0] + along * positionIn(indices[next], x.extents[axis]);
      std::memcpy(y.data + static_cast<int64_t>(next) * size, x.bytes->data() + offset * size,
                  static_cast<size_t>(size));
    }
  });
  return {y.constant};
}

const KernelRow kGatherKernels[] = {
    {"Gather", runGather, false},
    {"GatherND", runGatherNd, false},
    {"GatherElements", runGatherElements, false},
    {"Compress", runCompress, false},
};

}  // namespace

std::span<const KernelRow> gatherKernels() {
  return kGatherKernels;
}

}  // namespace pet::session
