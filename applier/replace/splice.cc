#include "applier/replace/splice.h"

#include <algorithm>
#include <cassert>
#include <queue>
#include <set>

#include "applier/view/element_types.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// Rebuilds a view with sites replaced.
class Splicer {
 public:
  Splicer(const View& view, const std::vector<Rewrite>& rewrites) : view_(view), rewrites_(rewrites) {}
  View run();

 private:
  Value at(Value v) const { return moved_.at(v); }
  void enterNode(int node);
  void enterSite(int site);
  std::vector<std::vector<int>> schedule() const;

  const View& view_;
  const std::vector<Rewrite>& rewrites_;
  ViewBuilder builder_;
  std::map<Value, Value> moved_;
};

void Splicer::enterNode(int node) {
  Value v = builder_.copy(view_, node, [&](Value o) { return at(o); });
  for (int o = 0; o < static_cast<int>(view_.program.nodes()[static_cast<size_t>(node)].names.size()); ++o) {
    moved_[Value{node, o}] = Value{v.node, o};
  }
}

/// Regroupings alone: a rule has several of them where they are quicker than one.
bool isOfLayouts(const Program& p) {
  return std::all_of(p.nodes().begin(), p.nodes().end(),
                     [](const Node& n) { return n.is(ops::kInput) || n.is(ops::kLayout); });
}

void Splicer::enterSite(int site) {
  const Rewrite& r = rewrites_[static_cast<size_t>(site)];
  ElementType element = view_.elements[static_cast<size_t>(r.site.anchor)];
  const auto numbers = typesOfNumbers(
      r.replacement, [&](Value v) { return builder_.element(at(r.site.operand(r.replacement.name(v)))); }, element);
  std::map<Value, Value> local;  // replacement -> new view
  for (Value v : r.replacement.inputs())
    local[v] = at(r.site.operand(r.replacement.name(v)));
  Provenance provenance;
  provenance.site = site;
  provenance.isStep = isOfLayouts(r.replacement);
  const auto& nodes = r.replacement.nodes();
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[static_cast<size_t>(i)];
    if (n.is(ops::kInput)) continue;
    std::vector<Value> operands;
    for (Value o : n.operands)
      operands.push_back(local.at(o));
    std::vector<std::string> names;
    for (const std::string& name : n.names)
      names.push_back(builder_.unique(r.label + "/" + name));
    auto v = builder_.add(*n.op, std::move(operands), n.attributes, std::move(names), provenance,
                          numbers[static_cast<size_t>(i)]);
    assert(v && "an instantiated program fits");
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
      local[Value{i, o}] = Value{v->node, o};
  }
  for (size_t i = 0; i < r.site.outputs.size(); ++i) {
    Value old = r.site.outputs[i], now = local.at(r.replacement.outputs()[i]);
    moved_[old] = now;
    if (auto it = view_.names.find(old); it != view_.names.end()) builder_.name(now, it->second);
  }
}

/// The order in which nodes (one entry) and sites (all of their nodes) are entered: operands first, else as it was.
std::vector<std::vector<int>> Splicer::schedule() const {
  const auto& nodes = view_.program.nodes();
  std::vector<int> unit(nodes.size());
  std::vector<std::vector<int>> units;
  for (const Rewrite& r : rewrites_) {
    for (int n : r.site.nodes)
      unit[static_cast<size_t>(n)] = static_cast<int>(units.size()) + 1;
    units.push_back(r.site.nodes);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (unit[i] == 0) {
      units.push_back({static_cast<int>(i)});
      unit[i] = static_cast<int>(units.size());
    }
  }
  std::vector<std::set<int>> readers(units.size());
  std::vector<int> waiting(units.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    int to = unit[i] - 1;
    for (Value v : nodes[i].operands) {
      int from = unit[static_cast<size_t>(v.node)] - 1;
      if (from != to && readers[static_cast<size_t>(from)].insert(to).second) ++waiting[static_cast<size_t>(to)];
    }
  }
  using Entry = std::pair<int, int>;  // last node, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto push = [&](size_t u) { ready.emplace(units[u].back(), static_cast<int>(u)); };
  for (size_t u = 0; u < units.size(); ++u) {
    if (waiting[u] == 0) push(u);
  }
  std::vector<std::vector<int>> order;
  while (!ready.empty()) {
    auto u = static_cast<size_t>(ready.top().second);
    ready.pop();
    order.push_back(units[u]);
    if (u < rewrites_.size()) order.back() = {-1 - static_cast<int>(u)};
    for (int r : readers[u]) {
      if (--waiting[static_cast<size_t>(r)] == 0) push(static_cast<size_t>(r));
    }
  }
  assert(order.size() == units.size() && "sites are convex");
  return order;
}

View Splicer::run() {
  for (const Node& n : view_.program.nodes()) {
    for (const std::string& name : n.names)
      builder_.reserve(name);
  }
  for (const auto& [value, name] : view_.names)
    builder_.reserve(name);
  for (const auto& unit : schedule()) {
    if (unit[0] < 0) {
      enterSite(-1 - unit[0]);
    } else {
      enterNode(unit[0]);
    }
  }
  std::vector<Value> outputs;
  for (Value v : view_.program.outputs())
    outputs.push_back(at(v));
  return pruned(std::move(builder_).finish(std::move(outputs)));
}

}  // namespace

Rewrite movedTo(const ViewPart& part, Rewrite r) {
  for (int& n : r.site.nodes)
    n = part.node(n);
  std::sort(r.site.nodes.begin(), r.site.nodes.end());
  r.site.anchor = part.node(r.site.anchor);
  for (Value& v : r.site.inputs)
    v = part.value(v);
  for (Value& v : r.site.outputs)
    v = part.value(v);
  return r;
}

View splice(const View& view, const std::vector<Rewrite>& rewrites) {
  return Splicer(view, rewrites).run();
}

}  // namespace pet
