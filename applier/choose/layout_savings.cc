#include "applier/choose/layout_savings.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "applier/clean/simplify.h"
#include "applier/replace/splice.h"
#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "rules/rewrite/symbols.h"

namespace pet {
namespace {

bool holds(const std::vector<int>& sorted, int node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

/// What the layout operators that rewriting left in a view write, at these sizes.
int64_t movedBytes(const View& view, const Bindings& sizes) {
  const auto& nodes = view.program.nodes();
  std::vector<bool> constant = knownNodes(view.program);
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

void append(std::string& text, Value v) {
  fmt::format_to(std::back_inserter(text), " {}.{}", v.node, v.output);
}

/// All of a view that a clean-up may see, but for names and the values of constants.
std::string textOf(const View& view) {
  std::string text;
  std::map<int, size_t> origins;  // numbered in the order in which they come
  const auto& nodes = view.program.nodes();
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[static_cast<size_t>(i)];
    const Provenance& p = view.provenance[static_cast<size_t>(i)];
    const size_t origin = p.origin < 0 ? 0 : origins.emplace(p.origin, origins.size() + 1).first->second;
    text += fmt::format("{} {} {} {} {}", n.op->name, static_cast<int>(view.elements[static_cast<size_t>(i)]), origin,
                        p.site, view.constants.contains(i));
    for (Value v : n.operands)
      append(text, v);
    for (const auto& [name, value] : n.attributes)
      text += fmt::format(" {}={}", name, rewrite::canonicalText(value));
    for (int o = 0; o < static_cast<int>(n.shapes.size()); ++o)
      text += fmt::format(" {}{}", str(n.shapes[static_cast<size_t>(o)]), view.names.contains({i, o}) ? "!" : "");
    text += '\n';
  }
  for (Value v : view.program.outputs())
    append(text, v);
  return text;
}

/// A rewrite, by its rule and its place.
std::string textOf(const Rewrite& r, const ViewPart& part) {
  const Site& site = r.site;
  std::string text = fmt::format("\n{} {} |", r.rule->name, rewrite::str(r.symbols));
  if (site.batch) text += fmt::format("{} {} |", site.batch->symbol, str(site.batch->extents));
  for (int n : site.nodes)
    append(text, part.value({n, 0}));
  for (const auto* values : {&site.inputs, &site.outputs}) {
    text += '|';
    for (Value v : *values)
      append(text, part.value(v));
  }
  return text;
}

}  // namespace

LayoutSavings::LayoutSavings(const MatchIndex& index)
    : view_(index.view()), samples_(index.sizes().samples()), uses_(index.uses()) {}

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

std::optional<LayoutSavings::Meeting> LayoutSavings::between(const Site& a, const Site& b) const {
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
  way.insert(a.nodes.begin(), a.nodes.end());
  way.insert(b.nodes.begin(), b.nodes.end());
  Meeting meeting{ViewPart(view_, uses_, way), ""};
  meeting.text = textOf(meeting.part.view());
  return meeting;
}

const std::vector<int64_t>& LayoutSavings::moved(const Meeting& meeting, const std::vector<const Rewrite*>& rewrites) {
  std::string key = meeting.text;
  for (const Rewrite* r : rewrites)
    key += textOf(*r, meeting.part);
  auto [known, isNew] = known_.try_emplace(std::move(key));
  if (!isNew) return known->second;
  std::vector<Rewrite> here;
  for (const Rewrite* r : rewrites)
    here.push_back(movedTo(meeting.part, *r));
  const View after = simplify(splice(meeting.part.view(), here));
  for (const Bindings& sample : samples_)
    known->second.push_back(movedBytes(after, sample));
  return known->second;
}

std::vector<int64_t> LayoutSavings::bytes(const Rewrite& a, const Rewrite& b, const Meeting& meeting) {
  const auto &onlyA = moved(meeting, {&a}), &onlyB = moved(meeting, {&b}), &both = moved(meeting, {&a, &b});
  std::vector<int64_t> result;
  for (size_t s = 0; s < both.size(); ++s)
    result.push_back(onlyA[s] + onlyB[s] - both[s]);
  return result;
}

}  // namespace pet
