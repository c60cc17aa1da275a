// Kernels that move values: each output dimension has a table of where it reads.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/ops/kernels/support.h"

namespace pet::kernels {
namespace {

/// The identity table of every dimension.
Offsets straight(const Extents& extents) {
  std::vector<int64_t> strides = rowMajorStrides(extents);
  Offsets offsets;
  for (size_t d = 0; d < extents.size(); ++d)
    offsets.push_back(linearOffsets(extents[d], strides[d]));
  return offsets;
}

/// [begin, end) of a table of offsets.
std::vector<int64_t> range(const std::vector<int64_t>& table, int64_t begin, int64_t end) {
  return {table.begin() + begin, table.begin() + end};
}

template <class T>
Expected<std::vector<Tensor<T>>> gathered(const ConcreteNode& node,
                                          const Offsets& offsets,
                                          const Tensor<T>& x,
                                          T fill = T()) {
  Tensor<T> y(node.outputs[0]);
  gather(offsets, x.data.data(), fill, y.data.data());
  return std::vector{std::move(y)};
}

/// Where position p of a padded dimension reads the original of this extent, or kOutside.
int64_t unpadded(int64_t p, int64_t extent, std::string_view mode) {
  if (p >= 0 && p < extent) return p;
  if (mode == "edge") return p < 0 ? 0 : extent - 1;
  if (mode == "reflect") return p < 0 ? -p : 2 * (extent - 1) - p;
  return kOutside;
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> Pad::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Extents pads = node.list("pads");
  const std::string& mode = node.text("mode");
  auto fill = fromNumber<T>(node.number("value"));
  if (!fill) return tl::unexpected(fill.error());
  std::vector<int64_t> strides = rowMajorStrides(x.extents);
  Offsets offsets;
  for (size_t d = 0; d < x.extents.size(); ++d) {
    std::vector<int64_t> table;
    for (int64_t i = 0; i < node.outputs[0][d]; ++i) {
      int64_t p = unpadded(i - pads[d], x.extents[d], mode);
      bool inside = p >= 0 && p < x.extents[d];
      if (!inside && mode != "constant") {
        return fail(ErrorKind::kModel,
                    fmt::format("Pad of {} by {} in mode {} reaches too far", str(x.extents), str(pads), mode));
      }
      table.push_back(inside ? p * strides[d] : kOutside);
    }
    offsets.push_back(std::move(table));
  }
  return gathered(node, offsets, x, *fill);
}

template <class T>
Expected<std::vector<Tensor<T>>> Slice::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  Extents axes = node.list("axes"), starts = node.list("starts"), ends = node.list("ends"), steps = node.list("steps");
  Offsets offsets = straight(x.extents);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto d = static_cast<size_t>(axes[i]);
    if (starts[i] < 0 || starts[i] > ends[i] || ends[i] > x.extents[d]) {
      return fail(ErrorKind::kModel, fmt::format("Slice of {} along axis {}: [{}, {}) is not a range of it",
                                                 str(x.extents), d, starts[i], ends[i]));
    }
    std::vector<int64_t> table;
    for (int64_t p = starts[i]; p < ends[i]; p += steps.empty() ? 1 : steps[i]) {
      table.push_back(offsets[d][static_cast<size_t>(p)]);
    }
    offsets[d] = std::move(table);
  }
  return gathered(node, offsets, x);
}

template <class T>
Expected<std::vector<Tensor<T>>> Concat::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Tensor<T> y(node.outputs[0]);
  auto axis = node.scalar("axis");
  int64_t outer = elementCount(Extents(y.extents.begin(), y.extents.begin() + axis));
  T* to = y.data.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor<T>* part : in) {
      int64_t chunk = part->size() / outer;
      to = std::copy_n(part->data.data() + o * chunk, chunk, to);
    }
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Split::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  auto axis = static_cast<size_t>(node.scalar("axis"));
  Offsets offsets = straight(x.extents);
  std::vector<int64_t> table = std::move(offsets[axis]);
  std::vector<Tensor<T>> parts;
  int64_t start = 0;
  for (const Extents& extents : node.outputs) {
    int64_t end = start + extents[axis];
    if (end > x.extents[axis]) return fail(ErrorKind::kModel, "Split: the parts exceed " + str(x.extents));
    offsets[axis] = range(table, start, end);
    parts.emplace_back(extents);
    gather(offsets, x.data.data(), T(), parts.back().data.data());
    start = end;
  }
  return parts;
}

template <class T>
Expected<std::vector<Tensor<T>>> Transpose::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Offsets own = straight(in[0]->extents), offsets;
  for (int64_t axis : node.list("perm"))
    offsets.push_back(own[static_cast<size_t>(axis)]);
  return gathered(node, offsets, *in[0]);
}

PET_INSTANTIATE_RING(Pad);
PET_INSTANTIATE_RING(Slice);
PET_INSTANTIATE_RING(Concat);
PET_INSTANTIATE_RING(Split);
template <class T>
Expected<std::vector<Tensor<T>>> Gather::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  auto axis = static_cast<size_t>(node.scalar("axis"));
  Offsets offsets = straight(x.extents);
  std::vector<int64_t> table;
  for (int64_t i : node.list("indices")) {
    if (i < 0 || i >= x.extents[axis]) {
      return fail(ErrorKind::kModel, fmt::format("Gather of {} along axis {} at {}", str(x.extents), axis, i));
    }
    table.push_back(offsets[axis][static_cast<size_t>(i)]);
  }
  offsets[axis] = std::move(table);
  return gathered(node, offsets, x);
}

template <class T>
Expected<std::vector<Tensor<T>>> ScatterND::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Tensor<T> y = *in[0];
  const Tensor<T>& rows = *in[1];
  const int64_t start = node.scalar("start");
  if (start < 0 || start + rows.extents[0] > y.extents[0])
    return fail(ErrorKind::kModel, fmt::format("ScatterND into {} from {} on", str(y.extents), start));
  if (rows.size() > 0)
    std::copy(rows.data.begin(), rows.data.end(), y.data.begin() + start * (rows.size() / rows.extents[0]));
  return std::vector{std::move(y)};
}

namespace {

/// The integer of -limit to limit - 1 that a number is, of F_p the one that its residue stands for; nullopt: none.
template <class T>
std::optional<int64_t> integerOf(T number, int64_t limit) {
  if constexpr (std::is_same_v<T, Fp>) {
    const auto residue = static_cast<int64_t>(number.value());
    const int64_t at = residue < limit ? residue : residue - static_cast<int64_t>(Fp::kPrime);
    return at >= -limit ? std::optional(at) : std::nullopt;
  } else {
    const T end = static_cast<T>(limit);
    const bool isOne = number >= -end && number < end && number == static_cast<T>(static_cast<int64_t>(number));
    return isOne ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> OneHot::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const int64_t depth = node.scalar("depth"), shift = node.scalar("negative") != 0 ? depth : 0;
  Tensor<T> y(node.outputs[0]);
  int64_t row = 0;
  for (const T& index : in[0]->data) {
    const int64_t at = integerOf(index, depth).value_or(depth) + shift;
    if (at >= 0 && at < depth) y.data[static_cast<size_t>(row + at)] = T(1);
    row += depth;
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Lookup::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& table = *in[1];
  const int64_t count = table.extents[0], width = table.extents[1];
  const int64_t negative = node.scalar("negative"), none = count - 1 - negative;
  Tensor<T> y(node.outputs[0]);
  auto to = y.data.begin();
  for (const T& index : in[0]->data) {
    const int64_t at = integerOf(index, count).value_or(none);
    const int64_t row = at >= 0 ? std::min(at, none) : std::max(count + at, none);
    to = std::copy_n(table.data.begin() + row * width, width, to);
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_RING(Transpose);
PET_INSTANTIATE_RING(Gather);
PET_INSTANTIATE_RING(ScatterND);
PET_INSTANTIATE_RING(OneHot);
PET_INSTANTIATE_RING(Lookup);

}  // namespace pet::kernels
