// Reductions of numbers of any type. Sums of floating point are in double.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

struct ReducedAxes {
  std::vector<bool> along;  ///< per dimension
  Extents kept;             ///< 1 along these
  Extents result;           ///< as the node wants it
};

ReducedAxes axesOf(const NodeCall& call) {
  const Extents& x = call.extents(0);
  const int64_t since = call.node().type == "ReduceSum" ? 13 : 18;
  const auto given = call.given("axes", 1, since);
  const bool none = !given || given->empty();
  ReducedAxes axes{std::vector<bool>(x.size(), none && call.integer("noop_with_empty_axes", 0) == 0), x, {}};
  if (!none) {
    for (int64_t a : *given)
      axes.along[call.axis(a, x.size())] = true;
  }
  const bool keeps = call.integer("keepdims", 1) != 0;
  for (size_t d = 0; d < x.size(); ++d) {
    if (axes.along[d]) axes.kept[d] = 1;
    if (!axes.along[d] || keeps) axes.result.push_back(axes.kept[d]);
  }
  return axes;
}

/// y = finish(Σ step(…), how many), from `first` on.
template <class Step, class Finish>
std::vector<Constant> reducedBy(const NodeCall& call, double first, Step step, Finish finish) {
  const Constant& x = call.operand(0);
  const ReducedAxes axes = axesOf(call);
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const auto infinite = std::isinf(first);
    const Sum begin = !infinite || std::is_floating_point_v<T> ? static_cast<Sum>(first)
                    : first > 0                                ? std::numeric_limits<Sum>::max()
                                                               : std::numeric_limits<Sum>::lowest();
    std::vector<Sum> sums(static_cast<size_t>(elementCount(axes.kept)), begin);
    auto strides = broadcastStrides(axes.kept, x.extents);
    const T* from = dataOf<T>(x).data();
    forRows<1>(x.extents, {strides}, [&](const auto& at, int64_t count, const auto& by) {
      for (int64_t i = 0; i < count; ++i) {
        Sum& sum = sums[static_cast<size_t>(at[0] + i * by[0])];
        sum = static_cast<Sum>(step(sum, static_cast<Sum>(*from++)));
      }
    });
    const auto each =
        static_cast<double>(elementCount(x.extents)) / static_cast<double>(std::max<size_t>(sums.size(), 1));
    Made<T> y = make<T>(x.element, axes.result);
    std::transform(sums.begin(), sums.end(), y.data, [&](Sum s) { return static_cast<T>(finish(s, each)); });
    return y.constant;
  })};
}

constexpr double kMostOf = std::numeric_limits<double>::infinity();

constexpr auto kAsItIs = [](auto sum, double) { return sum; };
constexpr auto kAdds = [](auto sum, auto x) { return sum + x; };
constexpr auto kAddsSquares = [](auto sum, auto x) { return sum + x * x; };
constexpr auto kAddsSizes = [](auto sum, auto x) { return x < 0 ? sum - x : sum + x; };

/// log Σ exp(x), without overflow: exp(x - max) is summed.
std::vector<Constant> runLogSumExp(const NodeCall& call) {
  return reducedBy(
      call, -kMostOf,
      [](auto sum, auto x) {
        const auto a = static_cast<double>(sum), b = static_cast<double>(x), most = std::max(a, b);
        if (std::isinf(most)) return most;
        return most + std::log(std::exp(a - most) + std::exp(b - most));
      },
      kAsItIs);
}

using Call = const NodeCall&;

const KernelRow kReduceKernels[] = {
    {"ReduceSum", [](Call c) { return reducedBy(c, 0, kAdds, kAsItIs); }},
    {"ReduceMean",
     [](Call c) { return reducedBy(c, 0, kAdds, [](auto sum, double n) { return static_cast<double>(sum) / n; }); }},
    {"ReduceMax",
     [](Call c) {
       return reducedBy(
           c, -kMostOf, [](auto a, auto x) { return x != x || x > a ? x : a; }, kAsItIs);
     }},
    {"ReduceMin",
     [](Call c) {
       return reducedBy(
           c, kMostOf, [](auto a, auto x) { return x != x || x < a ? x : a; }, kAsItIs);
     }},
    {"ReduceProd",
     [](Call c) {
       return reducedBy(
           c, 1, [](auto a, auto x) { return a * x; }, kAsItIs);
     }},
    {"ReduceL1", [](Call c) { return reducedBy(c, 0, kAddsSizes, kAsItIs); }},
    {"ReduceL2",
     [](Call c) {
       return reducedBy(c, 0, kAddsSquares, [](auto sum, double) { return std::sqrt(static_cast<double>(sum)); });
     }},
    {"ReduceSumSquare", [](Call c) { return reducedBy(c, 0, kAddsSquares, kAsItIs); }},
    {"ReduceLogSum",
     [](Call c) {
       return reducedBy(c, 0, kAdds, [](auto sum, double) { return std::log(static_cast<double>(sum)); });
     }},
    {"ReduceLogSumExp", runLogSumExp},
};

}  // namespace

std::span<const KernelRow> reduceKernels() {
  return kReduceKernels;
}

}  // namespace pet::session
