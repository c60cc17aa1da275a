#include "runtime/plan/loops.h"

#include <algorithm>

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

}  // namespace

/// An axis in as many loops as its tables are made of: blocks that repeat, cut where they begin.
void Loops::factor(std::vector<std::vector<int64_t>> tables, std::vector<Axis>& into) {
  const size_t extent = tables[0].size();
  if (extent == 1) return;
  const size_t length = linearPrefix(tables);
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
  Axis axis{static_cast<int64_t>(tables[0].size()), {}, {}};
  for (const auto& table : tables)
    axis.steps.push_back(table[1] - table[0]);
  if (length < tables[0].size()) axis.tables = std::move(tables);
  into.push_back(std::move(axis));
}

bool Loops::goesOn(const Axis& outer, const Axis& inner) {
  if (!outer.isLinear() || !inner.isLinear()) return false;
  for (size_t t = 0; t < outer.steps.size(); ++t) {
    if (outer.steps[t] != inner.extent * inner.steps[t]) return false;
  }
  return true;
}

Loops::Loops(const std::vector<Access>& tensors) {
  for (const Access& a : tensors)
    offsets_.push_back(a.offset);
  for (size_t d = 0; d < tensors[0].rank(); ++d) {
    std::vector<std::vector<int64_t>> tables;
    for (const Access& a : tensors)
      tables.push_back(a.tables[d]);
    factor(std::move(tables), axes_);
  }
  std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.steps[0] > b.steps[0]; });
  for (size_t i = axes_.size(); i-- > 1;) {
    if (!goesOn(axes_[i - 1], axes_[i])) continue;
    axes_[i].extent *= axes_[i - 1].extent;
    axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
  steps_.assign(tensors.size(), 0);
  if (!axes_.empty() && axes_.back().isLinear()) {
    steps_ = std::move(axes_.back().steps);
    count_ = axes_.back().extent;
    axes_.pop_back();
  }
  for (const Axis& axis : axes_)
    rows_ *= axis.extent;
}

void Loops::joinRows() {
  if (axes_.empty() || !axes_.back().isLinear()) return;
  period_ = count_;
  periodSteps_ = std::move(axes_.back().steps);
  count_ *= axes_.back().extent;
  rows_ /= axes_.back().extent;
  axes_.pop_back();
}

}  // namespace pet::plan
