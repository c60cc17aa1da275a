#include "applier/measure/changes.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace pet {
namespace {

/// Sets of things that are joined two at a time.
class Sets {
 public:
  explicit Sets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t find(size_t i) {
    while (parent_[i] != i)
      i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

 private:
  std::vector<size_t> parent_;
};

/// Values and who computes them.
struct Side {
  explicit Side(const Graph& g) : graph(g) {
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      for (const std::string& name : g.nodes[i].outputs) {
        if (!name.empty()) producer[name] = static_cast<int>(i);
      }
    }
    for (const Initializer& i : g.initializers)
      constants[i.name] = &i.value;
  }
  const GraphNode& node(int i) const { return graph.nodes[static_cast<size_t>(i)]; }

  const Graph& graph;
  std::map<std::string, int, std::less<>> producer;
  std::map<std::string, const Constant*, std::less<>> constants;
};

class GraphComparison {
 public:
  GraphComparison(const Graph& before, const Graph& after)
      : before_(before), after_(after), sets_(before.nodes.size() + after.nodes.size()) {}

  Changes run() {
    findKept();
    join(
        before_, 0, [&](int i) { return kept_.contains(i); }, after_);
    join(
        after_, before_.graph.nodes.size(), [&](int i) { return keptAfter_.contains(i); }, before_);
    for (const auto& [name, old] : before_.producer) {
      auto now = after_.producer.find(name);
      if (now != after_.producer.end() && !kept_.contains(old))
        sets_.join(static_cast<size_t>(old), before_.graph.nodes.size() + static_cast<size_t>(now->second));
    }
    return {gather(), kept_};
  }

 private:
  bool sameConstantsRead(const GraphNode& node) const {
    auto names = readsOf(node);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      auto a = before_.constants.find(name), b = after_.constants.find(name);
      bool isOne = a != before_.constants.end(), isOther = b != after_.constants.end();
      return isOne == isOther && (!isOne || sameConstant(*a->second, *b->second));
    });
  }

  void findKept() {
    for (size_t i = 0; i < before_.graph.nodes.size(); ++i) {
      const GraphNode& old = before_.graph.nodes[i];
      auto at = old.outputs.empty() ? after_.producer.end() : after_.producer.find(old.outputs[0]);
      if (at == after_.producer.end()) continue;
      const GraphNode& now = after_.node(at->second);
      bool same = old.type == now.type && old.domain == now.domain && old.inputs == now.inputs &&
                  old.outputs == now.outputs && old.captured == now.captured &&
                  sameAttributeValues(old.attributes, now.attributes) && sameConstantsRead(old);
      if (same && keptAfter_.insert(at->second).second) kept_[static_cast<int>(i)] = at->second;
    }
  }

  /// Nodes of one side with what they read of values that the other side does not have.
  template <class IsKept>
  void join(const Side& side, size_t offset, IsKept isKept, const Side& other) {
    for (size_t i = 0; i < side.graph.nodes.size(); ++i) {
      if (isKept(static_cast<int>(i))) continue;
      for (const std::string& name : readsOf(side.graph.nodes[i])) {
        auto p = side.producer.find(name);
        if (p == side.producer.end() || other.producer.contains(name) || side.node(p->second).type == "Constant")
          continue;
        sets_.join(offset + i, offset + static_cast<size_t>(p->second));
      }
    }
  }

  std::vector<Change> gather() {
    const size_t olds = before_.graph.nodes.size();
    std::map<size_t, Change> bySet;  // a set's number is its first node's: the order of the old graph
    for (size_t i = 0; i < olds; ++i) {
      if (!kept_.contains(static_cast<int>(i))) bySet[sets_.find(i)].before.push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < after_.graph.nodes.size(); ++i) {
      if (!keptAfter_.contains(static_cast<int>(i))) bySet[sets_.find(olds + i)].after.push_back(static_cast<int>(i));
    }
    std::vector<Change> changes;
    for (auto& [set, change] : bySet) {
      if (change.before.empty() || change.after.empty()) continue;
      name(change);
      changes.push_back(std::move(change));
    }
    return changes;
  }

  void name(Change& change) const {
    auto add = [](std::vector<std::string>& list, std::string_view name) {
      if (std::find(list.begin(), list.end(), name) == list.end()) list.emplace_back(name);
    };
    for (int i : change.after) {
      const auto& [rules, rest] = withoutRules(after_.node(i).name);
      std::for_each(rules.rbegin(), rules.rend(), [&](std::string_view rule) { add(change.rules, rule); });
      std::string_view site;  // names may begin with others'
      for (int old : change.before) {
        const GraphNode& n = before_.node(old);
        std::string_view own = n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name;
        bool fits = !rules.empty() && rest.size() > own.size() && rest.starts_with(own) && rest[own.size()] == '/';
        if (fits && own.size() > site.size()) site = own;
      }
      if (!site.empty()) add(change.sites, site);
    }
  }

  Side before_, after_;
  Sets sets_;
  std::map<int, int> kept_;
  std::set<int> keptAfter_;
};

}  // namespace

NewNodeName withoutRules(std::string_view name) {
  NewNodeName result{{}, name};
  std::string_view& rest = result.rest;
  while (rest.starts_with("pet/")) {
    size_t end = rest.find('/', 4);
    end = end == std::string_view::npos ? end : rest.find('/', end + 1);
    if (end == std::string_view::npos) break;
    result.rules.push_back(rest.substr(4, end - 4));
    rest.remove_prefix(end + 1);
  }
  return result;
}

Changes changesOf(const Graph& before, const Graph& after) {
  return GraphComparison(before, after).run();
}

}  // namespace pet
