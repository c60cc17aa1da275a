// Softmax, normalisations and Resize, written against their kernels in ir/ops/kernels.

#include <algorithm>
#include <numeric>

#include "ir/ops/error_rules.h"
#include "ir/ops/kernels.h"
#include "ir/ops/kernels/support.h"
#include "ir/ops/resize.h"

namespace pet::error_rules {
namespace {

/// The normalisations take their statistics in double precision.
constexpr double kDouble = std::numeric_limits<double>::epsilon() / 2;

/// γ_n for this unit roundoff.
double gamma(int64_t n, double unit) {
  double nu = static_cast<double>(n) * unit;
  return nu < 1 ? nu / (1 - nu) : kUnknownError;
}

/// Of a row: its largest value, and its largest error; kUndefined where a value is not defined, and the value is then
/// not that of the whole row.
struct Largest {
  double value = -std::numeric_limits<double>::infinity(), error = 0;
};

Largest largestOf(const Approximate* x, int64_t count, int64_t stride) {
  Largest largest;
  for (int64_t i = 0; i < count && !std::isnan(largest.error); ++i) {
    const Approximate& a = x[i * stride];
    largest.value = std::max(largest.value, a.value);
    largest.error = std::isnan(a.error) ? kUndefined : std::max(a.error, largest.error);
  }
  return largest;
}

/// exp(d_i) / Σ exp(d_j), d = x - max x: errors of x multiply numerator and sum by exp(±error), the rounding of d_i by
/// exp(±u·|d_i|); the sum is at least 1.
void softmaxRow(const Approximate* x, int64_t count, int64_t stride, double unit, double* errors) {
  const auto [top, worst] = largestOf(x, count, stride);
  double total = 0;
  if (!std::isfinite(top) || !std::isfinite(worst)) {
    for (int64_t i = 0; i < count; ++i)
      errors[i * stride] = std::isnan(worst) ? kUndefined : kUnknownError;
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    total += errors[i * stride] = std::exp(x[i * stride].value - top);
  const double sums = gamma(count + 20, unit);
  for (int64_t i = 0; i < count; ++i) {
    double d = x[i * stride].value - top, y = errors[i * stride] / total;
    if (std::isinf(d)) continue;  // -inf: surely 0
    double shift = x[i * stride].error + worst + unit * std::abs(d) + sums;
    // Neither the exact value nor the other is above exp(d + shift), nor above 1.
    double moved = shift < 1e-3 ? y * shift * (1 + shift) : y * std::expm1(std::min(shift, 700.0));
    if (shift > 1 || y == 0) moved = std::exp(std::min(0.0, d + shift)) * (1 + sums);
    errors[i * stride] = moved + underflow(unit);
  }
}

/// d_i - log Σ exp(d_j), d = x - max x. Each exp(d_j) is off by u·(|d_j| + 16) of itself, and the sum's logarithm by
/// what the sum is off by of itself.
void logSoftmaxRow(const Approximate* x, int64_t count, int64_t stride, double unit, double* errors) {
  const auto [top, worst] = largestOf(x, count, stride);
  double total = 0, rounded = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = x[i * stride].value - top, e = std::exp(d);
    total += e;
    if (e > 0) rounded += e * unit * std::abs(d);
  }
  const double relative = rounded / total + gamma(count + 20, unit);
  const bool isKnown = std::isfinite(top) && std::isfinite(worst) && relative < 0.5;
  for (int64_t i = 0; i < count; ++i) {
    const Approximate& a = x[i * stride];
    const double y = a.value - top - std::log(total);
    const double roundings = std::abs(a.value - top) + kFunctionRoundings * std::log(total) + std::abs(y);
    double& error = errors[i * stride];
    error = std::isnan(worst) ? kUndefined : kUnknownError;
    if (isKnown) error = std::isinf(y) ? 0 : a.error + worst - std::log1p(-relative) + unit * roundings;
  }
}

/// y / sqrt(mean of squares + epsilon) over one row; what squares are added up and divided in double precision.
void unitized(Approximate* y, int64_t count, double epsilon, double unit) {
  const double n = static_cast<double>(count), stats = gamma(count + 2, kDouble);
  Approximate squares;
  for (int64_t i = 0; i < count; ++i) {
    squares.value += y[i].value * y[i].value;
    squares.error += (2 * std::abs(y[i].value) + y[i].error) * y[i].error + stats * y[i].value * y[i].value;
  }
  squares = sum({squares.value / n, squares.error / n}, {epsilon, 0}, kDouble);
  Approximate scale = quotient({1, 0}, root(squares, kDouble), kDouble);
  for (int64_t i = 0; i < count; ++i) {
    Approximate z = product(y[i], scale, unit);
    y[i] = isBounded(z) ? rounded(z.value, z.error, unit) : z;  // in double, then once more
  }
}

/// (x - mean) / sqrt(variance + epsilon) over one row.
void standardized(const Approximate* x, int64_t count, double epsilon, double unit, Approximate* y) {
  const double n = static_cast<double>(count), stats = gamma(count + 2, kDouble);
  Approximate mean;
  for (int64_t i = 0; i < count; ++i) {
    mean.value += x[i].value;
    mean.error += x[i].error + stats * std::abs(x[i].value);
  }
  mean = {mean.value / n, mean.error / n};
  for (int64_t i = 0; i < count; ++i)
    y[i] = sum(x[i], negated(mean), kDouble);
  unitized(y, count, epsilon, unit);
}

/// By `row(x, count, stride, unit, errors)` for each row along the node's axis.
template <class Row>
std::vector<double> alongAxis(const NodeExtents& n, const Approximates& x, double unit, Row row) {
  std::vector<double> errors(x.data.size());
  auto axis = static_cast<size_t>(n.concrete.scalar("axis"));
  int64_t count = x.extents[axis], stride = rowMajorStrides(x.extents)[axis];
  if (errors.empty()) return errors;
  for (int64_t outer = 0; outer < x.size(); outer += count * stride) {
    for (int64_t i = outer; i < outer + stride; ++i)
      row(x.data.data() + i, count, stride, unit, errors.data() + i);
  }
  return errors;
}

}  // namespace

std::vector<double> softmax(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  return alongAxis(n, in[0], unit, softmaxRow);
}

std::vector<double> logSoftmax(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  return alongAxis(n, in[0], unit, logSoftmaxRow);
}

/// (x - mean) · (scale / sqrt(variance + epsilon)) + bias; the factor in double, then rounded.
std::vector<double> batchNormalization(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates& x = in[0];
  std::vector<double> errors(x.data.size());
  int64_t count = countFrom(x.extents, 2), channels = x.extents[1];
  for (int64_t plane = 0; plane < x.extents[0] * channels; ++plane) {
    auto c = static_cast<size_t>(plane % channels);
    Approximate deviation = root(sum(in[4].data[c], {n.concrete.number("epsilon"), 0}, kDouble), kDouble);
    Approximate factor = quotient(in[1].data[c], deviation, 2 * unit);
    for (int64_t i = plane * count; i < (plane + 1) * count; ++i) {
      auto at = static_cast<size_t>(i);
      Approximate centred = sum(x.data[at], negated(in[3].data[c]), unit);
      errors[at] = sum(product(centred, factor, unit), in[2].data[c], unit).error;
    }
  }
  return errors;
}

std::vector<double> instanceNormalization(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates& x = in[0];
  std::vector<double> errors(x.data.size());
  int64_t count = countFrom(x.extents, 2), channels = x.extents[1];
  std::vector<Approximate> row(static_cast<size_t>(count));
  for (int64_t plane = 0; plane < x.extents[0] * channels; ++plane) {
    auto c = static_cast<size_t>(plane % channels);
    standardized(x.data.data() + plane * count, count, n.concrete.number("epsilon"), unit, row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      errors[static_cast<size_t>(plane * count) + i] =
          sum(product(row[i], in[1].data[c], unit), in[2].data[c], unit).error;
    }
  }
  return errors;
}

std::vector<double> layerNormalization(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates& x = in[0];
  std::vector<double> errors(x.data.size());
  std::vector<Approximate> row(
      static_cast<size_t>(countFrom(x.extents, static_cast<size_t>(n.concrete.scalar("axis")))));
  if (row.empty()) return errors;
  for (size_t first = 0; first < errors.size(); first += row.size()) {
    standardized(x.data.data() + first, static_cast<int64_t>(row.size()), n.concrete.number("epsilon"), unit,
                 row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      Approximate bias = in.size() > 2 ? in[2].data[i] : Approximate{};
      errors[first + i] = sum(product(row[i], in[1].data[i], unit), bias, unit).error;
    }
  }
  return errors;
}

std::vector<double> rmsNormalization(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  std::vector<Approximate> values = in[0].data;
  std::vector<double> errors(values.size());
  const int64_t count = countFrom(in[0].extents, static_cast<size_t>(n.concrete.scalar("axis")));
  for (size_t first = 0; first < errors.size(); first += static_cast<size_t>(count)) {
    unitized(values.data() + first, count, n.concrete.number("epsilon"), unit);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      errors[first + i] = product(values[first + i], in[1].data[i], unit).error;
  }
  return errors;
}

/// x / (bias + alpha / size · Σ x²)^beta; the divisor in double, and the quotient before it is rounded.
std::vector<double> lrn(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates& x = in[0];
  std::vector<double> errors(x.data.size());
  const int64_t count = countFrom(x.extents, 2), channels = x.extents[1], size = n.concrete.scalar("size");
  const int64_t below = (size - 1) / 2, above = size - 1 - below;
  const Approximate factor{n.concrete.number("alpha") / static_cast<double>(size), 0};
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t c = i / count % channels;
    Approximate squares;
    for (int64_t k = std::max<int64_t>(0, c - below); k <= std::min(channels - 1, c + above); ++k) {
      const Approximate& tap = x.data[static_cast<size_t>(i + (k - c) * count)];
      squares = sum(squares, product(tap, tap, kDouble), kDouble);
    }
    const Approximate base = sum({n.concrete.number("bias"), 0}, product(factor, squares, 2 * kDouble), kDouble);
    const Approximate divisor = powered(base, n.concrete.number("beta"), kDouble);
    errors[static_cast<size_t>(i)] = quotient(x.data[static_cast<size_t>(i)], divisor, unit).error;
  }
  return errors;
}

/// The root of a sum of squares.
std::vector<double> reduceL2(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates& x = in[0];
  Tensor<double> squares(x.extents), moved(x.extents);
  for (size_t i = 0; i < x.data.size(); ++i) {
    const Approximate square = product(x.data[i], x.data[i], unit);
    squares.data[i] = square.value;
    moved.data[i] = square.error;
  }
  auto summed = [&](const Tensor<double>& values) {
    const Tensor<double>* operand = &values;
    return kernels::ReduceSum::run<double>(n.concrete, {&operand, 1}).value()[0].data;
  };
  const std::vector<double> sums = summed(squares), errors = summed(moved);
  const double own = gamma(x.size() / std::max<int64_t>(1, static_cast<int64_t>(sums.size())), unit);
  std::vector<double> result;
  for (size_t i = 0; i < sums.size(); ++i)
    result.push_back(root({sums[i], errors[i] + own * (sums[i] + errors[i])}, unit).error);
  return result;
}

/// An index that is not exact may be another one.
std::vector<double> oneHot(const NodeExtents& n, std::span<const Approximates> in, double) {
  std::vector<double> errors;
  const auto depth = static_cast<size_t>(n.concrete.scalar("depth"));
  for (const Approximate& index : in[0].data) {
    const double error = isBounded(index) ? (index.error > 0 ? 1 : 0) : unbounded(0, index).error;
    errors.insert(errors.end(), depth, error);
  }
  return errors;
}

std::vector<double> lookup(const NodeExtents& n, std::span<const Approximates> in, double) {
  Tensor<double> indices(in[0].extents), rows(in[1].extents);
  std::transform(in[0].data.begin(), in[0].data.end(), indices.data.begin(),
                 [](const Approximate& i) { return i.value; });
  std::transform(in[1].data.begin(), in[1].data.end(), rows.data.begin(), [](const Approximate& t) { return t.error; });
  const std::vector<const Tensor<double>*> operands{&indices, &rows};
  std::vector<double> errors = std::move((*n.node.op->kernels.f64(n.concrete, operands))[0].data);
  const size_t width = rows.extents[1] > 0 ? static_cast<size_t>(rows.extents[1]) : 1;
  for (size_t e = 0; e < errors.size(); ++e) {
    const Approximate& index = in[0].data[e / width];
    if (!isBounded(index) || index.error > 0) errors[e] = unbounded(0, index).error;
  }
  return errors;
}

/// How far the computed index is from all that may be it: where the largest of what a value can be is not below the
/// least that the chosen one can be.
std::vector<double> argMax(const NodeExtents& n, std::span<const Approximates> in, double) {
  const Approximates& x = in[0];
  const auto axis = static_cast<size_t>(n.concrete.scalar("axis"));
  const bool last = n.concrete.scalar("select_last_index") != 0;
  const int64_t extent = x.extents[axis], stride = countFrom(x.extents, axis + 1);
  std::vector<double> errors(x.data.size() / static_cast<size_t>(extent));
  for (size_t i = 0; i < errors.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const Approximate* row = x.data.data() + at / stride * extent * stride + at % stride;
    int64_t most = 0;
    double worst = 0;
    for (int64_t k = 0; k < extent; ++k) {
      const Approximate& here = row[k * stride];
      const double largest = row[most * stride].value;
      if (here.value > largest || (last && here.value == largest)) most = k;
      if (!isBounded(here)) worst = std::isnan(worst) || std::isnan(here.error) ? kUndefined : kUnknownError;
    }
    for (int64_t k = 0; k < extent && worst < static_cast<double>(extent); ++k) {
      const Approximate &here = row[k * stride], &chosen = row[most * stride];
      const double error = here.error + chosen.error;
      if (error > 0 && chosen.value - here.value <= error)
        worst = std::max(worst, static_cast<double>(std::abs(k - most)));
    }
    errors[i] = worst;
  }
  return errors;
}

/// Of a frame's spectrum every number has the same bound: the sum of the products, and of their errors, in magnitude.
std::vector<double> stft(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates &x = in[0], &w = in[1];
  const int64_t step = n.concrete.scalar("frame_step"), taps = w.extents[0], length = x.extents[1];
  const Extents& out = n.concrete.outputs[0];
  const double own = gamma(taps + 8, unit);
  std::vector<double> errors;
  for (int64_t frame = 0; frame < out[0] * out[1]; ++frame) {
    const Approximate* signal = x.data.data() + frame / out[1] * length + frame % out[1] * step;
    double error = 0;
    for (int64_t i = 0; i < taps; ++i) {
      const Approximate& weight = w.data[static_cast<size_t>(i)];
      const double size = std::abs(signal[i].value), by = std::abs(weight.value);
      error += own * size * by + size * weight.error + by * signal[i].error + signal[i].error * weight.error;
    }
    errors.insert(errors.end(), static_cast<size_t>(out[2] * out[3]), error * (1 + own) + underflow(unit));
  }
  return errors;
}

/// Of a signal's spectrum every number has the same bound, as in STFT; no factor is larger than 1, or backwards 1/N.
std::vector<double> dft(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const Approximates& x = in[0];
  const Extents& out = n.concrete.outputs[0];
  const auto axis = static_cast<size_t>(n.concrete.scalar("axis"));
  const int64_t taps = x.extents[axis], parts = x.extents.back(), frequencies = out[axis];
  int64_t before = 1, between = 1;
  for (size_t d = 0; d + 1 < x.extents.size(); ++d)
    (d < axis ? before : between) *= d == axis ? 1 : x.extents[d];
  const double own = gamma(taps * parts + 8, unit);
  const double scale = n.concrete.scalar("inverse") != 0 ? 1 / static_cast<double>(taps) : 1;
  std::vector<double> errors(static_cast<size_t>(before * frequencies * between * 2));
  for (int64_t signal = 0; signal < before * between; ++signal) {
    const int64_t outer = signal / between, inner = signal % between;
    double error = 0;
    for (int64_t i = 0; i < taps * parts; ++i) {
      const Approximate& value =
          x.data[static_cast<size_t>(((outer * taps + i / parts) * between + inner) * parts + i % parts)];
      error += scale * (own * std::abs(value.value) + value.error);
    }
    for (int64_t i = 0; i < frequencies * 2; ++i)
      errors[static_cast<size_t>(((outer * frequencies + i / 2) * between + inner) * 2 + i % 2)] =
          error * (1 + own) + underflow(unit);
  }
  return errors;
}

/// Along each dimension in turn, what the kernel adds up, with the magnitudes of its weights. Of each of its at most
/// four terms the weight is rounded twice, the product and the sums once.
std::vector<double> resize(const NodeExtents& n, std::span<const Approximates> in, double unit) {
  const std::string &mode = n.concrete.text("mode"), &nearest = n.concrete.text("nearest_mode");
  const Rational cubic = *asRational(n.concrete.number("cubic_coeff_a"));  // the shape rule has checked it
  Extents extents = in[0].extents, out = n.concrete.outputs[0], scales = n.concrete.list("scales");
  const double own = mode == "nearest" ? 0 : gamma(8 * static_cast<int64_t>(extents.size()), unit);
  std::vector<double> errors;
  for (const Approximate& x : in[0].data) {
    double magnitude = std::abs(x.value) + static_cast<double>(std::numeric_limits<float>::min());
    errors.push_back(x.error * (1 + own) + (own == 0 ? 0 : own * magnitude));
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    int64_t numerator = scales.empty() ? out[d] : scales[2 * d],
            denominator = scales.empty() ? extents[d] : scales[2 * d + 1];
    if (extents[d] == out[d] && numerator == denominator) continue;
    const std::string& coordinates = n.concrete.text("coordinate_transformation_mode");
    ResizeAxis axis{mode, nearest, cubic, resizeLine(coordinates, extents[d], out[d], numerator, denominator),
                    extents[d]};
    int64_t stride = rowMajorStrides(extents)[d],
            rows = elementCount(extents) / std::max<int64_t>(1, extents[d] * stride);
    std::vector<double> next(static_cast<size_t>(rows * out[d] * stride));
    for (int64_t i = 0; i < out[d]; ++i) {
      for (const ResizeTap& tap : resizeTaps(axis, i)) {
        double weight =
            std::abs(static_cast<double>(tap.weight.numerator) / static_cast<double>(tap.weight.denominator));
        for (int64_t row = 0; row < rows; ++row) {
          const double* from = errors.data() + (row * extents[d] + tap.position) * stride;
          double* to = next.data() + (row * out[d] + i) * stride;
          for (int64_t k = 0; k < stride; ++k)
            to[k] += weight * from[k];
        }
      }
    }
    errors = std::move(next);
    extents[d] = out[d];
  }
  std::replace_if(
      errors.begin(), errors.end(), [](double e) { return std::isnan(e); }, kUnknownError);  // 0 · unknown
  return errors;
}

}  // namespace pet::error_rules
