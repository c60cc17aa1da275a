// GridSample of images; ReverseSequence; windows of signals.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

// --- GridSample ---

enum class Outside { kZeros, kBorder, kReflection };

struct SampleGrid {
  int64_t height, width;
  bool corners, nearest;
  Outside outside;

  /// From -1 … 1 to pixels.
  double pixel(double x, int64_t extent) const {
    const auto e = static_cast<double>(extent);
    return corners ? (x + 1) / 2 * (e - 1) : ((x + 1) * e - 1) / 2;
  }
  double inside(double x, int64_t extent) const {
    const double last = static_cast<double>(extent) - 1;
    if (outside == Outside::kReflection) x = reflected(x, corners ? 0 : -0.5, corners ? last : last + 0.5);
    return outside == Outside::kZeros ? x : std::clamp(x, 0.0, last);
  }
  static double reflected(double x, double low, double high) {
    const double range = high - low;
    if (range <= 0) return low;
    const double distance = std::abs(x - low), times = std::floor(distance / range), rest = distance - times * range;
    return std::fmod(times, 2) == 0 ? low + rest : high - rest;
  }
  double at(const double* map, int64_t y, int64_t x) const {
    return y < 0 || y >= height || x < 0 || x >= width ? 0 : map[y * width + x];
  }
  double sample(const double* map, double gx, double gy) const {
    const double x = inside(pixel(gx, width), width), y = inside(pixel(gy, height), height);
    if (nearest) return at(map, static_cast<int64_t>(std::nearbyint(y)), static_cast<int64_t>(std::nearbyint(x)));
    const auto top = static_cast<int64_t>(std::floor(y)), left = static_cast<int64_t>(std::floor(x));
    const double dy = y - std::floor(y), dx = x - std::floor(x);
    return (1 - dy) * ((1 - dx) * at(map, top, left) + dx * at(map, top, left + 1)) +
           dy * ((1 - dx) * at(map, top + 1, left) + dx * at(map, top + 1, left + 1));
  }
};

std::vector<Constant> runGridSample(const NodeCall& call) {
  const Constant &x = call.operand(0), &grid = call.operand(1);
  const std::string mode = call.text("mode", "linear"), padding = call.text("padding_mode", "zeros");
  if (x.extents.size() != 4 || grid.extents.size() != 4 || grid.extents[3] != 2 || grid.extents[0] != x.extents[0])
    throw BadNode{"images of [N, C, H, W] and a grid of [N, H, W, 2] are computed"};
  if (mode != "linear" && mode != "bilinear" && mode != "nearest")
    throw BadNode{fmt::format("the mode {} is not computed", mode)};
  const SampleGrid by{x.extents[2], x.extents[3], call.integer("align_corners", 0) != 0, mode == "nearest",
                      padding == "border"       ? Outside::kBorder
                      : padding == "reflection" ? Outside::kReflection
                                                : Outside::kZeros};
  const auto from = doublesOf(x), places = doublesOf(grid);
  const int64_t channels = x.extents[1], out = grid.extents[1] * grid.extents[2];
  Tensor<double> y({x.extents[0], channels, grid.extents[1], grid.extents[2]});
  for (int64_t n = 0; n < x.extents[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const double* map = from.data() + (n * channels + c) * by.height * by.width;
      for (int64_t i = 0; i < out; ++i) {
        const double* place = places.data() + (n * out + i) * 2;
        y.data[static_cast<size_t>((n * channels + c) * out + i)] = by.sample(map, place[0], place[1]);
      }
    }
  }
  return {x.element == ElementType::kDouble ? Constant::of(y) : Constant::rounded(ElementType::kFloat, y)};
}

// --- ReverseSequence ---

std::vector<Constant> runReverseSequence(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto time = static_cast<size_t>(call.integer("time_axis", 0)),
             batch = static_cast<size_t>(call.integer("batch_axis", 1));
  if (time + batch != 1 || x.extents.size() < 2) throw BadNode{"its axes are not 0 and 1"};
  const auto lengths = integersOf(call.operand(1));
  if (std::ssize(lengths) != x.extents[batch]) throw BadNode{"as many lengths as sequences are needed"};
  const auto run = static_cast<size_t>(elementCount({x.extents.begin() + 2, x.extents.end()})) * elementSize(x.element);
  Made<char> y = makeRaw(x.element, x.extents);
  for (int64_t b = 0; b < x.extents[batch]; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > x.extents[time]) throw BadNode{"a length beyond the sequence"};
    for (int64_t t = 0; t < x.extents[time]; ++t) {
      const int64_t source = t < length ? length - 1 - t : t;
      auto place = [&](int64_t step) {
        return static_cast<size_t>(time == 0 ? step * x.extents[1] + b : b * x.extents[1] + step);
      };
      std::memcpy(y.data + place(t) * run, x.bytes->data() + place(source) * run, run);
    }
  }
  return {y.constant};
}

// --- Windows ---

/// Σ_k (-1)^k a[k] cos(2π k n / N)
std::vector<Constant> windowOf(const NodeCall& call, const std::vector<double>& a) {
  const int64_t size = call.scalar(0);
  const bool periodic = call.integer("periodic", 1) != 0;
  const auto element = static_cast<ElementType>(call.integer("output_datatype", 1));
  if (size < 0 || !isComputed(element)) throw BadNode{"a size below 0, or a type that is no floating point"};
  Tensor<double> y(Extents{size});
  const auto period = static_cast<double>(periodic ? size : size - 1);
  for (int64_t n = 0; n < size; ++n) {
    double sum = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) * static_cast<double>(n) / period;
      sum += (k % 2 == 0 ? a[k] : -a[k]) * std::cos(angle);
    }
    y.data[static_cast<size_t>(n)] = sum;
  }
  return {Constant::rounded(element, y)};
}

using Call = const NodeCall&;

const KernelRow kSampleKernels[] = {
    {"GridSample", runGridSample},
    {"ReverseSequence", runReverseSequence, false},
    {"HannWindow",
     [](Call c) {
       return windowOf(c, {0.5, 0.5});
     },
     false},
    {"HammingWindow",
     [](Call c) {
       return windowOf(c, {25.0 / 46, 21.0 / 46});
     },
     false},
    {"BlackmanWindow",
     [](Call c) {
       return windowOf(c, {0.42, 0.5, 0.08});
     },
     false},
};

}  // namespace

std::span<const KernelRow> sampleKernels() {
  return kSampleKernels;
}

}  // namespace pet::session
