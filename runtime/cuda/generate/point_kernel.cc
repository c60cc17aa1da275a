#include "runtime/cuda/generate/point_kernel.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "runtime/cuda/generate/positions.h"

namespace pet::cuda {
namespace {

using plan::Access;
using plan::kFill;
using plan::MapAxis;

constexpr unsigned kPointThreads = 256;
/// On a processor at least: fewer where a thread needs more registers for the operands that it loads at once.
constexpr unsigned kPointBlocks = 4, kBlocksOfPacks = 3, kBlocksOfMany = 2;
constexpr size_t kManyOperands = 49, kSomePacks = 8, kManyPacks = 17;
constexpr int64_t kTile = 32;

/// What the blocks of one kernel do. Its result is the pointer y`number`, its operands are p`first`, p`first + 1`, …;
/// `block` is which of its blocks it is. `tables`: gets what stands in front of the kernel.
class PointWriter {
 public:
  PointWriter(const PointKernel& kernel, Storage storage, size_t number, int first, std::string& tables)
      : kernel_(kernel),
        packSize_(storage == Storage::kFloat ? 4 : 8),
        number_(number),
        first_(first),
        axes_(plan::mapAxes(tensorsOf(kernel))),
        positions_(axes_, fmt::format("a{}", number > 0 ? fmt::format("{}_", number) : ""), tables) {}

  std::string write() {
    if (kernel_.from.size() >= kManyOperands) blocksAtOnce_ = kBlocksOfMany;
    const auto across = acrossAxis();
    return across ? tiled(*across) : isPacked() ? packed() : plain();
  }
  unsigned blocks() const { return blocks_; }
  int tiles() const { return tiles_; }  ///< of shared memory
  unsigned blocksAtOnce() const { return blocksAtOnce_; }

 private:
  static std::vector<const Access*> tensorsOf(const PointKernel& kernel) {
    std::vector<const Access*> tensors{&kernel.to};
    for (const auto& operand : kernel.from)
      tensors.push_back(&operand.access);
    return tensors;
  }

  const Access& access(size_t tensor) const { return tensor == 0 ? kernel_.to : kernel_.from[tensor - 1].access; }
  /// Where a tensor's element is, behind its pointer.
  std::string element(size_t tensor) const {
    const std::string pointer =
        tensor == 0 ? fmt::format("y{}", number_) : fmt::format("p{}", first_ + kernel_.from[tensor - 1].pointer);
    const std::string offset = positions_.count() == 1 && axes_.empty() ? "" : positions_.offset(tensor);
    return fmt::format("{}[{}ll{}]", pointer, access(tensor).offset, offset);
  }
  std::string condition(size_t tensor) const { return axes_.empty() ? "" : positions_.isThere(tensor); }

  /// Of one operand at the current position.
  std::string loaded(size_t tensor) const {
    const std::string value = fmt::format("(float){}", element(tensor));
    if (condition(tensor).empty()) return value;
    return fmt::format("true{} ? {} : {}", condition(tensor), value, number(access(tensor).fill));
  }

  std::string declared(size_t tensor, const std::string& value) const {
    return fmt::format("  const float x{} = {};\n", tensor - 1, value);
  }

  std::string start(int64_t count) {
    blocks_ = static_cast<unsigned>((count + kPointThreads - 1) / kPointThreads);
    return fmt::format("  const {0} i = ({0})block * {1} + threadIdx.x;\n  if (i >= {2}u) return;\n",
                       positions_.countType(), kPointThreads, count);
  }

  std::string plain() {
    std::string body = start(positions_.count()) + positions_.indices("i");
    for (size_t t = 1; t <= kernel_.from.size(); ++t)
      body += declared(t, loaded(t));
    return body + kernel_.lines + fmt::format("  {} = (T)({});\n", element(0), kernel_.value);
  }

  // --- Packs. ---

  /// Whole packs lie at multiples of a pack, or one element stands for all of a pack.
  bool isPacked(size_t tensor) const {
    const MapAxis& last = axes_.back();
    if (!last.isLinear(tensor)) return false;
    if (last.step(tensor) == 0) return tensor > 0;
    auto isMultiple = [&](int64_t entry) { return entry == kFill || entry % packSize_ == 0; };
    return last.step(tensor) == 1 && isMultiple(access(tensor).offset) &&
           std::all_of(axes_.begin(), axes_.end() - 1, [&](const MapAxis& a) {
             const std::vector<int64_t> table = a.tables[tensor].entries();
             return std::all_of(table.begin(), table.end(), isMultiple);
           });
  }
  bool isPacked() const {
    if (axes_.empty() || axes_.back().extent() % packSize_ != 0) return false;
    for (size_t t = 0; t <= kernel_.from.size(); ++t) {
      if (!isPacked(t)) return false;
    }
    return true;
  }

  std::string isWide() const {
    std::string all = fmt::format("(size_t)y{}", number_);
    for (int i = 0; i < kernel_.pointers(); ++i)
      all += fmt::format(" | (size_t)p{}", first_ + i);
    return fmt::format("  const bool wide = (({}) & 15) == 0;\n", all);
  }

  std::string packed() {
    const size_t packs = kernel_.from.size();
    if (packs >= kSomePacks) blocksAtOnce_ = packs < kManyPacks ? kBlocksOfPacks : kBlocksOfMany;
    const std::string first = fmt::format("(i * {}u)", packSize_);
    std::string body = start(positions_.count() / packSize_) + isWide() + positions_.indices(first);
    for (size_t t = 1; t <= kernel_.from.size(); ++t) {
      if (axes_.back().step(t) == 0) {
        body += fmt::format("  const float b{} = {};\n", t - 1, loaded(t));
      } else if (condition(t).empty()) {
        body += fmt::format("  const Pack b{} = loadPack(&{}, wide);\n", t - 1, element(t));
      } else {
        body += fmt::format(
            "  Pack b{0};\n  if (true{1}) b{0} = loadPack(&{2}, wide);\n  else for (int k = 0; k < {3}; ++k) "
            "b{0}.v[k] = (T)({4});\n",
            t - 1, condition(t), element(t), packSize_, number(access(t).fill));
      }
    }
    body += fmt::format("  Pack result;\n#pragma unroll\n  for (int k = 0; k < {}; ++k) {{\n", packSize_);
    for (size_t t = 1; t <= kernel_.from.size(); ++t)
      body += "  " + declared(t, axes_.back().step(t) == 0 ? fmt::format("b{}", t - 1)
                                                           : fmt::format("(float)b{}.v[k]", t - 1));
    return body + kernel_.lines +
           fmt::format("    result.v[k] = (T)({});\n  }}\n  storePack(&{}, result, wide);\n", kernel_.value,
                       element(0));
  }

  // --- Tiles. ---

  bool isAcross(size_t tensor, size_t axis) const {
    return axes_[axis].isLinear(tensor) && axes_[axis].step(tensor) == 1 && axes_.back().isLinear(tensor) &&
           axes_.back().step(tensor) > 1;
  }

  /// The axis along which an operand has its neighbours, if the result's are along the last one.
  std::optional<size_t> acrossAxis() const {
    if (axes_.size() < 2 || !axes_.back().isLinear(0) || axes_.back().step(0) != 1) return std::nullopt;
    constexpr int64_t kLeast = 8;  // shorter rows would leave most of a tile empty
    for (size_t t = 1; t <= kernel_.from.size(); ++t) {
      for (size_t d = 0; d + 1 < axes_.size(); ++d) {
        if (isAcross(t, d) && axes_[d].extent() >= kLeast && axes_.back().extent() >= kLeast) return d;
      }
    }
    return std::nullopt;
  }

  std::string tiled(size_t across) {
    const size_t last = axes_.size() - 1;
    const int64_t rows = axes_[across].extent(), columns = axes_[last].extent();
    const int64_t tilesDown = (rows + kTile - 1) / kTile, tilesAlong = (columns + kTile - 1) / kTile;
    blocks_ = static_cast<unsigned>(positions_.count() / rows / columns * tilesDown * tilesAlong);
    std::string loads, stores;
    for (size_t t = 1; t <= kernel_.from.size(); ++t) {
      if (!isAcross(t, across)) {
        stores += "  " + declared(t, loaded(t));
        continue;
      }
      loads += fmt::format("      tiles[{}][row][column] = {};\n", tiles_, loaded(t));
      stores += "  " + declared(t, fmt::format("tiles[{}][column][row]", tiles_));
      ++tiles_;
    }
    const std::string_view type = positions_.indexType();
    std::string body = fmt::format(
        "  const {0} outer = block / {1}u;\n  const {2} down = block % {1}u / {3}u * {4}, along = block % {3}u * {4}, "
        "column = threadIdx.x % {4}u;\n",
        positions_.countType(), tilesDown * tilesAlong, type, tilesAlong, kTile);
    body += positions_.indices("outer", {across, last});
    auto loop = [&](std::string_view downAt, std::string_view alongAt, const std::string& what) {
      return fmt::format(
          "  for (int row = threadIdx.x / {0}u; row < {0}; row += {1}) {{\n    const {2} {3} = down + {4}, {5} = along "
          "+ {6};\n    if ({3} < {7} && {5} < {8}) {{\n{9}    }}\n  }}\n",
          kTile, kPointThreads / kTile, type, positions_.name(across), downAt, positions_.name(last), alongAt, rows,
          columns, what);
    };
    body += loop("column", "row", loads) + "  __syncthreads();\n";
    return body + loop("row", "column",
                       stores + kernel_.lines + fmt::format("      {} = (T)({});\n", element(0), kernel_.value));
  }

  const PointKernel& kernel_;
  int64_t packSize_;
  size_t number_;
  int first_;
  std::vector<MapAxis> axes_;
  Positions positions_;
  unsigned blocks_ = 1, blocksAtOnce_ = kPointBlocks;
  int tiles_ = 0;
};

}  // namespace

int PointKernel::pointers() const {
  int count = 0;
  for (const Operand& operand : from)
    count = std::max(count, operand.pointer + 1);
  return count;
}

KernelSource generate(std::span<const PointKernel> kernels, Storage storage) {
  std::string tables, arguments, operands, bodies;
  unsigned blocks = 0, blocksAtOnce = kPointBlocks;
  int pointers = 0, tiles = 0;
  const bool inPlace = std::any_of(kernels.begin(), kernels.end(), [](const PointKernel& k) { return k.inPlace; });
  const std::string_view restrict = inPlace ? "" : " __restrict__";
  for (size_t i = 0; i < kernels.size(); ++i) {
    PointWriter writer(kernels[i], storage, i, pointers, tables);
    const std::string body = writer.write();
    const bool isLast = i + 1 == kernels.size();
    bodies += isLast
                ? fmt::format("  {{\n{}  }}\n", body)
                : fmt::format("  if (block < {0}u) {{\n{1}  return;\n  }}\n  block -= {0}u;\n", writer.blocks(), body);
    blocks += writer.blocks();
    tiles = std::max(tiles, writer.tiles());
    blocksAtOnce = std::min(blocksAtOnce, writer.blocksAtOnce());
    arguments += fmt::format("{}T*{} y{}", i > 0 ? ", " : "", restrict, i);
    for (int last = pointers + kernels[i].pointers(); pointers < last; ++pointers)
      operands += fmt::format(", const T*{} p{}", restrict, pointers);
  }
  std::string code = tables + fmt::format("extern \"C\" __global__ void __launch_bounds__({}, {}) NAME({}{}) {{\n",
                                          kPointThreads, blocksAtOnce, arguments, operands);
  if (tiles > 0) code += fmt::format("  __shared__ float tiles[{}][{}][{}];\n", tiles, kTile, kTile + 1);
  code += "  unsigned block = blockIdx.x;\n" + bodies + "}\n";
  KernelSource source = named("point", std::move(code));
  source.pointers = static_cast<int>(kernels.size()) + pointers;
  source.grid[0] = blocks;
  source.block[0] = kPointThreads;
  source.barriers = tiles > 0;
  return source;
}

}  // namespace pet::cuda
