#include "runtime/cuda/generate/depthwise_kernel.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "runtime/cuda/generate/positions.h"

namespace pet::cuda {
namespace {

using Axis = DepthwiseKernel::Axis;
using Steps = DepthwiseKernel::Steps;

/// Taps along the run whose products with a result are written out; of more, so many at a time.
constexpr int64_t kMostWritten = 32, kWritten = 16;
/// A dimension of what a block has or computes.
struct Part {
  std::string index;
  int64_t extent;
};

class DepthwiseWriter {
 public:
  explicit DepthwiseWriter(const DepthwiseKernel& kernel) : k_(kernel), run_(kernel.axes[kernel.runAxis]) {}

  KernelSource write() {
    std::string code =
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}) NAME({}) {{\n{}{}{}{}{}}}\n", blockThreads(),
                    arguments(), blockPosition(), loads(), threadPosition(), sums(), stores());
    KernelSource source = named("depthwise", std::move(code));
    source.pointers = 3 + (k_.bias ? 1 : 0) + (k_.added ? 1 : 0);
    source.grid[0] = static_cast<unsigned>(blocks());
    source.block[0] = static_cast<unsigned>(blockThreads());
    source.barriers = true;
    return source;
  }

 private:
  int64_t blockThreads() const { return ceilDiv(k_.threads(), 32) * 32; }
  int64_t blocks() const {
    int64_t count = k_.images * ceilDiv(k_.channels, k_.channelTile);
    for (const Axis& a : k_.axes)
      count *= a.tiles();
    return count;
  }
  /// Of offsets within an image.
  std::string_view offsetType() const {
    int64_t farthest = 0;
    for (auto step : {&Steps::x, &Steps::y, &Steps::added}) {
      int64_t sum = k_.channels * k_.channelSteps.*step;
      for (const Axis& a : k_.axes)
        sum += std::max(a.extent, a.positions) * a.steps.*step;
      farthest = std::max(farthest, sum);
    }
    return farthest < kMostNarrow ? "int" : "long long";
  }

  std::string arguments() const {
    std::string text = "T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ w";
    if (k_.bias) text += ", const T* __restrict__ bias";
    if (k_.added) text += ", const T* __restrict__ added";
    return text;
  }

  /// The indices of the `from`-th position of several dimensions, the last one the innermost.
  static std::string split(const std::string& from, const std::vector<Part>& parts) {
    std::string text, rest = from;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      text += fmt::format("    const int {} = ({}) % {}u;\n", part->index, rest, part->extent);
      rest = fmt::format("({}) / {}u", rest, part->extent);
    }
    return text;
  }
  /// The dimensions of a block with these numbers along each, in the order of memory.
  std::vector<Part> ordered(const std::string& prefix, int64_t channels, const std::array<int64_t, 3>& extents) const {
    std::vector<Part> parts;
    for (size_t d = 0; d < extents.size(); ++d)
      parts.push_back({fmt::format("{}{}", prefix, d), extents[d]});
    parts.insert(k_.channelsInner ? parts.end() : parts.begin(), {prefix + "c", channels});
    return parts;
  }
  std::array<int64_t, 3> readExtents() const {
    std::array<int64_t, 3> extents{};
    std::transform(k_.axes.begin(), k_.axes.end(), extents.begin(),
                   [](const Axis& a) { return a.reach(a.tile, a.taps); });
    return extents;
  }
  std::array<int64_t, 3> tapExtents() const { return {k_.axes[0].taps, k_.axes[1].taps, k_.axes[2].taps}; }

  /// How far neighbours along a dimension are apart in shared memory.
  int64_t pitch(const std::array<int64_t, 3>& extents, size_t d) const {
    int64_t pitch = k_.channelsInner ? k_.channelTile : 1;
    for (size_t inner = d + 1; inner < 3; ++inner)
      pitch *= extents[inner];
    return pitch;
  }
  int64_t channelPitch(const std::array<int64_t, 3>& extents) const { return k_.channelsInner ? 1 : product(extents); }

  std::string blockPosition() const {
    std::vector<Part> parts{{"image", k_.images}, {"group", ceilDiv(k_.channels, k_.channelTile)}};
    for (size_t d = 0; d < 3; ++d)
      parts.push_back({fmt::format("b{}", d), k_.axes[d].tiles()});
    std::string text = fmt::format("  __shared__ float elements[{}], taps[{}];\n",
                                   k_.channelTile * product(readExtents()), k_.channelTile * product(tapExtents()));
    text += split("blockIdx.x", parts) + fmt::format("    const int first = group * {};\n", k_.channelTile);
    text += fmt::format("  x += image * {}ll;\n  y += image * {}ll;\n", k_.imageSteps.x, k_.imageSteps.y);
    if (k_.added) text += fmt::format("  added += image * {}ll;\n", k_.imageSteps.added);
    return text;
  }
  static int64_t product(const std::array<int64_t, 3>& extents) { return extents[0] * extents[1] * extents[2]; }

  std::string loop(const std::string& array, const std::vector<Part>& parts, const std::string& value) const {
    int64_t count = 1;
    for (const Part& part : parts)
      count *= part.extent;
    return fmt::format("  for (unsigned i = threadIdx.x; i < {}u; i += {}u) {{\n{}{}[i] = value;\n  }}\n", count,
                       blockThreads(), split("i", parts) + value + "    ", array);
  }

  std::string loads() const {
    std::string value =
        fmt::format("    const int channel = first + ec;\n    bool isThere = channel < {};\n", k_.channels);
    std::string offset = fmt::format("({})(channel / {}) * {}", offsetType(), k_.perChannel, k_.channelSteps.x);
    for (size_t d = 0; d < 3; ++d) {
      const Axis& a = k_.axes[d];
      value +=
          fmt::format("    const int at{0} = b{0} * {1} - {2} + e{0};\n    isThere &= at{0} >= 0 && at{0} < {3};\n", d,
                      a.ahead(a.tile), a.outside(), a.extent);
      offset += fmt::format(" + ({})at{} * {}", offsetType(), d, a.steps.x);
    }
    std::string text = loop("elements", ordered("e", k_.channelTile, readExtents()),
                            value + fmt::format("    const float value = isThere ? (float)x[{}] : 0.0f;\n", offset));
    std::string tap = fmt::format("(long long)((first + tc) / {}) * {}", k_.perChannel, k_.groupStep);
    if (k_.perChannel > 1) tap += fmt::format(" + (first + tc) % {} * {}", k_.perChannel, k_.channelSteps.w);
    for (size_t d = 0; d < 3; ++d)
      tap += fmt::format(" + t{} * {}", d, k_.axes[d].steps.w);
    text += loop("taps", ordered("t", k_.channelTile, tapExtents()),
                 fmt::format("    const float value = first + tc < {} ? (float)w[{}] : 0.0f;\n", k_.channels, tap));
    return text + "  __syncthreads();\n";
  }

  std::string threadPosition() const {
    std::array<int64_t, 3> extents{};
    for (size_t d = 0; d < 3; ++d)
      extents[d] = k_.axes[d].tile / (d == k_.runAxis ? k_.run : 1);
    std::string text = fmt::format("  if (threadIdx.x >= {}u) return;\n", k_.threads());
    text += split("threadIdx.x", ordered("o", k_.channelTile, extents));
    std::string at = fmt::format("oc * {}", channelPitch(readExtents()));
    for (size_t d = 0; d < 3; ++d) {
      const Axis& a = k_.axes[d];
      const int64_t period = d == k_.runAxis ? 1 : a.period();
      at += fmt::format(" + o{}{} * {}", d, period > 1 ? fmt::format(" / {}", period) : "",
                        a.ahead(d == k_.runAxis ? k_.run : period) * pitch(readExtents(), d));
    }
    return text + fmt::format("  const float* const from = elements + {};\n  const float* const by = taps + oc * {};\n",
                              at, channelPitch(tapExtents()));
  }

  /// Each result of a thread gets its products with `count` taps along the run, from the tap `k0` on: a whole number of
  /// periods.
  std::string products(const std::string& k0, int64_t count) const {
    // The i-th element of those that these taps read, and the distance of the tap that takes it to the result j.
    const int64_t back = run_.back(count), stride = run_.stride;
    const std::string first =
        run_.transposed ? fmt::format("{} - {} / {} * {}", run_.back(run_.taps) - back, k0, stride, run_.dilation)
                        : fmt::format("{} * {}", k0, run_.dilation);
    const std::string distance =
        run_.transposed ? fmt::format("{} + j - i * {}", back * stride, stride) : fmt::format("i - j * {}", stride);
    return fmt::format(
        "#pragma unroll\n    for (int i = 0; i < {0}; ++i) {{\n"
        "      const float element = from[offset + ({1} + i) * {2}];\n"
        "#pragma unroll\n      for (int j = 0; j < {3}; ++j) {{\n        const int k = {4};\n"
        "        if (k >= 0 && k % {5} == 0 && k / {5} < {6})\n"
        "          sums[j] += element * by[tap + ({7} + k / {5}) * {8}];\n      }}\n    }}\n",
        run_.reach(k_.run, count), first, pitch(readExtents(), k_.runAxis), k_.run, distance, run_.dilation, count, k0,
        pitch(tapExtents(), k_.runAxis));
  }

  std::string alongRun() const {
    const int64_t written = kWritten * run_.period();
    if (run_.taps <= kMostWritten * run_.period()) return products("0", run_.taps);
    const int64_t whole = run_.taps / written * written;
    std::string text = fmt::format("#pragma unroll 1\n  for (int k0 = 0; k0 < {}; k0 += {}) {{\n{}  }}\n", whole,
                                   written, products("k0", written));
    if (whole < run_.taps) text += products(fmt::format("{}", whole), run_.taps - whole);
    return text;
  }

  /// The head of a loop over the taps k of a dimension that a thread's results read by, and the element e of each.
  static std::string tapLoop(size_t d, const Axis& a) {
    constexpr int64_t kFew = 8;
    // Transposed: every so many taps one reads x, the first one by how far the position is in its period.
    const int64_t common = a.transposed ? std::gcd(a.stride, a.dilation) : 1;
    const int64_t step = a.period() / common, taps = ceilDiv(a.taps, step);
    std::string text = fmt::format("#pragma unroll {0}\n  for (int m{1} = 0; m{1} < {2}; ++m{1}) {{\n",
                                   taps <= kFew ? taps : 1, d, taps);
    if (!a.transposed) return text + fmt::format("    const int k{0} = m{0}, e{0} = m{0} * {1};\n", d, a.dilation);
    int64_t inverse = 1;  // of the dilation
    while (inverse * (a.dilation / common) % step != 1 % step)
      ++inverse;
    text += fmt::format("    const int p{0} = o{0} % {1}, k{0} = p{0} / {2} * {3} % {4} + m{0} * {4};\n", d, a.stride,
                        common, inverse, step);
    return text + fmt::format(
                      "    if (p{0} % {1} != 0 || k{0} >= {2}) break;\n    const int e{0} = {3} - (k{0} * {4} - p{0}) "
                      "/ {5};\n",
                      d, common, a.taps, a.back(a.taps), a.dilation, a.stride);
  }

  std::string sums() const {
    std::string loops, ends, offset, tap;
    for (size_t d = 0; d < 3; ++d) {
      const Axis& a = k_.axes[d];
      if (d == k_.runAxis || (a.taps == 1 && a.period() == 1)) continue;
      loops += tapLoop(d, a);
      ends += "  }\n";
      offset += fmt::format(" + e{} * {}", d, pitch(readExtents(), d));
      tap += fmt::format(" + k{} * {}", d, pitch(tapExtents(), d));
    }
    return fmt::format("  float sums[{}] = {{}};\n{}    const int offset = 0{}, tap = 0{};\n  {{\n{}  }}\n{}", k_.run,
                       loops, offset, tap, alongRun(), ends);
  }

  std::string place(int64_t Steps::*step) const {
    std::string text = fmt::format("({})(first + oc) * {}", offsetType(), k_.channelSteps.*step);
    for (size_t d = 0; d < 3; ++d)
      text += fmt::format(" + ({})v{} * {}", offsetType(), d, k_.axes[d].steps.*step);
    return text;
  }

  std::string stores() const {
    std::string positions, isThere = fmt::format("first + oc < {}", k_.channels);
    for (size_t d = 0; d < 3; ++d) {
      const Axis& a = k_.axes[d];
      const std::string inTile = d == k_.runAxis ? fmt::format("o{} * {} + j", d, k_.run) : fmt::format("o{}", d);
      const int64_t lead = a.lead();
      positions += fmt::format("    const int v{0} = b{0} * {1} + {2}{3};\n", d, a.tile, inTile,
                               lead > 0 ? fmt::format(" - {}", lead) : "");
      if (lead > 0) isThere += fmt::format(" && v{} >= 0", d);
      isThere += fmt::format(" && v{} < {}", d, a.positions);
    }
    std::string sum = "sums[j]";
    if (k_.bias) sum += " + (float)bias[first + oc]";
    if (k_.added) sum += fmt::format(" + (float)added[{}]", place(&Steps::added));
    return fmt::format(
        "#pragma unroll\n  for (int j = 0; j < {}; ++j) {{\n{}    if (!({})) continue;\n    const float r = {};\n"
        "    y[{}] = (T)({});\n  }}\n",
        k_.run, positions, isThere, sum, place(&Steps::y), k_.value);
  }

  const DepthwiseKernel& k_;
  const Axis& run_;
};

}  // namespace

int64_t DepthwiseKernel::threads() const {
  return channelTile * axes[0].tile * axes[1].tile * axes[2].tile / run;
}

int64_t DepthwiseKernel::sharedBytes() const {
  int64_t elements = 1, taps = 1;
  for (const Axis& a : axes) {
    elements *= a.reach(a.tile, a.taps);
    taps *= a.taps;
  }
  return (elements + taps) * channelTile * static_cast<int64_t>(sizeof(float));
}

KernelSource generate(const DepthwiseKernel& kernel) {
  return DepthwiseWriter(kernel).write();
}

}  // namespace pet::cuda
