// Sums of many values: OffsetReduce, Col2Im, trees of Adds, ReduceSum of what is stacked.

#include "runtime/plan/sums.h"

#include "runtime/plan/window.h"

namespace pet::plan {
namespace {

/// What an OffsetReduce or a Col2Im adds up, and the form of the result.
struct WindowSum {
  std::vector<Place> addends;
  Access form;
};

/// y[n, f, v] = Σ_k t[n, (f k), v·stride + k·dilation - pad].
WindowSum offsetsOf(Planner& p, int n) {
  Value x = p.node(n).operands[0];
  Place there = p.place(x);
  if (there.access.fills()) there = p.as(x, compacted(there.access));
  Extents pads = p.list(n, "pads");
  Window w;
  w.y = p.extents({n, 0});
  w.kernel = p.list(n, "kernel_shape");
  w.strides = p.list(n, "strides");
  w.dilations = p.list(n, "dilations");
  for (int64_t& d : w.dilations)
    --d;
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(w.kernel.size()));
  std::vector<Place> addends;
  for (Access& a : addendsOf(w, there.access, false))
    addends.push_back({there.buffer, std::move(a)});
  return {std::move(addends), inOrder(w.y, memoryOrder(there.access))};
}

/// The transposed: y[n, f, i·stride + k·dilation - pad] += t[n, (f k), (i)].
WindowSum columnsOf(Planner& p, int n) {
  Value x = p.node(n).operands[0];
  Window w;
  w.y = p.extents({n, 0});
  w.kernel = p.list(n, "block_shape");
  size_t spatial = w.kernel.size();
  Extents pads = p.list(n, "pads");
  w.strides = p.list(n, "strides");
  w.dilations = p.list(n, "dilations");
  if (w.strides.empty()) w.strides.assign(spatial, 1);
  if (w.dilations.empty()) w.dilations.assign(spatial, 1);
  if (pads.empty()) pads.assign(2 * spatial, 0);
  Extents t = p.extents(x);
  t.pop_back();
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = (w.kernel[d] - 1) * w.dilations[d]--;
    w.before.push_back(pads[d]);
    t.push_back((w.y[2 + d] + pads[d] + pads[spatial + d] - reach - 1) / w.strides[d] + 1);
  }
  w.transposed = true;
  Place there = p.as(x, rowMajor(p.extents(x)));
  Access columns = *reshaped(there.access, t);
  std::vector<Place> addends;
  for (Access& a : addendsOf(w, columns, false))
    addends.push_back({there.buffer, std::move(a)});
  return {std::move(addends), rowMajor(w.y)};
}

bool lowerWindowSum(Planner& p, int n, const Epilogue& e) {
  const WindowSum sum = p.node(n).is(ops::kCol2Im) ? columnsOf(p, n) : offsetsOf(p, n);
  Place y = p.create(sum.form);
  if (!p.emitSum(y, sum.addends, e)) return false;
  p.define(e.result, std::move(y));
  p.note(n, "a kernel of our own: one sum");
  return true;
}

constexpr SharedLowering kSumRows[] = {{"OffsetReduce", nullptr, lowerWindowSum}, {"Col2Im", nullptr, lowerWindowSum}};

}  // namespace

void lowerSum(Planner& p, Value result, const std::vector<Value>& addends) {
  const Extents extents = p.extents(result);
  std::vector<Place> from;
  for (Value v : addends) {
    Place there = p.place(v);
    const bool isStacked = there.access.extents() != extents;
    if (there.access.fills() && (there.access.fill != 0 || isStacked)) there = p.as(v, compacted(there.access));
    if (isStacked) there.access = *reshaped(there.access, extents);  // without the dimension of one position
    from.push_back(std::move(there));
  }
  Place y = p.create(compacted(from[0].access));
  p.emitSum(y, from, {});
  p.define(result, std::move(y));
}

std::span<const SharedLowering> sumLowerings() {
  return kSumRows;
}

}  // namespace pet::plan
