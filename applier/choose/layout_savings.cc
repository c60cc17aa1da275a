#include "applier/choose/layout_savings.h"

#include <algorithm>

#include "applier/clean/simplify.h"
#include "applier/replace/splice.h"
#include "applier/view/layout_algebra.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

bool holds(const std::vector<int>& sorted, int node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

/// What the layout operators that rewriting left in a view write, at these sizes.
int64_t movedBytes(const View& view, const Bindings& sizes) {
  const auto& nodes = view.program.nodes();
  std::vector<bool> constant = constantNodes(view.program);
  int64_t bytes = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (view.provenance[i].site < 0 || constant[i] || !n.op->layout || movesNothing(n)) continue;
    auto width = static_cast<int64_t>(elementSize(view.elements[i]));
    for (const Shape& s : n.shapes)
      bytes += width * elementCount(evaluate(s, sizes).value());
  }
  return bytes;
}

}  // namespace

LayoutSavings::LayoutSavings(const MatchIndex& index)
    : view_(index.view()), sizes_(index.sizes().typical()), uses_(index.uses()) {}

bool LayoutSavings::passes(int node, Value operand) const {
  const Node& n = view_.program.nodes()[static_cast<size_t>(node)];
  if (n.op->facts.elementwise && n.operands.size() == 1) return true;
  return n.is(ops::kAdd) && view_.program.shape(operand) == n.shapes[0] &&
         std::all_of(n.operands.begin(), n.operands.end(),
                     [&](Value o) { return o == operand || uses_.constant[static_cast<size_t>(o.node)]; });
}

std::set<int> LayoutSavings::behind(const Site& a) const {
  std::set<int> found;
  std::vector<Value> open = a.outputs;
  while (!open.empty()) {
    const Value v = open.back();
    open.pop_back();
    auto at = uses_.readers.find(v);
    if (at == uses_.readers.end()) continue;
    for (int reader : at->second) {
      if (reader < 0 || holds(a.nodes, reader) || !found.insert(reader).second) continue;
      if (passes(reader, v)) open.push_back({reader, 0});
    }
  }
  return found;
}

std::optional<std::vector<int>> LayoutSavings::between(const Site& a, const Site& b) const {
  std::set<int> way;
  bool found = false;
  // Whether `b` is reached from here; the nodes on the way are kept.
  auto reaches = [&](auto&& self, Value v) -> bool {
    bool any = false;
    auto at = uses_.readers.find(v);
    if (at == uses_.readers.end()) return false;
    for (int reader : at->second) {
      if (reader < 0 || holds(a.nodes, reader)) continue;
      if (holds(b.nodes, reader)) {
        any = true;
      } else if (passes(reader, v) && self(self, Value{reader, 0})) {
        way.insert(reader);
        any = true;
      }
    }
    return any;
  };
  for (Value v : a.outputs)
    found = reaches(reaches, v) || found;
  if (!found) return std::nullopt;
  return std::vector<int>(way.begin(), way.end());
}

int64_t LayoutSavings::bytes(const Rewrite& a, const Rewrite& b, const std::vector<int>& way) const {
  std::set<int> nodes(way.begin(), way.end());
  nodes.insert(a.site.nodes.begin(), a.site.nodes.end());
  nodes.insert(b.site.nodes.begin(), b.site.nodes.end());
  const ViewPart part(view_, uses_, nodes);
  const Rewrite here = movedTo(part, a), there = movedTo(part, b);
  auto moved = [&](const std::vector<Rewrite>& rewrites) {
    return movedBytes(simplify(splice(part.view(), rewrites)), sizes_);
  };
  return moved({here}) + moved({there}) - moved({here, there});
}

}  // namespace pet
