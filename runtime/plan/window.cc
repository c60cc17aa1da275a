#include "runtime/plan/window.h"

#include <algorithm>

namespace pet::plan {
namespace {

/// Zeros that a layout put around the operand become the operator's own pads.
void takePads(Window& w) {
  Access& x = w.x.access;
  if (!x.fills() || x.fill != 0 || w.transposed) return;
  for (size_t d = 2; d < x.rank(); ++d) {
    auto& table = x.tables[d];
    int64_t& before = w.before[d - 2];
    int64_t& after = w.after[d - 2];
    int64_t reach = (w.kernel[d - 2] - 1) * (w.dilations[d - 2] + 1);
    while (table.size() > 1 && table.front() == kFill && before < reach) {
      table.erase(table.begin());
      ++before;
    }
    while (table.size() > 1 && table.back() == kFill && after < reach) {
      table.pop_back();
      ++after;
    }
  }
  normalise(x);
}

void seeAsRow(Window& w) {
  w.oneRow = true;
  w.x.access.tables.insert(w.x.access.tables.begin() + 2, {0});
  w.y.insert(w.y.begin() + 2, 1);
  for (auto [list, value] :
       {std::pair{&w.kernel, 1}, {&w.strides, 1}, {&w.dilations, 0}, {&w.before, 0}, {&w.after, 0}})
    list->insert(list->begin(), value);
}

/// The taps of a kernel, each as its digits.
std::vector<Extents> tapsOf(const Extents& kernel) {
  std::vector<Extents> taps{{}};
  for (int64_t k : kernel) {
    std::vector<Extents> next;
    for (const Extents& t : taps) {
      for (int64_t i = 0; i < k; ++i) {
        next.push_back(t);
        next.back().push_back(i);
      }
    }
    taps = std::move(next);
  }
  return taps;
}

/// Where each position of an output dimension reads its operand through one tap; -1: nowhere.
std::vector<int64_t> readAt(const Window& w, size_t d, int64_t extent, int64_t tap) {
  std::vector<int64_t> positions;
  int64_t shift = tap * (w.dilations[d] + 1) - w.before[d];
  for (int64_t i = 0; i < w.y[2 + d]; ++i) {
    int64_t p = w.transposed ? i - shift : i * w.strides[d] + shift;
    if (w.transposed) p = p % w.strides[d] == 0 ? p / w.strides[d] : -1;
    positions.push_back(p < 0 || p >= extent ? -1 : p);
  }
  return positions;
}

}  // namespace

Window windowOf(Planner& p, int n, bool transposed) {
  const Node& node = p.node(n);
  Extents w = p.extents(node.operands[1]), pads = p.list(n, "pads");
  size_t spatial = w.size() - 2;
  Window window{p.place(node.operands[0]),
                p.extents({n, 0}),
                {w.begin() + 2, w.end()},
                p.list(n, "strides"),
                p.list(n, "dilations"),
                {},
                {},
                p.scalar(n, "group"),
                0,
                0,
                transposed};
  window.inner = p.extents(node.operands[0])[1];
  window.outer = window.y[1];
  for (int64_t& d : window.dilations)
    --d;
  window.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  window.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  if (transposed) {
    Extents more = p.list(n, "output_padding");
    for (size_t d = 0; d < spatial; ++d)
      window.after[d] -= more[d];
  }
  takePads(window);
  if (spatial == 1) seeAsRow(window);
  return window;
}

Place withPads(Planner& p, int n, const Window& w, size_t first) {
  Place x = p.windowOperand(p.node(n).operands[0], w.x, channelsLast(w.x.access.extents()));
  const Extents extents = x.access.extents();
  for (size_t d = first; d < w.kernel.size(); ++d) {
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < w.reach(d); ++i) {
      const int64_t at = i - w.before[d];
      positions.push_back(at < extents[2 + d] ? std::max<int64_t>(at, -1) : -1);
    }
    x.access = selected(x.access, 2 + d, positions);
  }
  return p.as(x, channelsLast(x.access.extents()));
}

std::vector<Access> addendsOf(const Window& w, const Access& t, bool tapOuter) {
  std::vector<Extents> taps = tapsOf(w.kernel);
  auto count = static_cast<int64_t>(taps.size()), channels = w.y[1];
  std::vector<Access> addends;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<int64_t> slots;
    for (int64_t f = 0; f < channels; ++f)
      slots.push_back(tapOuter ? k * channels + f : f * count + k);
    Access addend = selected(t, 1, slots);
    for (size_t d = 0; d < w.kernel.size(); ++d) {
      auto extent = static_cast<int64_t>(t.tables[2 + d].size());
      addend = selected(addend, 2 + d, readAt(w, d, extent, taps[static_cast<size_t>(k)][d]));
    }
    addends.push_back(std::move(addend));
  }
  return addends;
}

}  // namespace pet::plan
