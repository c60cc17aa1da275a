#include "runtime/cuda/generate/window_kernel.h"

#include <cassert>
#include <limits>

#include <fmt/format.h>

namespace pet::cuda {
namespace {

constexpr int64_t kWindowThreads = 256;
/// So many results are counted in 32 bits.
constexpr int64_t kNarrow = int64_t{1} << 31;

class WindowWriter {
 public:
  explicit WindowWriter(const WindowKernel& kernel)
      : kernel_(kernel), from_(*plan::stridesOf(kernel.x)), extents_(kernel.to.extents()) {}

  KernelSource write() {
    const int64_t count = elementCount(extents_);
    std::string code = fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({0}) NAME(T* __restrict__ y, const T* __restrict__ x{2}) {{\n"
        "  const unsigned long long i = (unsigned long long)blockIdx.x * {0} + threadIdx.x;\n  if (i >= {1}u) "
        "return;\n",
        kWindowThreads, count, furtherArguments());
    code += indices() +
            fmt::format("  float r = {};\n", kernel_.isMax ? number(-std::numeric_limits<float>::infinity()) : "0.0f");
    const size_t spatial = kernel_.kernel.size();
    if (!kernel_.isMax) code += counts();
    std::string loops, ends, offset = fmt::format("{}ll + o0 * {}ll + o1 * {}ll", kernel_.x.offset, from_[0], from_[1]);
    for (size_t d = 0; d < spatial; ++d) {
      loops += fmt::format(
          "  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n    const int v{0} = {2} + t{0} * {3};\n    if (v{0} < 0 || "
          "v{0} "
          ">= {4}) continue;\n",
          d, kernel_.kernel[d], start(d), kernel_.dilations[d], extentOf(d));
      offset += fmt::format(" + v{} * {}ll", d, from_[2 + d]);
      ends += "  }\n";
    }
    code += loops + fmt::format("    r = combine<{}>(r, (float)x[{}]);\n", kernel_.isMax, offset) + ends;
    if (!kernel_.isMax) code += "  r /= count;\n";
    for (size_t i = 0; i < kernel_.from.size(); ++i)
      code += fmt::format("  const float e{0} = (float)p{0}[{1}];\n", i, offsetIn(kernel_.from[i]));
    code += fmt::format("  y[{}] = (T)({});\n}}\n", offsetIn(kernel_.to), kernel_.value);
    KernelSource source = named("window", std::move(code));
    source.pointers = 2 + static_cast<int>(kernel_.from.size());
    source.grid[0] = static_cast<unsigned>((count + kWindowThreads - 1) / kWindowThreads);
    source.block[0] = kWindowThreads;
    return source;
  }

 private:
  std::string furtherArguments() const {
    std::string text;
    for (size_t i = 0; i < kernel_.from.size(); ++i)
      text += fmt::format(", const T* __restrict__ p{}", i);
    return text;
  }

  /// Where what has the result's extents is at the thread's position.
  std::string offsetIn(const plan::Access& access) const {
    const auto strides = *plan::stridesOf(access);
    std::string text = fmt::format("{}ll", access.offset);
    for (size_t d = 0; d < extents_.size(); ++d)
      text += fmt::format(" + o{} * {}ll", d, strides[d]);
    return text;
  }

  /// Neighbouring threads write neighbours.
  std::string indices() const {
    std::string text, rest = "i";
    const auto order = plan::memoryOrder(kernel_.to);
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
      text += fmt::format("  const int o{} = ({}) % {}u;\n", *d, rest, extents_[*d]);
      rest = fmt::format("({}) / {}u", rest, extents_[*d]);
    }
    return text;
  }

  int64_t extentOf(size_t d) const { return static_cast<int64_t>(kernel_.x.tables[2 + d].size()); }
  std::string start(size_t d) const {
    return fmt::format("o{} * {} - {}", d + 2, kernel_.strides[d], kernel_.before[d]);
  }

  std::string counts() const {
    std::string text = "  float count = 1.0f;\n";
    for (size_t d = 0; d < kernel_.kernel.size(); ++d) {
      const int64_t first = kernel_.countsPads ? -kernel_.before[d] : 0;
      const int64_t last = extentOf(d) + (kernel_.countsPads ? kernel_.after[d] : 0);
      text += fmt::format(
          "  {{\n    int n = 0;\n    for (int t = 0; t < {0}; ++t) {{\n      const int v = {1} + t * {2};\n      n += "
          "v >= "
          "{3} && v < {4};\n    }}\n    count *= n;\n  }}\n",
          kernel_.kernel[d], start(d), kernel_.dilations[d], first, last);
    }
    return text;
  }

  const WindowKernel& kernel_;
  std::vector<int64_t> from_;
  Extents extents_;
};

}  // namespace

KernelSource generate(const WindowKernel& kernel) {
  assert(plan::stridesOf(kernel.x) && plan::stridesOf(kernel.to));
  return WindowWriter(kernel).write();
}

}  // namespace pet::cuda
