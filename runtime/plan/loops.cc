#include "runtime/plan/loops.h"

#include <algorithm>
#include <limits>

namespace pet::plan {
namespace {

/// How many entries from the first on advance by one step, in all tables.
size_t linearPrefix(const std::vector<std::vector<int64_t>>& tables) {
  size_t n = tables[0].size();
  for (const auto& table : tables) {
    size_t i = std::min<size_t>(2, n);
    while (i < n && table[i] - table[i - 1] == table[1] - table[0])
      ++i;
    n = i;
  }
  return n;
}

bool repeats(const std::vector<int64_t>& table, size_t length) {
  if (table.size() % length != 0) return false;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] - table[i - i % length] != table[i % length] - table[0]) return false;
  }
  return true;
}

void factor(std::vector<std::vector<int64_t>> tables, std::vector<std::vector<std::vector<int64_t>>>& into) {
  size_t extent = tables[0].size();
  if (extent == 1) return;
  size_t length = linearPrefix(tables);
  bool all = std::all_of(tables.begin(), tables.end(), [&](const auto& t) { return repeats(t, length); });
  if (length < extent && length > 1 && all) {
    std::vector<std::vector<int64_t>> outer;
    for (auto& table : tables) {
      outer.emplace_back();
      for (size_t i = 0; i < extent; i += length)
        outer.back().push_back(table[i]);
      table.resize(length);
    }
    factor(std::move(outer), into);
  }
  into.push_back(std::move(tables));
}

bool goesOn(const std::vector<std::vector<int64_t>>& outer, const std::vector<std::vector<int64_t>>& inner) {
  if (linearPrefix(outer) < outer[0].size() || linearPrefix(inner) < inner[0].size()) return false;
  for (size_t t = 0; t < outer.size(); ++t) {
    if (outer[t][1] - outer[t][0] != static_cast<int64_t>(inner[t].size()) * (inner[t][1] - inner[t][0])) return false;
  }
  return true;
}

}  // namespace

Loops::Loops(const std::vector<Access>& tensors) {
  for (const Access& a : tensors)
    offsets_.push_back(a.offset);
  for (size_t d = 0; d < tensors[0].rank(); ++d) {
    Axis axis;
    for (const Access& a : tensors)
      axis.push_back(a.tables[d]);
    factor(std::move(axis), axes_);
  }
  std::stable_sort(axes_.begin(), axes_.end(),
                   [](const Axis& a, const Axis& b) { return a[0][1] - a[0][0] > b[0][1] - b[0][0]; });
  for (size_t i = axes_.size(); i-- > 1;) {
    if (!goesOn(axes_[i - 1], axes_[i])) continue;
    for (size_t t = 0; t < tensors.size(); ++t)
      axes_[i - 1][t] = merged({&axes_[i - 1][t], &axes_[i][t]});
    axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  steps_.assign(tensors.size(), 0);
  if (!axes_.empty() && linearPrefix(axes_.back()) == axes_.back()[0].size()) {
    for (size_t t = 0; t < tensors.size(); ++t)
      steps_[t] = axes_.back()[t][1] - axes_.back()[t][0];
    count_ = static_cast<int64_t>(axes_.back()[0].size());
    axes_.pop_back();
  }
  for (const Axis& axis : axes_)
    rows_ *= static_cast<int64_t>(axis[0].size());
}

}  // namespace pet::plan
