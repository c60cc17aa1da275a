#include "runtime/cuda/tables.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "runtime/cuda/points.h"

namespace pet::cuda {
namespace {

constexpr int64_t kMostRows = 64;  ///< and columns: a thread has registers for so many

/// The form at each position of dimension 1, without it.
std::vector<Access> each(const TensorForm& form) {
  Access access = strided(form.extents, form.strides);
  access.tables.erase(access.tables.begin() + 1);
  std::vector<Access> list(static_cast<size_t>(form.extents[1]), access);
  for (size_t i = 0; i < list.size(); ++i)
    list[i].offset = static_cast<int64_t>(i) * form.strides[1];
  return list;
}

/// What one tap reads at each position of the result, of images of one channel.
Access seenBy(const ConvCall& call, Access seen, int64_t tap) {
  for (size_t d = call.strides.size(); d-- > 0;) {
    const int64_t first = tap % call.w.extents[2 + d] * call.dilations[d] - call.before[d];
    tap /= call.w.extents[2 + d];
    std::vector<int64_t> positions(static_cast<size_t>(call.y.extents[2 + d]));
    for (size_t v = 0; v < positions.size(); ++v) {
      const int64_t read = first + static_cast<int64_t>(v) * call.strides[d];
      positions[v] = read >= 0 && read < call.x.extents[2 + d] ? read : -1;
    }
    seen = selected(seen, 2 + d, positions);
  }
  seen.fill = 0;
  seen.tables.erase(seen.tables.begin() + 1);
  return seen;
}

}  // namespace

bool isTable(const std::vector<float>& numbers, int64_t rows, int64_t columns) {
  if (rows > kMostRows || columns > kMostRows) return false;
  std::set<float> sizes;
  for (float x : numbers)
    sizes.insert(std::abs(x));
  return 2 * sizes.size() <= numbers.size();
}

std::optional<TableKernel> tableKernel(const ConvCall& call) {
  return tableKernel(call, strided(call.x.extents, call.x.strides));
}

std::optional<TableKernel> tableKernel(const ConvCall& call, const Access& x) {
  if (call.table.empty()) return std::nullopt;
  TableKernel kernel;
  kernel.table = call.table;
  const int64_t taps = static_cast<int64_t>(call.table.size()) / call.y.extents[1];
  for (int64_t t = 0; t < taps; ++t)
    kernel.x.push_back(seenBy(call, x, t));
  kernel.y = each(call.y);
  kernel.pointers = 3;
  if (call.bias) {
    TensorForm bias{call.y.extents, std::vector<int64_t>(call.y.extents.size(), 0)};
    bias.strides[1] = 1;
    kernel.added.push_back({kernel.pointers++, each(bias)});
  }
  if (call.added) kernel.added.push_back({kernel.pointers++, each(*call.added)});
  if (call.activation) kernel.value = applied(*call.activation, "r");
  return kernel;
}

std::optional<TableKernel> tableKernel(const ProductCall& call) {
  const bool isOne = call.left.extents[0] == 1 || call.left.strides[0] == 0;
  if (call.table.empty() || !isOne) return std::nullopt;
  TableKernel kernel;
  kernel.table = call.table;
  TensorForm right = call.right;
  if (right.extents[0] == 1) right.strides[0] = 0;
  right.extents[0] = call.y.extents[0];
  kernel.x = each(right);
  kernel.y = each(call.y);
  kernel.pointers = 3;
  kernel.xPointer = 2;
  if (call.bias) {
    const TensorForm bias{call.y.extents, {0, 0, 1}};
    kernel.added.push_back({kernel.pointers++, each(bias)});
  }
  if (call.activation) kernel.value = applied(*call.activation, "r");
  return kernel;
}

bool readsAsWell(const ConvCall& call, const Access& x) {
  if ((x.fills() && x.fill != 0) || x.tables[1][0] == kFill) return false;
  const auto& along = x.tables.back();
  const auto stride = static_cast<size_t>(call.strides.back());
  for (size_t i = 0; i + stride < along.size(); ++i) {
    if (along[i] != kFill && along[i + stride] != kFill &&
        std::abs(along[i + stride] - along[i]) > static_cast<int64_t>(stride))
      return false;
  }
  return true;
}

}  // namespace pet::cuda
