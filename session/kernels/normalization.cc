// Normalisations and their like where they are in no program: LogSoftmax, Hardmax, LRN, GroupNormalization,
// LpNormalization, MeanVarianceNormalization, RotaryEmbedding. Sums are in double.

#include <algorithm>
#include <cmath>
#include <limits>

#include "session/kernels/along_axis.h"
#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

Constant likeOperand(const Constant& x, const std::vector<double>& y) {
  const Tensor<double> wide(x.extents, y);
  return x.element == ElementType::kDouble ? Constant::of(wide) : Constant::rounded(ElementType::kFloat, wide);
}

/// Each row along the axis; before opset 13, all axes from it on are one.
template <class Row>
std::vector<Constant> byRows(const NodeCall& call, int64_t usual, Row row) {
  const Constant& x = call.operand(0);
  const size_t axis = call.axisOf("axis", usual, x.extents.size());
  AlongAxis along(x.extents, axis);
  if (call.opset() < 13 && call.node().type != "LpNormalization") {
    along.extent *= along.inner;
    along.inner = 1;
  }
  std::vector<double> y = doublesOf(x), values(static_cast<size_t>(along.extent));
  for (int64_t r = 0; r < along.rows(); ++r) {
    double* start = y.data() + along.start(r);
    for (int64_t i = 0; i < along.extent; ++i)
      values[static_cast<size_t>(i)] = start[i * along.inner];
    row(values);
    for (int64_t i = 0; i < along.extent; ++i)
      start[i * along.inner] = values[static_cast<size_t>(i)];
  }
  return {likeOperand(x, y)};
}

std::vector<Constant> runLogSoftmax(const NodeCall& call) {
  return byRows(call, call.opset() < 13 ? 1 : -1, [](std::vector<double>& row) {
    const double most = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double v : row)
      sum += std::exp(v - most);
    for (double& v : row)
      v -= most + std::log(sum);
  });
}

std::vector<Constant> runHardmax(const NodeCall& call) {
  return byRows(call, call.opset() < 13 ? 1 : -1, [](std::vector<double>& row) {
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<std::ptrdiff_t>(i) == best ? 1 : 0;
  });
}

std::vector<Constant> runLpNormalization(const NodeCall& call) {
  const bool first = call.integer("p", 2) == 1;
  return byRows(call, -1, [first](std::vector<double>& row) {
    double sum = 0;
    for (double v : row)
      sum += first ? std::abs(v) : v * v;
    const double norm = first ? sum : std::sqrt(sum);
    for (double& v : row)
      v = norm == 0 ? 0 : v / norm;
  });
}

/// y[n, c, …] = x / (bias + alpha / size · Σ x² over the channels around c)^beta
std::vector<Constant> runLrn(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const double alpha = call.number("alpha", 0.0001), beta = call.number("beta", 0.75), bias = call.number("bias", 1);
  const int64_t size = call.integer("size", 0);
  if (size < 1 || x.extents.size() < 2) throw BadNode{"no size, or no channels"};
  const AlongAxis along(x.extents, 1);
  const std::vector<double> from = doublesOf(x);
  std::vector<double> y(from.size());
  for (int64_t r = 0; r < along.rows(); ++r) {
    const double* row = from.data() + along.start(r);
    for (int64_t c = 0; c < along.extent; ++c) {
      const int64_t begin = std::max<int64_t>(c - (size - 1) / 2, 0);
      const int64_t end = std::min(c + size / 2, along.extent - 1);
      double sum = 0;
      for (int64_t i = begin; i <= end; ++i)
        sum += row[i * along.inner] * row[i * along.inner];
      const double divisor = std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
      y[static_cast<size_t>(along.start(r) + c * along.inner)] = row[c * along.inner] / divisor;
    }
  }
  return {likeOperand(x, y)};
}

/// Scale and bias are of the groups before opset 21, of the channels from then on.
std::vector<Constant> runGroupNormalization(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const int64_t groups = call.integer("num_groups", 0);
  if (x.extents.size() < 2 || groups < 1 || x.extents[1] % groups != 0)
    throw BadNode{"its groups do not divide the channels"};
  const auto scale = doublesOf(call.operand(1)), bias = doublesOf(call.operand(2));
  const double epsilon = call.number("epsilon", 1e-5);
  const int64_t each = x.extents[1] / groups, inner = elementCount({x.extents.begin() + 2, x.extents.end()});
  const int64_t needed = call.opset() < 21 ? groups : x.extents[1];
  if (std::ssize(scale) != needed || std::ssize(bias) != needed) throw BadNode{"a scale or a bias of other extents"};
  std::vector<double> y = doublesOf(x);
  const int64_t count = each * inner;
  for (int64_t g = 0; g < x.extents[0] * groups; ++g) {
    double* at = y.data() + g * count;
    double mean = 0, square = 0;
    for (int64_t i = 0; i < count; ++i)
      mean += at[i] / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i)
      square += (at[i] - mean) * (at[i] - mean) / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t channel = call.opset() < 21 ? g % groups : g % groups * each + i / inner;
      const auto c = static_cast<size_t>(channel);
      at[i] = (at[i] - mean) / std::sqrt(square + epsilon) * scale[c] + bias[c];
    }
  }
  return {likeOperand(x, y)};
}

std::vector<Constant> runMeanVariance(const NodeCall& call) {
  const Constant& x = call.operand(0);
  Extents kept = x.extents;
  for (int64_t a : call.integers("axes").value_or(std::vector<int64_t>{0, 2, 3}))
    kept[call.axis(a, x.extents.size())] = 1;
  const auto strides = broadcastStrides(kept, x.extents);
  const auto groups = static_cast<size_t>(elementCount(kept));
  const double count = static_cast<double>(elementCount(x.extents)) / static_cast<double>(std::max<size_t>(groups, 1));
  std::vector<double> y = doublesOf(x), mean(groups), square(groups);
  auto each = [&](auto visit) {
    double* at = y.data();
    forRows<1>(x.extents, {strides}, [&](const auto& from, int64_t length, const auto& step) {
      for (int64_t i = 0; i < length; ++i, ++at)
        visit(*at, static_cast<size_t>(from[0] + i * step[0]));
    });
  };
  each([&](double& v, size_t g) { mean[g] += v / count; });
  each([&](double& v, size_t g) { square[g] += (v - mean[g]) * (v - mean[g]) / count; });
  each([&](double& v, size_t g) { v = (v - mean[g]) / (std::sqrt(square[g]) + 1e-9); });
  return {likeOperand(x, y)};
}

/// The first `rotary` numbers of each head turned by the angles of its position: [N, S, H, D] by cos, sin of [N, S, R /
/// 2].
struct Rotation {
  int64_t heads, width, rotary;
  bool interleaved;

  void turn(double* head, const double* cosines, const double* sines) const {
    const int64_t half = rotary / 2;
    for (int64_t i = 0; i < half; ++i) {
      double& a = head[interleaved ? 2 * i : i];
      double& b = head[interleaved ? 2 * i + 1 : half + i];
      const double x = a, z = b;
      a = cosines[i] * x - sines[i] * z;
      b = sines[i] * x + cosines[i] * z;
    }
  }
};

std::vector<Constant> runRotaryEmbedding(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const bool flat = x.extents.size() == 3;
  const int64_t given = call.integer("num_heads", 0);
  if ((flat && given < 1) || x.extents.size() < 3 || x.extents.size() > 4)
    throw BadNode{"no num_heads, or another rank"};
  const int64_t heads = flat ? given : x.extents[1], steps = flat ? x.extents[1] : x.extents[2];
  const int64_t width = flat ? x.extents[2] / heads : x.extents[3];
  const int64_t asked = call.integer("rotary_embedding_dim", 0);
  const Rotation rotation{heads, width, asked > 0 ? asked : width, call.integer("interleaved", 0) != 0};
  const auto cosines = doublesOf(call.operand(1)), sines = doublesOf(call.operand(2));
  const int64_t half = rotation.rotary / 2;
  std::vector<int64_t> positions;
  if (call.has(3)) positions = integersOf(call.operand(3));
  std::vector<double> y = doublesOf(x);
  for (int64_t n = 0; n < x.extents[0]; ++n) {
    for (int64_t s = 0; s < steps; ++s) {
      const auto at = static_cast<size_t>(n * steps + s);
      const int64_t row = positions.empty() ? n * steps + s : positions.at(at);
      if (row < 0 || (row + 1) * half > std::ssize(cosines) || cosines.size() != sines.size())
        throw BadNode{"a position without a cosine"};
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t head = flat ? (n * steps + s) * heads + h : (n * heads + h) * steps + s;
        rotation.turn(y.data() + head * width, cosines.data() + row * half, sines.data() + row * half);
      }
    }
  }
  return {likeOperand(x, y)};
}

const KernelRow kNormalizationKernels[] = {
    {"LogSoftmax", runLogSoftmax},
    {"Hardmax", runHardmax},
    {"LpNormalization", runLpNormalization},
    {"LRN", runLrn},
    {"GroupNormalization", runGroupNormalization},
    {"MeanVarianceNormalization", runMeanVariance},
    {"RotaryEmbedding", runRotaryEmbedding},
};

}  // namespace

std::span<const KernelRow> normalizationKernels() {
  return kNormalizationKernels;
}

}  // namespace pet::session
