#include "runtime/cuda/generate/row_kernel.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "runtime/cuda/generate/positions.h"

namespace pet::cuda {
namespace {

using plan::Access;
using plan::MapAxis;

constexpr unsigned kRowThreads = 256;

std::vector<size_t> others(size_t rank, const std::vector<size_t>& dimensions) {
  std::vector<size_t> rest;
  for (size_t d = 0; d < rank; ++d) {
    if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end()) rest.push_back(d);
  }
  return rest;
}

/// The loops over some dimensions of tensors that have the same extents there.
class Loops {
 public:
  Loops(const std::vector<const Access*>& tensors,
        const std::vector<size_t>& dimensions,
        std::string prefix,
        std::string& tables)
      : parts_(partsOf(tensors, dimensions)),
        axes_(plan::mapAxes(addresses(parts_))),
        positions(axes_, std::move(prefix), tables) {}

  /// "": the tensor does not move.
  std::string offset(size_t tensor) const { return axes_.empty() ? "" : positions.offset(tensor); }
  std::string isThere(size_t tensor) const { return axes_.empty() ? "" : positions.isThere(tensor); }
  const std::vector<MapAxis>& axes() const { return axes_; }

 private:
  static std::vector<Access> partsOf(const std::vector<const Access*>& tensors, const std::vector<size_t>& dimensions) {
    std::vector<Access> parts;
    for (const Access* t : tensors)
      parts.push_back(onlyDimensions(*t, dimensions));
    return parts;
  }
  static std::vector<const Access*> addresses(const std::vector<Access>& parts) {
    std::vector<const Access*> list;
    for (const Access& p : parts)
      list.push_back(&p);
    return list;
  }

  std::vector<Access> parts_;
  std::vector<MapAxis> axes_;

 public:
  Positions positions;
};

/// Which threads read a row.
enum class Readers { kThread, kWarp, kBlock };

class RowWriter {
 public:
  explicit RowWriter(const RowKernel& kernel)
      : kernel_(kernel),
        isOne_(isOneResult(kernel)),
        outer_(outerTensors(), others(kernel.x.rank(), kernel.reduced), "a", tables_),
        inner_(innerTensors(), kernel.reduced, "b", tables_),
        readers_(readersOf()) {}

  KernelSource write() {
    std::string code = tables_ + fmt::format("extern \"C\" __global__ void __launch_bounds__({}) NAME({}) {{\n{}}}\n",
                                             kRowThreads, arguments(), body());
    KernelSource source = named("rows", std::move(code));
    source.pointers = 2 + static_cast<int>(kernel_.from.size());
    source.block = {kRowThreads, 1, 1};
    source.grid[0] = static_cast<unsigned>((rows() + rowsPerBlock() - 1) / rowsPerBlock());
    source.barriers = readers_ != Readers::kThread;
    return source;
  }

 private:
  static bool isOneResult(const RowKernel& kernel) {
    return std::all_of(kernel.reduced.begin(), kernel.reduced.end(),
                       [&](size_t d) { return kernel.to.tables[d].size() == 1; }) &&
           std::any_of(kernel.reduced.begin(), kernel.reduced.end(),
                       [&](size_t d) { return kernel.x.tables[d].size() > 1; });
  }

  /// The result, x, and the further operands.
  std::vector<const Access*> outerTensors() const {
    std::vector<const Access*> tensors{&kernel_.to, &kernel_.x};
    for (const Access& a : kernel_.from)
      tensors.push_back(&a);
    return tensors;
  }
  /// With one result for a row, only x has a row; it comes twice, so that tensors have the same numbers everywhere.
  std::vector<const Access*> innerTensors() const {
    return isOne_ ? std::vector<const Access*>{&kernel_.x, &kernel_.x} : outerTensors();
  }

  int64_t rows() const { return outer_.positions.count(); }
  int64_t length() const { return inner_.positions.count(); }

  Readers readersOf() const {
    constexpr size_t kX = 1;
    constexpr int64_t kShort = 1024, kFew = 8;
    auto isNeighbour = [](const std::vector<MapAxis>& axes) {
      return std::any_of(axes.begin(), axes.end(), [](const MapAxis& a) { return a.isLinear(kX) && a.step(kX) == 1; });
    };
    if (length() <= kFew || (!isNeighbour(inner_.axes()) && isNeighbour(outer_.axes()))) return Readers::kThread;
    return length() <= kShort ? Readers::kWarp : Readers::kBlock;
  }
  int64_t lanes() const { return readers_ == Readers::kThread ? 1 : readers_ == Readers::kWarp ? 32 : kRowThreads; }
  int64_t rowsPerBlock() const { return kRowThreads / lanes(); }

  std::string arguments() const {
    std::string text = "T* y, const T* p1";
    for (size_t i = 0; i < kernel_.from.size(); ++i)
      text += fmt::format(", const T* p{}", i + 2);
    return text;
  }

  const Access& access(size_t tensor) const {
    return tensor == 0 ? kernel_.to : tensor == 1 ? kernel_.x : kernel_.from[tensor - 2];
  }
  std::string element(size_t tensor, bool inRow) const {
    const std::string pointer = tensor == 0 ? "y" : fmt::format("p{}", tensor);
    return fmt::format("{}[{}ll{}{}]", pointer, access(tensor).offset, outer_.offset(tensor),
                       inRow ? inner_.offset(tensor) : "");
  }
  std::string loaded(size_t tensor, bool inRow) const {
    const std::string condition = outer_.isThere(tensor) + (inRow ? inner_.isThere(tensor) : "");
    const std::string value = "(float)" + element(tensor, inRow);
    return condition.empty() ? value : fmt::format("true{} ? {} : {}", condition, value, number(access(tensor).fill));
  }

  std::string loop(const std::string& inside) const {
    return fmt::format(
        "#pragma unroll 4\n  for ({0} k = lane; k < {1}u; k += {2}) {{\n{3}    const float x = {4};\n{5}  }}\n",
        inner_.positions.countType(), length(), lanes(), inner_.positions.indices("k"), loaded(1, true), inside);
  }

  std::string pass(size_t i) const {
    const RowKernel::Pass& pass = kernel_.passes[i];
    const std::string_view isMax = pass.isMax ? "true" : "false";
    std::string text =
        fmt::format("  float s{} = {};\n", i, pass.isMax ? number(-std::numeric_limits<float>::infinity()) : "0.0f");
    text += loop(fmt::format("    s{0} = combine<{1}>(s{0}, {2});\n", i, isMax, pass.term));
    if (readers_ == Readers::kWarp) text += fmt::format("  s{0} = overWarp<{1}>(s{0});\n", i, isMax);
    if (readers_ == Readers::kBlock) text += fmt::format("  s{0} = overBlock<{1}>(s{0}, warps);\n", i, isMax);
    return text + fmt::format("  const float r{0} = [&](float r) {{ return {1}; }}(s{0});\n", i, pass.finish);
  }

  std::string further(bool inRow) const {
    std::string text;
    for (size_t i = 0; i < kernel_.from.size(); ++i)
      text += fmt::format("    const float e{} = {};\n", i, loaded(i + 2, inRow));
    return text;
  }

  std::string body() const {
    const std::string_view type = outer_.positions.countType();
    std::string text = readers_ == Readers::kBlock ? "  __shared__ float warps[8];\n" : "";
    text += fmt::format(
        "  const {0} i = ({0})blockIdx.x * {1} + threadIdx.x / {2};\n  const unsigned lane = threadIdx.x % {2};\n",
        type, rowsPerBlock(), lanes());
    text += fmt::format("  if (i >= {}u) return;\n", rows()) + outer_.positions.indices("i");
    for (size_t i = 0; i < kernel_.passes.size(); ++i)
      text += pass(i);
    if (isOne_)
      return text + fmt::format("  if (lane == 0) {{\n{}    {} = (T)({});\n  }}\n", further(false), element(0, false),
                                kernel_.result);
    return text + loop(further(true) + fmt::format("    {} = (T)({});\n", element(0, true), kernel_.result));
  }

  const RowKernel& kernel_;
  bool isOne_;
  std::string tables_;
  Loops outer_, inner_;
  Readers readers_;
};

}  // namespace

KernelSource generate(const RowKernel& kernel) {
  return RowWriter(kernel).write();
}

}  // namespace pet::cuda
