// Arithmetic, comparisons, functions: number by number.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

/// y = f(a, b), broadcast. `R`: the type of y in memory.
template <class R, class T, class F>
Constant combinedBy(const Constant& a, const Constant& b, ElementType element, F f) {
  const Extents to = broadcastExtents(a.extents, b.extents);
  Made<R> y = make<R>(element, to);
  const std::span<const T> left = dataOf<T>(a), right = dataOf<T>(b);
  const std::array strides{broadcastStrides(a.extents, to), broadcastStrides(b.extents, to)};
  R* out = y.data;
  forRows<2>(to, strides, [&](const auto& at, int64_t count, const auto& step) {
    const T *p = left.data() + at[0], *q = right.data() + at[1];
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<R>(f(p[i * step[0]], q[i * step[1]]));
    out += count;
  });
  return y.constant;
}

void requireSameType(const Constant& a, const Constant& b) {
  if (a.element != b.element) throw BadNode{fmt::format("operands of {} and {}", str(a.element), str(b.element))};
}

/// One result of the operands' type; of more than two operands, one after another.
template <class F>
std::vector<Constant> folded(const NodeCall& call, F f) {
  Constant y = call.operand(0);
  for (size_t i = 1; i < call.operandCount(); ++i) {
    const Constant& x = call.operand(i);
    requireSameType(y, x);
    y = withType(y.element, [&](auto zero) {
      using T = decltype(zero);
      return combinedBy<T, T>(y, x, y.element, f);
    });
  }
  return {y};
}

template <class F>
std::vector<Constant> compared(const NodeCall& call, F f) {
  const Constant &a = call.operand(0), &b = call.operand(1);
  requireSameType(a, b);
  return {withType(a.element, [&](auto zero) {
    using T = decltype(zero);
    return combinedBy<uint8_t, T>(a, b, ElementType::kBool, f);
  })};
}

/// y = f(x) of the same type.
template <class F>
std::vector<Constant> mapped(const NodeCall& call, F f) {
  const Constant& x = call.operand(0);
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> y = make<T>(x.element, x.extents);
    const auto from = dataOf<T>(x);
    std::transform(from.begin(), from.end(), y.data, [&](T v) { return static_cast<T>(f(v)); });
    return y.constant;
  })};
}

/// y = f(x) of floating point.
template <class F>
std::vector<Constant> mappedReal(const NodeCall& call, F f) {
  if (!isComputed(call.operand(0).element)) throw BadNode{"it is for floating point"};
  return mapped(call, [f](auto v) { return f(static_cast<double>(v)); });
}

template <class F>
std::vector<Constant> asked(const NodeCall& call, F f) {
  const Constant& x = call.operand(0);
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<uint8_t> y = make<uint8_t>(ElementType::kBool, x.extents);
    const auto from = dataOf<T>(x);
    std::transform(from.begin(), from.end(), y.data, [&](T v) { return f(v) ? 1 : 0; });
    return y.constant;
  })};
}

template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) throw BadNode{"an integer is divided by 0"};
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
  }
  return a / b;
}

/// With the sign of the divisor, or with `fmod` that of the number.
template <class T>
T remainderOf(T a, T b, bool fmod) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) throw BadNode{"an integer is divided by 0"};
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    const T r = a % b;
    return !fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    const T r = std::fmod(a, b);
    return !fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
}

/// Modulo 2^64 for integers.
template <class T>
T integerPower(T base, int64_t exponent) {
  T y = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) y = static_cast<T>(static_cast<uint64_t>(y) * static_cast<uint64_t>(base));
    base = static_cast<T>(static_cast<uint64_t>(base) * static_cast<uint64_t>(base));
  }
  return y;
}

/// The exponents' type may be another than the numbers'.
std::vector<Constant> runPow(const NodeCall& call) {
  const Constant &x = call.operand(0), &n = call.operand(1);
  const bool whole = !isComputed(x.element) && !isComputed(n.element);
  Constant exponents{n.element, n.extents, n.bytes};
  if (whole) {
    if (x.element != n.element) throw BadNode{"exponents of another type of integers"};
    return {withType(x.element, [&](auto zero) {
      using T = decltype(zero);
      return combinedBy<T, T>(x, exponents, x.element, [](T a, T b) {
        return b < 0 ? static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)))
                     : integerPower(a, static_cast<int64_t>(b));
      });
    })};
  }
  const Constant base = Constant::of(Tensor<double>(x.extents, doublesOf(x)));
  exponents = Constant::of(Tensor<double>(n.extents, doublesOf(n)));
  const Constant y = combinedBy<double, double>(base, exponents, ElementType::kDouble,
                                                [](double a, double b) { return std::pow(a, b); });
  if (x.element == ElementType::kDouble) return {y};
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    Made<T> narrow = make<T>(x.element, y.extents);
    const auto from = dataOf<double>(y);
    std::transform(from.begin(), from.end(), narrow.data, [](double v) { return static_cast<T>(v); });
    return narrow.constant;
  })};
}

/// What `what` has no meaning for is passed on: NaN.
template <class T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

std::vector<Constant> runClip(const NodeCall& call) {
  const Constant& x = call.operand(0);
  return {withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    T low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
    if (std::is_floating_point_v<T>) {
      low = -std::numeric_limits<T>::infinity();
      high = std::numeric_limits<T>::infinity();
    }
    if (call.opset() < 11) {
      low = static_cast<T>(call.number("min", static_cast<double>(low)));
      high = static_cast<T>(call.number("max", static_cast<double>(high)));
    }
    if (call.opset() >= 11 && call.has(1)) low = dataOf<T>(call.operand(1))[0];
    if (call.opset() >= 11 && call.has(2)) high = dataOf<T>(call.operand(2))[0];
    Made<T> y = make<T>(x.element, x.extents);
    const auto from = dataOf<T>(x);
    std::transform(from.begin(), from.end(), y.data,
                   [&](T v) { return v != v ? v : std::min(std::max(v, low), high); });
    return y.constant;
  })};
}

std::vector<Constant> runMod(const NodeCall& call) {
  const bool fmod = call.integer("fmod", 0) != 0;
  return folded(call, [fmod](auto a, auto b) { return remainderOf(a, b, fmod); });
}

std::vector<Constant> runIsInf(const NodeCall& call) {
  const bool below = call.integer("detect_negative", 1) != 0, above = call.integer("detect_positive", 1) != 0;
  return asked(call, [&](auto v) {
    const auto x = static_cast<double>(v);
    return std::isinf(x) && (x < 0 ? below : above);
  });
}

template <class F>
std::vector<Constant> foldedBits(const NodeCall& call, F f) {
  if (isComputed(call.operand(0).element)) throw BadNode{"it is for integers"};
  return folded(call, [f](auto a, auto b) {
    return static_cast<decltype(a)>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  });
}

/// Beyond the width, or by less than 0, nothing but the sign is left; to the left nothing at all.
template <class T>
T shifted(T x, T by, bool left) {
  const bool beyond = by < T{0} || by > T{63};
  if (left) return beyond ? T{0} : static_cast<T>(static_cast<uint64_t>(x) << static_cast<uint64_t>(by));
  if (beyond) return x < T{0} ? static_cast<T>(-1) : T{0};
  return static_cast<T>(x >> by);
}

std::vector<Constant> runShift(const NodeCall& call) {
  const bool left = call.text("direction", "") == "LEFT";
  if (isComputed(call.operand(0).element)) throw BadNode{"it is for integers"};
  return folded(call, [left](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) return shifted(a, b, left);
    if constexpr (!std::is_integral_v<decltype(a)>) return a;
  });
}

std::vector<Constant> runMean(const NodeCall& call) {
  auto sum = folded(call, [](auto a, auto b) { return a + b; });
  const auto count = static_cast<double>(call.operandCount());
  GraphNode none;
  return mappedReal(NodeCall(none, call.opset(), {sum.data()}), [count](double v) { return v / count; });
}

std::vector<Constant> runCelu(const NodeCall& call) {
  const double a = call.number("alpha", 1);
  return mappedReal(call, [=](double v) { return std::max(0.0, v) + std::min(0.0, a * (std::exp(v / a) - 1)); });
}

std::vector<Constant> runThresholdedRelu(const NodeCall& call) {
  const double a = call.number("alpha", 1);
  return mappedReal(call, [=](double v) { return v > a ? v : 0; });
}

std::vector<Constant> runShrink(const NodeCall& call) {
  const double bias = call.number("bias", 0), edge = call.number("lambd", 0.5);
  return mapped(call, [=](auto v) {
    const auto x = static_cast<double>(v);
    return x < -edge ? x + bias : x > edge ? x - bias : 0;
  });
}

using Call = const NodeCall&;

// Sums and products of integers are modulo 2^64, which narrows to any type.
template <class T>
auto modular(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<uint64_t>(x);
  if constexpr (!std::is_integral_v<T>) return x;
}

const KernelRow kElementKernels[] = {
    {"Add", [](Call c) { return folded(c, [](auto a, auto b) { return modular(a) + modular(b); }); }},
    {"Sum", [](Call c) { return folded(c, [](auto a, auto b) { return a + b; }); }},
    {"Mean", runMean},
    {"Sub", [](Call c) { return folded(c, [](auto a, auto b) { return modular(a) - modular(b); }); }},
    {"Mul", [](Call c) { return folded(c, [](auto a, auto b) { return modular(a) * modular(b); }); }},
    {"Div", [](Call c) { return folded(c, [](auto a, auto b) { return quotient(a, b); }); }},
    {"Mod", runMod},
    {"Pow", runPow},
    {"Max", [](Call c) { return folded(c, [](auto a, auto b) { return larger(a, b); }); }},
    {"Min", [](Call c) { return folded(c, [](auto a, auto b) { return smaller(a, b); }); }},
    {"Clip", runClip},
    {"Equal", [](Call c) { return compared(c, [](auto a, auto b) { return a == b; }); }, true, -1},
    {"Greater", [](Call c) { return compared(c, [](auto a, auto b) { return a > b; }); }, true, -1},
    {"GreaterOrEqual", [](Call c) { return compared(c, [](auto a, auto b) { return a >= b; }); }, true, -1},
    {"Less", [](Call c) { return compared(c, [](auto a, auto b) { return a < b; }); }, true, -1},
    {"LessOrEqual", [](Call c) { return compared(c, [](auto a, auto b) { return a <= b; }); }, true, -1},
    {"And", [](Call c) { return compared(c, [](auto a, auto b) { return a != 0 && b != 0; }); }, true, -1},
    {"Or", [](Call c) { return compared(c, [](auto a, auto b) { return a != 0 || b != 0; }); }, true, -1},
    {"Xor", [](Call c) { return compared(c, [](auto a, auto b) { return (a != 0) != (b != 0); }); }, true, -1},
    {"Not", [](Call c) { return asked(c, [](auto v) { return v == 0; }); }, true, -1},
    {"IsNaN", [](Call c) { return asked(c, [](auto v) { return v != v; }); }, true, -1},
    {"IsInf", runIsInf, true, -1},
    {"BitwiseAnd", [](Call c) { return foldedBits(c, [](uint64_t a, uint64_t b) { return a & b; }); }},
    {"BitwiseOr", [](Call c) { return foldedBits(c, [](uint64_t a, uint64_t b) { return a | b; }); }},
    {"BitwiseXor", [](Call c) { return foldedBits(c, [](uint64_t a, uint64_t b) { return a ^ b; }); }},
    {"BitwiseNot", [](Call c) { return mapped(c, [](auto v) { return ~static_cast<uint64_t>(v); }); }},
    {"BitShift", runShift},
    {"Abs", [](Call c) { return mapped(c, [](auto v) { return v < 0 ? 0 - v : v; }); }},
    {"Neg", [](Call c) { return mapped(c, [](auto v) { return -modular(v); }); }},
    {"Sign", [](Call c) { return mapped(c, [](auto v) { return (v > 0 ? 1 : 0) - (v < 0 ? 1 : 0); }); }},
    {"Relu", [](Call c) { return mapped(c, [](auto v) { return v < 0 ? decltype(v){} : v; }); }},
    {"Ceil", [](Call c) { return mappedReal(c, [](double v) { return std::ceil(v); }); }},
    {"Floor", [](Call c) { return mappedReal(c, [](double v) { return std::floor(v); }); }},
    {"Round", [](Call c) { return mappedReal(c, [](double v) { return std::nearbyint(v); }); }},
    {"Softsign", [](Call c) { return mappedReal(c, [](double v) { return v / (1 + std::abs(v)); }); }},
    {"ThresholdedRelu", runThresholdedRelu},
    {"Celu", runCelu},
    {"Shrink", runShrink},
    {"Reciprocal", [](Call c) { return mappedReal(c, [](double v) { return 1 / v; }); }},
    {"Sqrt", [](Call c) { return mappedReal(c, [](double v) { return std::sqrt(v); }); }},
    {"Exp", [](Call c) { return mappedReal(c, [](double v) { return std::exp(v); }); }},
    {"Log", [](Call c) { return mappedReal(c, [](double v) { return std::log(v); }); }},
    {"Erf", [](Call c) { return mappedReal(c, [](double v) { return std::erf(v); }); }},
    {"Sin", [](Call c) { return mappedReal(c, [](double v) { return std::sin(v); }); }},
    {"Cos", [](Call c) { return mappedReal(c, [](double v) { return std::cos(v); }); }},
    {"Tan", [](Call c) { return mappedReal(c, [](double v) { return std::tan(v); }); }},
    {"Asin", [](Call c) { return mappedReal(c, [](double v) { return std::asin(v); }); }},
    {"Acos", [](Call c) { return mappedReal(c, [](double v) { return std::acos(v); }); }},
    {"Atan", [](Call c) { return mappedReal(c, [](double v) { return std::atan(v); }); }},
    {"Sinh", [](Call c) { return mappedReal(c, [](double v) { return std::sinh(v); }); }},
    {"Cosh", [](Call c) { return mappedReal(c, [](double v) { return std::cosh(v); }); }},
    {"Tanh", [](Call c) { return mappedReal(c, [](double v) { return std::tanh(v); }); }},
    {"Asinh", [](Call c) { return mappedReal(c, [](double v) { return std::asinh(v); }); }},
    {"Acosh", [](Call c) { return mappedReal(c, [](double v) { return std::acosh(v); }); }},
    {"Atanh", [](Call c) { return mappedReal(c, [](double v) { return std::atanh(v); }); }},
};

}  // namespace

std::span<const KernelRow> elementKernels() {
  return kElementKernels;
}

}  // namespace pet::session
