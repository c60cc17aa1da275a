#include "runtime/cuda/generate/table_kernel.h"

#include <fmt/format.h>

#include "runtime/cuda/generate/positions.h"

namespace pet::cuda {
namespace {

constexpr int64_t kTableThreads = 128;
/// On a processor at least: a thread has registers for all that it reads.
constexpr int kTableBlocks = 8, kTableBlocksOfMany = 4;
constexpr size_t kManyRead = 48;

class TableWriter {
 public:
  explicit TableWriter(const TableKernel& kernel)
      : kernel_(kernel), axes_(plan::mapAxes(tensorsOf(kernel))), positions_(axes_, "a", tables_) {}

  KernelSource write() const {
    const int64_t count = positions_.count();
    std::string code = fmt::format(
        "{}extern \"C\" __global__ void __launch_bounds__({}, {}) NAME(T* __restrict__ p0{}) {{\n"
        "  const {} i = ({})blockIdx.x * {} + threadIdx.x;\n  if (i >= {}u) return;\n{}",
        tables_, kTableThreads, kernel_.x.size() > kManyRead ? kTableBlocksOfMany : kTableBlocks, operands(),
        positions_.countType(), positions_.countType(), kTableThreads, count, positions_.indices("i"));
    for (size_t j = 0; j < kernel_.x.size(); ++j)
      code += fmt::format("  const float x{} = {};\n", j, loaded(j));
    for (size_t k = 0; k < kernel_.y.size(); ++k)
      code += fmt::format("  {{\n    const float r = {};\n    {} = (T)({});\n  }}\n", sum(k),
                          element(k, 0, kernel_.y[k]), kernel_.value);
    KernelSource source = named("table", code + "}\n");
    source.pointers = kernel_.pointers;
    source.grid[0] = static_cast<unsigned>((count + kTableThreads - 1) / kTableThreads);
    source.block[0] = kTableThreads;
    return source;
  }

 private:
  /// The results, the operands, then what is added.
  static std::vector<const plan::Access*> tensorsOf(const TableKernel& kernel) {
    std::vector<const plan::Access*> tensors;
    auto add = [&](const std::vector<plan::Access>& list) {
      for (const plan::Access& access : list)
        tensors.push_back(&access);
    };
    add(kernel.y);
    add(kernel.x);
    for (const auto& addend : kernel.added)
      add(addend.at);
    return tensors;
  }

  std::string operands() const {
    std::string text;
    for (int i = 1; i < kernel_.pointers; ++i)
      text += fmt::format(", const T* __restrict__ p{}", i);
    return text;
  }

  /// Of the `tensor`-th of them.
  std::string element(size_t tensor, int pointer, const plan::Access& access) const {
    return fmt::format("p{}[{}ll{}]", pointer, access.offset, axes_.empty() ? "" : positions_.offset(tensor));
  }

  std::string loaded(size_t j) const {
    const size_t tensor = kernel_.y.size() + j;
    const std::string value = "(float)" + element(tensor, kernel_.xPointer, kernel_.x[j]);
    const std::string isThere = axes_.empty() ? "" : positions_.isThere(tensor);
    return isThere.empty() ? value : fmt::format("true{} ? {} : {}", isThere, value, number(kernel_.x[j].fill));
  }

  std::string sum(size_t k) const {
    std::string text;
    for (size_t j = 0; j < kernel_.x.size(); ++j) {
      const float factor = kernel_.table[k * kernel_.x.size() + j];
      if (factor == 0) continue;
      text += text.empty() ? "" : " + ";
      text += factor == 1 ? fmt::format("x{}", j) : fmt::format("{} * x{}", number(factor), j);
    }
    if (text.empty()) text = "0.0f";
    size_t tensor = kernel_.y.size() + kernel_.x.size() + k;
    for (const auto& addend : kernel_.added) {
      text += " + (float)" + element(tensor, addend.pointer, addend.at[k]);
      tensor += addend.at.size();
    }
    return text;
  }

  const TableKernel& kernel_;
  std::vector<plan::MapAxis> axes_;
  std::string tables_;  ///< of positions
  Positions positions_;
};

}  // namespace

KernelSource generate(const TableKernel& kernel) {
  return TableWriter(kernel).write();
}

}  // namespace pet::cuda
