#include "synth/mine/subgraphs.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

#include "ir/ops/op.h"

namespace pet::mine {
namespace {

/// Of the readers of one value, those so far apart in the program's order are no siblings.
constexpr size_t kFarthestSibling = 8;

using Nodes = std::vector<int>;

bool contains(const Nodes& sorted, int node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

Nodes with(Nodes sorted, int node) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), node), node);
  return sorted;
}

/// Who stands next to whom among the operators on activations.
class Neighbours {
 public:
  explicit Neighbours(const Program& program) : program_(program), near_(program.nodes().size()) {
    std::map<Value, Nodes> readers;
    for (int n = 0; n < count(); ++n) {
      if (!isOperator(n)) continue;
      for (Value v : node(n).operands) {
        if (isConstant(program, v)) continue;
        if (isOperator(v.node)) connect(n, v.node);
        Nodes& all = readers[v];
        if (all.empty() || all.back() != n) all.push_back(n);
      }
    }
    for (const auto& [value, all] : readers) {
      for (size_t i = 0; i < all.size(); ++i) {
        for (size_t j = i + 1; j < all.size() && j <= i + kFarthestSibling; ++j)
          connect(all[i], all[j]);
      }
    }
  }

  int count() const { return static_cast<int>(near_.size()); }
  bool isOperator(int n) const { return node(n).op->name != "Input" && !isConstant(program_, {n, 0}); }
  const std::set<int>& of(int n) const { return near_[static_cast<size_t>(n)]; }

 private:
  const Node& node(int n) const { return program_.nodes()[static_cast<size_t>(n)]; }
  void connect(int a, int b) {
    near_[static_cast<size_t>(a)].insert(b);
    near_[static_cast<size_t>(b)].insert(a);
  }

  const Program& program_;
  std::vector<std::set<int>> near_;
};

/// No path from a node of the set to another one leads through nodes outside.
bool isConvex(const Program& program, const Nodes& set) {
  std::set<int> behind;  // outside, and needs a result of the set
  for (int n = set.front(); n <= set.back(); ++n) {
    const auto& operands = program.nodes()[static_cast<size_t>(n)].operands;
    bool inside = contains(set, n);
    for (Value v : operands) {
      if (behind.contains(v.node) && inside) return false;
      if (!inside && (behind.contains(v.node) || contains(set, v.node))) behind.insert(n);
    }
  }
  return true;
}

}  // namespace

Subgraphs subgraphs(const Program& program, const SubgraphLimits& limits) {
  Neighbours neighbours(program);
  Subgraphs result;
  std::set<Nodes> level;
  for (int n = 0; n < neighbours.count(); ++n) {
    if (neighbours.isOperator(n)) level.insert({n});
  }
  size_t seen = level.size();
  for (size_t size = 1; !level.empty(); ++size) {
    for (const Nodes& set : level) {
      if (isConvex(program, set)) result.nodes.push_back(set);
    }
    if (size == limits.operators) break;
    std::set<Nodes> next;
    for (const Nodes& set : level) {
      for (int member : set) {
        for (int n : neighbours.of(member)) {
          if (contains(set, n)) continue;
          if (seen + next.size() >= limits.most) {
            result.complete = false;
            break;
          }
          next.insert(with(set, n));
        }
      }
    }
    seen += next.size();
    level = std::move(next);
  }
  return result;
}

namespace {

std::string numbered(const std::string& base, int number) {
  return number == 1 ? base : base + std::to_string(number);
}

}  // namespace

Program cut(const Program& program, const std::vector<int>& nodes) {
  Nodes sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  ProgramBuilder builder;
  std::map<Value, Value> now;
  int inputs = 0, constants = 0, results = 0;
  auto entered = [&](Value v) {
    if (auto it = now.find(v); it != now.end()) return it->second;
    bool constant = isConstant(program, v);
    std::string name = constant ? numbered("w", ++constants) : numbered("x", ++inputs);
    return now[v] = builder.input(std::move(name), program.shape(v), constant);
  };
  std::vector<Value> outputs;
  for (int n : nodes) {
    const Node& node = program.nodes()[static_cast<size_t>(n)];
    std::vector<Value> operands;
    for (Value v : node.operands)
      operands.push_back(entered(v));
    std::vector<std::string> names;
    for (size_t o = 0; o < node.shapes.size(); ++o)
      names.push_back(numbered("t", ++results));
    auto added = builder.add(*node.op, std::move(operands), node.attributes, std::move(names));
    assert(added && "a node that fitted once fits again");
    for (int o = 0; o < static_cast<int>(node.shapes.size()); ++o)
      now[{n, o}] = {added->node, o};
  }
  std::set<Value> inside, outside;
  for (size_t n = 0; n < program.nodes().size(); ++n) {
    auto& read = contains(sorted, static_cast<int>(n)) ? inside : outside;
    const auto& operands = program.nodes()[n].operands;
    read.insert(operands.begin(), operands.end());
  }
  outside.insert(program.outputs().begin(), program.outputs().end());
  for (int n : nodes) {
    int count = static_cast<int>(program.nodes()[static_cast<size_t>(n)].shapes.size());
    for (int o = 0; o < count; ++o) {
      Value v{n, o};
      if (outside.contains(v) || !inside.contains(v)) outputs.push_back(now.at(v));
    }
  }
  return std::move(builder).finish(std::move(outputs));
}

namespace {

void extend(const Program& program,
            const std::vector<int>& nodes,
            std::vector<int>& so,
            std::vector<std::vector<int>>& into) {
  if (so.size() == nodes.size()) {
    into.push_back(so);
    return;
  }
  auto done = [&](int n) { return std::find(so.begin(), so.end(), n) != so.end(); };
  for (int n : nodes) {
    if (done(n)) continue;
    const auto& operands = program.nodes()[static_cast<size_t>(n)].operands;
    bool ready = std::all_of(operands.begin(), operands.end(), [&](Value v) {
      return std::find(nodes.begin(), nodes.end(), v.node) == nodes.end() || done(v.node);
    });
    if (!ready) continue;
    so.push_back(n);
    extend(program, nodes, so, into);
    so.pop_back();
  }
}

}  // namespace

std::vector<std::vector<int>> orders(const Program& program, const std::vector<int>& nodes) {
  std::vector<std::vector<int>> result;
  std::vector<int> so;
  extend(program, nodes, so, result);
  return result;
}

}  // namespace pet::mine
