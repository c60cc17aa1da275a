// What moves values, whatever they are: Reshape and its like, Transpose, Concat, Split, Expand, Tile, Where.

#include "session/kernels/moves.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "session/kernels/node_call.h"

namespace pet::session {

void copyRun(char* to, const char* from, int64_t count, int64_t step, size_t size) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * size);
    return;
  }
  const auto each = [&]<class T>(T) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * int64_t{sizeof(T)}, from + i * step * int64_t{sizeof(T)}, sizeof(T));
  };
  if (size == 1) each(uint8_t{});
  if (size == 2) each(uint16_t{});
  if (size == 4) each(uint32_t{});
  if (size == 8) each(uint64_t{});
}

Constant strided(const Constant& x, const Extents& extents, int64_t start, const std::vector<int64_t>& strides) {
  Made<char> y = makeRaw(x.element, extents);
  const size_t size = elementSize(x.element);
  const char* from = x.bytes->data() + start * static_cast<int64_t>(size);
  char* to = y.data;
  forRows<1>(extents, {strides}, [&](const auto& at, int64_t count, const auto& step) {
    copyRun(to, from + at[0] * static_cast<int64_t>(size), count, step[0], size);
    to += count * static_cast<int64_t>(size);
  });
  return y.constant;
}

namespace {

std::vector<Constant> runIdentity(const NodeCall& call) {
  return {call.operand(0)};
}

/// A mask, where it is asked for, is all true: at inference nothing is dropped.
std::vector<Constant> runDropout(const NodeCall& call) {
  if (call.has(2) && integersOf(call.operand(2)).at(0) != 0) throw BadNode{"it is in training form"};
  std::vector<Constant> results{call.operand(0)};
  if (!call.wants(1)) return results;
  Made<uint8_t> mask = make<uint8_t>(ElementType::kBool, call.extents(0));
  std::fill_n(mask.data, elementCount(call.extents(0)), 1);
  results.push_back(mask.constant);
  return results;
}

std::vector<Constant> runReshape(const NodeCall& call) {
  const Constant& x = call.operand(0);
  auto target = call.opset() < 5 ? call.integers("shape") : std::optional(integersOf(call.operand(1)));
  if (!target) throw BadNode{"no shape"};
  const bool zeroIsZero = call.integer("allowzero", 0) != 0;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < target->size(); ++d) {
    int64_t& extent = (*target)[d];
    if (extent == 0 && !zeroIsZero) {
      if (d >= x.extents.size()) throw BadNode{"a 0 in the shape stands for no dimension"};
      extent = x.extents[d];
    }
    if (extent == -1 && open) throw BadNode{"two extents of the shape are -1"};
    if (extent == -1) open = d;
    if (extent != -1) known *= extent;
  }
  if (open) (*target)[*open] = known == 0 ? 0 : elementCount(x.extents) / known;
  return {withExtents(x, *target)};
}

std::vector<Constant> runFlatten(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto rank = static_cast<int64_t>(x.extents.size());
  int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) throw BadNode{"its axis is beyond the rank"};
  const auto middle = x.extents.begin() + axis;
  return {withExtents(x, {elementCount({x.extents.begin(), middle}), elementCount({middle, x.extents.end()})})};
}

std::vector<Constant> runSqueeze(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto axes = call.given("axes", 1, 13);
  std::vector<bool> drop(x.extents.size(), false);
  for (size_t d = 0; !axes && d < drop.size(); ++d)
    drop[d] = x.extents[d] == 1;
  if (axes) {
    for (int64_t a : *axes)
      drop[call.axis(a, x.extents.size())] = true;
  }
  Extents left;
  for (size_t d = 0; d < drop.size(); ++d) {
    if (!drop[d]) left.push_back(x.extents[d]);
  }
  return {withExtents(x, left)};
}

std::vector<Constant> runUnsqueeze(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto axes = call.given("axes", 1, 13);
  if (!axes) throw BadNode{"no axes"};
  const size_t rank = x.extents.size() + axes->size();
  std::vector<bool> added(rank, false);
  for (int64_t a : *axes)
    added[call.axis(a, rank)] = true;
  Extents to;
  auto next = x.extents.begin();
  for (size_t d = 0; d < rank; ++d) {
    if (!added[d] && next == x.extents.end()) throw BadNode{"an axis is given twice"};
    to.push_back(added[d] ? 1 : *next++);
  }
  return {withExtents(x, to)};
}

std::vector<Constant> runTranspose(const NodeCall& call) {
  const Constant& x = call.operand(0);
  std::vector<int64_t> reversed(x.extents.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto perm = call.integers("perm").value_or(reversed);
  if (perm.size() != x.extents.size()) throw BadNode{"perm is not as long as the rank"};
  const auto strides = rowMajorStrides(x.extents);
  Extents to;
  std::vector<int64_t> by;
  for (int64_t p : perm) {
    const size_t d = call.axis(p, x.extents.size());
    to.push_back(x.extents[d]);
    by.push_back(strides[d]);
  }
  return {strided(x, to, 0, by)};
}

/// The bytes of x[…, from : from + count, …] along an axis, in `outer` runs of `run` bytes.
struct Runs {
  int64_t outer, run;
};
Runs runsOf(const Constant& x, size_t axis) {
  const auto at = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
  return {elementCount({x.extents.begin(), at}),
          elementCount({at, x.extents.end()}) * static_cast<int64_t>(elementSize(x.element))};
}

std::vector<Constant> runConcat(const NodeCall& call) {
  const Constant& first = call.operand(0);
  const size_t axis = call.axisOf("axis", 0, first.extents.size());
  Extents to = first.extents;
  to[axis] = 0;
  for (size_t i = 0; i < call.operandCount(); ++i) {
    const Constant& x = call.operand(i);
    Extents like = x.extents;
    if (x.element != first.element || like.size() != to.size()) throw BadNode{"operands of different types or ranks"};
    to[axis] += like[axis];
    like[axis] = to[axis];
    if (like != to) throw BadNode{fmt::format("{} does not fit beside {}", str(x.extents), str(first.extents))};
  }
  Made<char> y = makeRaw(first.element, to);
  const int64_t whole = runsOf(y.constant, axis).run;
  char* at = y.data;
  for (size_t i = 0; i < call.operandCount(); ++i) {
    const Constant& x = call.operand(i);
    const Runs runs = runsOf(x, axis);
    for (int64_t o = 0; o < runs.outer; ++o)
      std::memcpy(at + o * whole, x.bytes->data() + o * runs.run, static_cast<size_t>(runs.run));
    at += runs.run;
  }
  return {y.constant};
}

std::vector<int64_t> partsOf(const NodeCall& call, int64_t total) {
  if (auto given = call.given("split", 1, 13)) return *given;
  const auto count = call.integer("num_outputs", static_cast<int64_t>(call.resultCount()));
  if (count < 1) throw BadNode{"no outputs"};
  const int64_t each = (total + count - 1) / count;
  std::vector<int64_t> parts;
  for (int64_t left = total, i = 0; i < count; ++i, left -= each)
    parts.push_back(std::clamp<int64_t>(left, 0, each));
  return parts;
}

std::vector<Constant> runSplit(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const size_t axis = call.axisOf("axis", 0, x.extents.size());
  const auto parts = partsOf(call, x.extents[axis]);
  if (std::accumulate(parts.begin(), parts.end(), int64_t{0}) != x.extents[axis])
    throw BadNode{"the parts do not add up to the whole"};
  const auto strides = rowMajorStrides(x.extents);
  std::vector<Constant> results;
  int64_t start = 0;
  for (int64_t part : parts) {
    Extents extents = x.extents;
    extents[axis] = part;
    results.push_back(strided(x, extents, start * strides[axis], strides));
    start += part;
  }
  return results;
}

std::vector<Constant> runExpand(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const Extents to = broadcastExtents(x.extents, integersOf(call.operand(1)));
  return {to == x.extents ? x : strided(x, to, 0, broadcastStrides(x.extents, to))};
}

std::vector<Constant> runTile(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto repeats = integersOf(call.operand(1));
  if (repeats.size() != x.extents.size()) throw BadNode{"as many repeats as dimensions are needed"};
  // x[e0, e1, …] as [1, e0, 1, e1, …], repeated to [r0, e0, r1, e1, …].
  const auto strides = rowMajorStrides(x.extents);
  Extents apart, to;
  std::vector<int64_t> by;
  for (size_t d = 0; d < repeats.size(); ++d) {
    apart.insert(apart.end(), {repeats[d], x.extents[d]});
    by.insert(by.end(), {0, strides[d]});
    to.push_back(repeats[d] * x.extents[d]);
  }
  return {withExtents(strided(x, apart, 0, by), to)};
}

/// Calls f with a zero of an unsigned integer of so many bytes.
template <class F>
void withSize(size_t size, F f) {
  if (size == 1) f(uint8_t{});
  if (size == 2) f(uint16_t{});
  if (size == 4) f(uint32_t{});
  if (size == 8) f(uint64_t{});
}

std::vector<Constant> runWhere(const NodeCall& call) {
  const Constant& condition = call.operand(0);
  const Constant a = aligned(call.operand(1)), b = aligned(call.operand(2));
  if (a.element != b.element) throw BadNode{"operands of different types"};
  const Extents to = broadcastExtents(condition.extents, broadcastExtents(a.extents, b.extents));
  const std::array strides{broadcastStrides(condition.extents, to), broadcastStrides(a.extents, to),
                           broadcastStrides(b.extents, to)};
  Made<char> y = makeRaw(a.element, to);
  withSize(elementSize(a.element), [&](auto zero) {
    using T = decltype(zero);
    const char* asks = condition.bytes->data();
    const T *yes = dataOf<T>(a).data(), *no = dataOf<T>(b).data();
    T* out = reinterpret_cast<T*>(y.data);
    forRows<3>(to, strides, [&](const auto& at, int64_t count, const auto& step) {
      for (int64_t i = 0; i < count; ++i) {
        const T chosen = yes[at[1] + i * step[1]], other = no[at[2] + i * step[2]];
        out[i] = asks[at[0] + i * step[0]] != 0 ? chosen : other;
      }
      out += count;
    });
  });
  return {y.constant};
}

const KernelRow kMoveKernels[] = {
    {"Identity", runIdentity, false},   {"Dropout", runDropout, false}, {"Reshape", runReshape, false},
    {"Flatten", runFlatten, false},     {"Squeeze", runSqueeze, false}, {"Unsqueeze", runUnsqueeze, false},
    {"Transpose", runTranspose, false}, {"Concat", runConcat, false},   {"Split", runSplit, false},
    {"Expand", runExpand, false},       {"Tile", runTile, false},       {"Where", runWhere, false},
};

}  // namespace

std::span<const KernelRow> moveKernels() {
  return kMoveKernels;
}

}  // namespace pet::session
