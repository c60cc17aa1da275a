#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/ops/error_rules.h"
#include "ir/ops/kernels/support.h"

// Element-wise functions of one operand: the kernel and what is known of its rounding, one struct each, named by the
// rows of function.cc.
namespace pet::functions {

using kernels::fromNumber;
using kernels::times;

template <class T>
using Operands = std::span<const Tensor<T>* const>;
template <class T>
using Results = Expected<std::vector<Tensor<T>>>;

template <class T, class F>
Results<T> mapped(const Tensor<T>& x, F f) {
  Tensor<T> y(x.extents);
  std::transform(x.data.begin(), x.data.end(), y.data.begin(), f);
  return std::vector{std::move(y)};
}

/// The rings in which a function has a meaning.
enum class Over { kFloats, kOrdered, kField, kRing };

/// A bound of Clip; infinite ones are those of T.
template <class T>
Expected<T> boundOf(double number) {
  if (std::is_integral_v<T> && std::isinf(number)) {
    return number < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
  return fromNumber<T>(number);
}

inline double alphaSlope(const NodeExtents& n) {
  return std::max(1.0, std::abs(n.concrete.number("alpha")));
}

// Comparisons are written so that NaN stays NaN.

struct Relu {
  static constexpr Over kOver = Over::kOrdered;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return x < 0 ? T(0) : x; });
  }
  static ElementError error(const NodeExtents&, double) {
    return [](const Approximate* x) { return error_rules::clipped(x[0], 0, kUnknownError); };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kSelect, .elements = error};
};

struct LeakyRelu {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    return mapped(*in[0], [alpha = static_cast<T>(node.number("alpha"))](T x) { return x < 0 ? alpha * x : x; });
  }
  static ElementError error(const NodeExtents& n, double unit) {
    double alpha = std::abs(n.concrete.number("alpha"));
    return [=](const Approximate* x) {
      if (x[0].value - x[0].error >= 0) return x[0].error;
      if (!isBounded(x[0])) return unbounded(0, x[0]).error;
      return std::max(1.0, alpha) * x[0].error +
             product({alpha, alpha * unit}, {std::abs(x[0].value) + x[0].error, 0}, unit).error;
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .slope = alphaSlope, .elements = error};
};

struct Sigmoid {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) {
      T e = std::exp(-std::abs(x));
      return (x < 0 ? e : T(1)) / (1 + e);
    });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      double value = 1 / (1 + std::exp(-x[0].value));
      return error_rules::within(error_rules::smooth(x[0], 0.25, value, unit), 1);
    };
  }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .offset = error_rules::one, .elements = error};
};

struct Tanh {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::tanh(x); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      return error_rules::within(error_rules::smooth(x[0], 1, std::tanh(x[0].value), unit), 2);
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Erf {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::erf(x); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      return error_rules::within(error_rules::smooth(x[0], 1.13, std::erf(x[0].value), unit), 2);
    };  // 2/sqrt(pi)
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Sin {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::sin(x); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      return error_rules::within(error_rules::smooth(x[0], 1, std::sin(x[0].value), unit), 2);
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Cos {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::cos(x); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      return error_rules::within(error_rules::smooth(x[0], 1, std::cos(x[0].value), unit), 2);
    };
  }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .offset = error_rules::one, .elements = error};
};

struct Exp {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::exp(x); });
  }
  /// exp(x + d) - exp(x) = exp(x)·(exp(d) - 1).
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      double value = std::exp(x[0].value), least = underflow(unit);
      if (x[0].error == 0 && std::isinf(x[0].value) && x[0].value < 0) return 0.0;
      double largest =
          unit < 0x1p-40 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
      if (!isBounded(x[0]) || value > largest) return unbounded(0, x[0]).error;
      double moved = value == 0 ? std::exp(x[0].value + x[0].error) : value * std::expm1(x[0].error);
      return moved + error_rules::kFunctionRoundings * unit * (value + moved) + least;
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Log {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::log(x); });
  }
  /// log(x) - log(x - d) = -log(1 - d / x)
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      if (!isBounded(x[0]) || x[0].value <= x[0].error) return unbounded(0, x[0]).error;
      double moved = -std::log1p(-x[0].error / x[0].value);
      return moved + error_rules::kFunctionRoundings * unit * (std::abs(std::log(x[0].value)) + moved);
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Abs {
  static constexpr Over kOver = Over::kOrdered;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return x < 0 ? -x : x; });
  }
  static ElementError error(const NodeExtents&, double) {
    return [](const Approximate* x) { return x[0].error; };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kSelect, .elements = error};
};

struct Sqrt {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return std::sqrt(x); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) { return root(x[0], unit).error; };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Reciprocal {
  static constexpr Over kOver = Over::kField;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return T(1) / x; });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) { return quotient({1, 0}, x[0], unit).error; };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Square {
  static constexpr Over kOver = Over::kRing;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return times(x, x); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) { return product(x[0], x[0], unit).error; };
  }
  static double largest(const NodeExtents&, std::span<const double> operands) { return operands[0] * operands[0]; }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kProducts, .largest = largest, .elements = error};
};

struct Not {
  static constexpr Over kOver = Over::kRing;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return x == T(0) ? T(1) : T(0); });
  }
  static ElementError error(const NodeExtents&, double) {
    return [](const Approximate* x) {
      if (!isBounded(x[0])) return unbounded(0, x[0]).error;
      return isZero(x[0]) || std::abs(x[0].value) > x[0].error ? 0.0 : 1.0;
    };
  }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .offset = error_rules::one, .elements = error};
};

// Floor, Ceil and Mod have no kernel for integers, where they would show nothing.

/// To the next whole number; off by more than nothing only where another one may be the next.
template <double (*kNext)(double)>
struct ToWhole {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return static_cast<T>(kNext(x)); });
  }
  static ElementError error(const NodeExtents&, double) {
    return [](const Approximate* x) {
      if (!isBounded(x[0])) return unbounded(0, x[0]).error;
      return kNext(x[0].value - x[0].error) == kNext(x[0].value + x[0].error) ? 0.0 : x[0].error + 1;
    };
  }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .offset = error_rules::one, .elements = error};
};
using Floor = ToWhole<std::floor>;
using Ceil = ToWhole<std::ceil>;

/// x - d trunc(x / d), which has the sign of x and is exact.
struct Mod {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    return mapped(*in[0], [d = static_cast<T>(node.number("divisor"))](T x) { return std::fmod(x, d); });
  }
  /// Between two multiples of d it follows x.
  static ElementError error(const NodeExtents& n, double unit) {
    const double d = std::abs(n.concrete.number("divisor")), rounding = error_rules::roundingOf(d, unit);
    return [=](const Approximate* x) {
      if (!isBounded(x[0])) return unbounded(0, x[0]).error;
      auto multiple = [d](double z) { return std::trunc(z / d); };
      const bool stays = multiple(x[0].value - x[0].error) == multiple(x[0].value + x[0].error) && rounding == 0;
      return stays ? x[0].error : 2 * d;
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

/// x, below 0 alpha (e^x - 1), times gamma.
struct ScaledElu {
  template <class T>
  static T at(T x, double alpha, double gamma) {
    return static_cast<T>(gamma) * (x < 0 ? static_cast<T>(alpha) * std::expm1(x) : x);
  }
  static ElementError error(double alpha, double gamma, double unit) {
    const double slope = std::abs(gamma) * std::max(1.0, std::abs(alpha));
    return [=](const Approximate* x) { return error_rules::smooth(x[0], slope, at(x[0].value, alpha, gamma), unit); };
  }
};

struct Elu {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    return mapped(*in[0], [alpha = node.number("alpha")](T x) { return ScaledElu::at(x, alpha, 1); });
  }
  static ElementError error(const NodeExtents& n, double unit) {
    return ScaledElu::error(n.concrete.number("alpha"), 1, unit);
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .slope = alphaSlope, .elements = error};
};

struct Selu {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    return mapped(*in[0], [alpha = node.number("alpha"), gamma = node.number("gamma")](T x) {
      return ScaledElu::at(x, alpha, gamma);
    });
  }
  static double slope(const NodeExtents& n) { return alphaSlope(n) * std::abs(n.concrete.number("gamma")); }
  static ElementError error(const NodeExtents& n, double unit) {
    return ScaledElu::error(n.concrete.number("alpha"), n.concrete.number("gamma"), unit);
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .slope = slope, .elements = error};
};

struct Softplus {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return (x < 0 ? T(0) : x) + std::log1p(std::exp(-std::abs(x))); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      double value = std::max(x[0].value, 0.0) + std::log1p(std::exp(-std::abs(x[0].value)));
      return error_rules::smooth(x[0], 1, value, unit);
    };
  }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .offset = error_rules::one, .elements = error};
};

struct HardSwish {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return x * std::clamp(x / 6 + T(0.5), T(0), T(1)); });
  }
  /// x·clip(x/6 + 1/2): 0 below -3, x above 3; between them x/6 + 1/2 cancels.
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      if (x[0].value + x[0].error < -4) return 0.0;
      return error_rules::smooth(x[0], 1.5, x[0].value, unit);
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Swish {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    return mapped(*in[0], [alpha = static_cast<T>(node.number("alpha"))](T x) {
      T e = std::exp(-std::abs(alpha * x));
      return x * ((alpha * x < 0 ? e : T(1)) / (1 + e));
    });
  }
  /// The slope is that of alpha = 1, whatever alpha; exp(alpha·x) is as wrong as alpha·x is, in units of alpha·x, and
  /// may underflow.
  static ElementError error(const NodeExtents& n, double unit) {
    double alpha = n.concrete.number("alpha");
    double scale = alpha == 1 ? 0 : 2 * (unit * std::abs(alpha) + error_rules::roundingOf(alpha, unit));
    return [=](const Approximate* x) {
      double value = x[0].value / (1 + std::exp(-alpha * x[0].value));
      double largest = std::abs(value) + kSlope * x[0].error;
      double argument = std::abs(x[0].value) + x[0].error;
      return error_rules::smooth(x[0], kSlope, value, unit) + argument * (scale * largest + underflow(unit));
    };
  }
  static constexpr double kSlope = 1.1;
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Mish {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode&, Operands<T> in) {
    return mapped(*in[0], [](T x) { return x * std::tanh((x < 0 ? T(0) : x) + std::log1p(std::exp(-std::abs(x)))); });
  }
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      double softplus = std::max(x[0].value, 0.0) + std::log1p(std::exp(-std::abs(x[0].value)));
      return error_rules::smooth(x[0], 1.1, x[0].value * std::tanh(softplus), unit) +
             (std::abs(x[0].value) + x[0].error) * underflow(unit);
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct HardSigmoid {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    auto alpha = static_cast<T>(node.number("alpha")), beta = static_cast<T>(node.number("beta"));
    return mapped(*in[0], [=](T x) { return std::clamp(alpha * x + beta, T(0), T(1)); });
  }
  static ElementError error(const NodeExtents& n, double unit) {
    double alpha = n.concrete.number("alpha"), beta = n.concrete.number("beta");
    return [=](const Approximate* x) {
      if (!isBounded(x[0])) return unbounded(0, x[0]).error;
      Approximate line = sum(product({alpha, error_rules::roundingOf(alpha, unit)}, x[0], unit),
                             {beta, error_rules::roundingOf(beta, unit)}, unit);
      return error_rules::within(error_rules::clipped(line, 0, 1), 1);
    };
  }
  static double offset(const NodeExtents& n) { return 1 + std::abs(n.concrete.number("beta")); }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .slope = alphaSlope, .offset = offset, .elements = error};
};

struct Gelu {
  static constexpr Over kOver = Over::kFloats;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    if (node.text("approximate") == "tanh") {
      const T root = std::sqrt(T(2) / std::numbers::pi_v<T>);
      return mapped(*in[0], [=](T x) { return x / 2 * (1 + std::tanh(root * (x + T(0.044715) * x * x * x))); });
    }
    return mapped(*in[0], [](T x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>)); });
  }
  /// x/2·(1 + erf(x/sqrt(2))), or by tanh: for x < 0 the sum cancels; below -10 both are 0 to 1e-22.
  static ElementError error(const NodeExtents&, double unit) {
    return [=](const Approximate* x) {
      if (x[0].value + x[0].error < -10) return 1e-22;
      return error_rules::smooth(x[0], 1.13, x[0].value, unit);
    };
  }
  static constexpr Rounding kRounding = {.arithmetic = Arithmetic::kFunction, .elements = error};
};

struct Clip {
  static constexpr Over kOver = Over::kOrdered;
  template <class T>
  static Results<T> run(const ConcreteNode& node, Operands<T> in) {
    auto low = boundOf<T>(node.number("min")), high = boundOf<T>(node.number("max"));
    if (!low || !high) return tl::unexpected((low ? high : low).error());
    return mapped(*in[0], [a = *low, b = *high](T x) { return x < a ? a : b < x ? b : x; });
  }
  static ElementError error(const NodeExtents& n, double unit) {
    double low = n.concrete.number("min"), high = n.concrete.number("max");
    double bounds = std::max(error_rules::roundingOf(low, unit), error_rules::roundingOf(high, unit));
    return [=](const Approximate* x) { return error_rules::clipped(x[0], low, high) + bounds; };
  }
  /// The least magnitude that a range forces on what is clipped to it.
  static double offset(const NodeExtents& n) {
    return std::max({0.0, n.concrete.number("min"), -n.concrete.number("max")});
  }
  static bool whole(const NodeExtents& n) {
    auto integral = [](double x) { return std::isinf(x) || std::trunc(x) == x; };
    return integral(n.concrete.number("min")) && integral(n.concrete.number("max"));
  }
  static constexpr Rounding kRounding = {
      .arithmetic = Arithmetic::kFunction, .offset = offset, .whole = whole, .elements = error};
};

}  // namespace pet::functions
