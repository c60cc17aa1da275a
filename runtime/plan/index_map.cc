#include "runtime/plan/index_map.h"

#include <algorithm>
#include <limits>

namespace pet::plan {
namespace {

/// How many entries from the first on advance by one step, in a table without fills.
size_t linearPrefix(const std::vector<int64_t>& table) {
  if (table.size() < 2 || table[0] == kFill || table[1] == kFill) return 1;
  size_t n = 2;
  while (n < table.size() && table[n] != kFill && table[n] - table[n - 1] == table[1] - table[0])
    ++n;
  return n;
}

/// Every block of `length` entries is the first one moved, or all fill.
bool repeatsOrFills(const std::vector<int64_t>& table, size_t length) {
  if (table.size() % length != 0) return false;
  for (size_t i = 0; i < table.size(); i += length) {
    for (size_t j = 0; j < length; ++j) {
      bool fill = table[i] == kFill;
      if (fill ? table[i + j] != kFill : table[i + j] == kFill || table[i + j] - table[i] != table[j] - table[0])
        return false;
    }
  }
  return true;
}

std::vector<int64_t> everyNth(const std::vector<int64_t>& table, size_t n) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < table.size(); i += n)
    result.push_back(table[i]);
  return result;
}

bool isFactor(const std::vector<std::vector<int64_t>>& tables, size_t length) {
  return std::all_of(tables.begin(), tables.end(), [&](const auto& t) { return repeatsOrFills(t, length); });
}

void factor(std::vector<std::vector<int64_t>> tables, std::vector<MapAxis>& into) {
  const size_t extent = tables[0].size();
  const bool fills = std::any_of(tables.begin(), tables.end(), [](const auto& t) { return t[0] == kFill; });
  if (extent == 1 && !fills) return;
  size_t length = extent;
  for (const auto& t : tables)
    length = std::min(length, linearPrefix(t));
  if (length > 1 && length < extent && isFactor(tables, length)) {
    std::vector<std::vector<int64_t>> outer;
    for (auto& t : tables) {
      outer.push_back(everyNth(t, length));
      t.resize(length);
    }
    factor(std::move(outer), into);
  }
  MapAxis axis;
  for (auto& t : tables)
    axis.tables.emplace_back(std::move(t));
  into.push_back(std::move(axis));
}

bool goesOn(const MapAxis& outer, const MapAxis& inner) {
  if (!outer.isLinear() || !inner.isLinear()) return false;
  for (size_t t = 0; t < outer.tables.size(); ++t) {
    if (outer.step(t) != inner.extent() * inner.step(t)) return false;
  }
  return true;
}

/// Joins neighbours of which the outer one goes on where the inner one ends, in all tensors.
void join(std::vector<MapAxis>& axes) {
  for (size_t i = axes.size(); i-- > 1;) {
    MapAxis &outer = axes[i - 1], &inner = axes[i];
    if (!goesOn(outer, inner)) continue;
    const size_t extent = outer.tables[0].size() * inner.tables[0].size();
    for (size_t t = 0; t < outer.tables.size(); ++t)
      outer.tables[t] = AxisTable(extent, inner.step(t));
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

AxisTable::AxisTable(std::vector<int64_t> entries) : extent_(entries.size()) {
  if (extent_ > 1 && entries[0] == 0 && linearPrefix(entries) == extent_) {
    step_ = entries[1];
  } else {
    entries_ = std::move(entries);
  }
}

std::vector<int64_t> AxisTable::entries() const {
  return entries_.empty() ? multiples(static_cast<int64_t>(extent_), step_) : entries_;
}

bool MapAxis::isLinear() const {
  return std::all_of(tables.begin(), tables.end(), [](const AxisTable& t) { return t.isLinear(); });
}

std::vector<MapAxis> mapAxes(const std::vector<const Access*>& tensors) {
  std::vector<MapAxis> axes;
  for (size_t d = 0; d < tensors[0]->rank(); ++d) {
    std::vector<std::vector<int64_t>> tables;
    for (const Access* t : tensors)
      tables.push_back(t->tables[d]);
    factor(std::move(tables), axes);
  }
  std::stable_sort(axes.begin(), axes.end(), [](const MapAxis& a, const MapAxis& b) {
    auto step = [](const MapAxis& x) { return x.extent() > 1 ? x.step(0) : std::numeric_limits<int64_t>::max(); };
    return step(a) > step(b);
  });
  join(axes);
  return axes;
}

}  // namespace pet::plan
