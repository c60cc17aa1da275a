// TopK, ArgMax, ArgMin, CumSum.

#include <algorithm>
#include <numeric>

#include "session/kernels/along_axis.h"
#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

std::vector<Constant> runTopK(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const size_t axis = call.axisOf("axis", -1, x.extents.size());
  const int64_t k = call.opset() < 10 ? call.integer("k", 0) : call.scalar(1);
  const bool largest = call.integer("largest", 1) != 0;
  const AlongAxis in(x.extents, axis);
  if (k < 0 || k > in.extent) throw BadNode{fmt::format("the {} largest of {}", k, in.extent)};
  Extents to = x.extents;
  to[axis] = k;
  const AlongAxis out(to, axis);
  Made<int64_t> indices = make<int64_t>(ElementType::kInt64, to);
  return withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> values = make<T>(x.element, to);
    const auto from = dataOf<T>(x);
    std::vector<int64_t> order(static_cast<size_t>(in.extent));
    for (int64_t r = 0; r < in.rows(); ++r) {
      const T* row = from.data() + in.start(r);
      auto before = [&](int64_t a, int64_t b) {
        const T p = row[a * in.inner], q = row[b * in.inner];
        return p == q ? a < b : largest ? p > q : p < q;
      };
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      for (int64_t i = 0; i < k; ++i) {
        const int64_t at = out.start(r) + i * out.inner;
        values.data[at] = row[order[static_cast<size_t>(i)] * in.inner];
        indices.data[at] = order[static_cast<size_t>(i)];
      }
    }
    return std::vector<Constant>{values.constant, indices.constant};
  });
}

std::vector<Constant> argBest(const NodeCall& call, bool largest) {
  const Constant& x = call.operand(0);
  const size_t axis = call.axisOf("axis", 0, x.extents.size());
  const bool last = call.integer("select_last_index", 0) != 0;
  const AlongAxis in(x.extents, axis);
  if (in.extent == 0) throw BadNode{"the largest of none"};
  Extents to = x.extents;
  to[axis] = 1;
  if (call.integer("keepdims", 1) == 0) to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
  Made<int64_t> y = make<int64_t>(ElementType::kInt64, to);
  withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    const auto from = dataOf<T>(x);
    for (int64_t r = 0; r < in.rows(); ++r) {
      const T* row = from.data() + in.start(r);
      int64_t best = 0;
      for (int64_t i = 1; i < in.extent; ++i) {
        const T p = row[i * in.inner], q = row[best * in.inner];
        if ((largest ? p > q : p < q) || (last && p == q)) best = i;
      }
      y.data[r] = best;
    }
  });
  return {y.constant};
}

/// Sums, or products, of what stands before along an axis.
template <class F>
std::vector<Constant> cumulated(const NodeCall& call, int first, F with) {
  const Constant& x = call.operand(0);
  const size_t axis = call.axis(call.scalar(1), x.extents.size());
  const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
  const AlongAxis in(x.extents, axis);
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> y = make<T>(x.element, x.extents);
    const auto from = dataOf<T>(x);
    for (int64_t r = 0; r < in.rows(); ++r) {
      T sum = static_cast<T>(first);
      for (int64_t i = 0; i < in.extent; ++i) {
        const int64_t at = in.start(r) + (reverse ? in.extent - 1 - i : i) * in.inner;
        const T next = static_cast<T>(with(sum, from[static_cast<size_t>(at)]));
        y.data[at] = exclusive ? sum : next;
        sum = next;
      }
    }
    return y.constant;
  })};
}

const KernelRow kOrderKernels[] = {
    {"TopK", runTopK},
    {"ArgMax", [](const NodeCall& c) { return argBest(c, true); }, true, -1},
    {"ArgMin", [](const NodeCall& c) { return argBest(c, false); }, true, -1},
    {"CumSum", [](const NodeCall& c) { return cumulated(c, 0, [](auto a, auto b) { return a + b; }); }},
    {"CumProd", [](const NodeCall& c) { return cumulated(c, 1, [](auto a, auto b) { return a * b; }); }},
};

}  // namespace

std::span<const KernelRow> orderKernels() {
  return kOrderKernels;
}

}  // namespace pet::session
