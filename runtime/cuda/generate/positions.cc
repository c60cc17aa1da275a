#include "runtime/cuda/generate/positions.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::cuda {
namespace {

using plan::kFill;
using Table = std::vector<int64_t>;

/// table[i] = base + i · step for first <= i < last, and the fill elsewhere.
struct Range {
  int64_t first, last, base, step;
};

std::optional<Range> rangeOf(const Table& table) {
  auto isFill = [](int64_t entry) { return entry == kFill; };
  const auto first = std::find_if_not(table.begin(), table.end(), isFill);
  const auto last = std::find_if(first, table.end(), isFill);
  if (std::find_if_not(last, table.end(), isFill) != table.end()) return std::nullopt;
  Range range{first - table.begin(), last - table.begin(), 0, 0};
  if (range.last - range.first > 1) range.step = first[1] - first[0];
  if (first != last) range.base = *first - range.first * range.step;
  for (int64_t i = range.first; i < range.last; ++i) {
    if (table[static_cast<size_t>(i)] != range.base + i * range.step) return std::nullopt;
  }
  return range;
}

int64_t farthest(const std::vector<plan::MapAxis>& axes, size_t tensor) {
  int64_t sum = 0;
  for (const plan::MapAxis& axis : axes) {
    int64_t most = 0;
    for (int64_t entry : axis.tables[tensor].entries())
      most = std::max(most, entry == kFill ? 0 : std::abs(entry));
    sum += most;
  }
  return sum;
}

std::string plus(int64_t number) {
  return number == 0 ? "" : fmt::format(" {} {}", number < 0 ? '-' : '+', std::abs(number));
}

std::string plusProduct(const std::string& index, int64_t factor) {
  if (factor == 0) return "";
  const std::string by = std::abs(factor) == 1 ? "" : fmt::format(" * {}", std::abs(factor));
  return fmt::format(" {} {}{}", factor < 0 ? '-' : '+', index, by);
}

}  // namespace

Positions::Positions(const std::vector<plan::MapAxis>& axes, std::string prefix, std::string& tables)
    : axes_(axes), prefix_(std::move(prefix)) {
  const size_t tensors = axes.empty() ? 0 : axes[0].tables.size();
  offsets_.resize(tensors);
  conditions_.resize(tensors);
  wide_ = count() > kMostNarrow;
  for (size_t t = 0; t < tensors; ++t)
    wide_ |= farthest(axes, t) > kMostNarrow;
  for (size_t d = 0; d < axes.size(); ++d) {
    for (size_t t = 0; t < tensors; ++t)
      describe(d, t, tables);
  }
}

void Positions::describe(size_t axis, size_t tensor, std::string& tables) {
  const Table table = axes_[axis].tables[tensor].entries();
  const std::string index = name(axis);
  if (auto range = rangeOf(table)) {
    offsets_[tensor] += plus(range->base) + plusProduct(index, range->step);
    if (range->first > 0) conditions_[tensor] += fmt::format(" && {} >= {}", index, range->first);
    if (range->last < axes_[axis].extent()) conditions_[tensor] += fmt::format(" && {} < {}", index, range->last);
    return;
  }
  const std::string array = fmt::format("NAME_{}{}_{}", prefix_, axis, tensor);
  Table entries = table;
  const bool fills = std::find(table.begin(), table.end(), kFill) != table.end();
  constexpr int64_t kNowhere = std::numeric_limits<int>::min();
  std::replace(entries.begin(), entries.end(), kFill, kNowhere);
  tables += fmt::format("static __device__ const {} {}[] = {{{}}};\n", indexType(), array, fmt::join(entries, ", "));
  offsets_[tensor] += fmt::format(" + {}[{}]", array, index);
  if (fills) conditions_[tensor] += fmt::format(" && {}[{}] != (-2147483647 - 1)", array, index);
}

std::string Positions::indices(const std::string& index, const std::vector<size_t>& fixed) const {
  std::string text, rest = index;
  for (size_t d = axes_.size(); d-- > 0;) {
    if (std::find(fixed.begin(), fixed.end(), d) != fixed.end()) continue;
    const int64_t extent = axes_[d].extent();
    text += fmt::format("  const {} {} = ({}) % {}u;\n", indexType(), name(d), rest, extent);
    rest = fmt::format("({}) / {}u", rest, extent);
  }
  return text;
}

int64_t Positions::count() const {
  int64_t count = 1;
  for (const plan::MapAxis& axis : axes_)
    count *= axis.extent();
  return count;
}

plan::Access onlyDimensions(const plan::Access& access, const std::vector<size_t>& dimensions) {
  plan::Access only{access.offset, {}, access.fill};
  for (size_t d : dimensions)
    only.tables.push_back(access.tables[d]);
  return only;
}

}  // namespace pet::cuda
