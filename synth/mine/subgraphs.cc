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
  explicit Neighbours(const Source& source) : source_(source), near_(static_cast<size_t>(source.count())) {
    for (int n = 0; n < source.count(); ++n) {
      const Node& node = source.node(n);
      for (int o = 0; o < static_cast<int>(node.shapes.size()) && !source.isConstant({n, 0}); ++o)
        connectReaders({n, o});
    }
  }

  bool isOperator(int n) const { return !source_.node(n).is(ops::kInput) && !source_.isConstant({n, 0}); }
  const std::set<int>& of(int n) const { return near_[static_cast<size_t>(n)]; }

 private:
  void connectReaders(Value v) {
    const auto& readers = source_.readers(v);
    for (size_t i = 0; i < readers.size() && readers[i] >= 0; ++i) {
      if (isOperator(v.node)) connect(v.node, readers[i]);
      for (size_t j = i + 1; j < readers.size() && j <= i + kFarthestSibling && readers[j] >= 0; ++j)
        connect(readers[i], readers[j]);
    }
  }
  void connect(int a, int b) {
    near_[static_cast<size_t>(a)].insert(b);
    near_[static_cast<size_t>(b)].insert(a);
  }

  const Source& source_;
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

/// Values from outside that are no constants.
size_t inputCount(const Source& source, const Nodes& set) {
  std::set<Value> inputs;
  for (int n : set) {
    for (Value v : source.node(n).operands) {
      if (!contains(set, v.node) && !source.isConstant(v)) inputs.insert(v);
    }
  }
  return inputs.size();
}

const std::vector<int> kNobody;

}  // namespace

Source::Source(const Program& program) : program_(program) {
  const auto& nodes = program.nodes();
  for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
    const Node& node = nodes[static_cast<size_t>(n)];
    bool constant = node.is(ops::kInput)
                      ? node.scalar("constant") == Expr(1)
                      : std::all_of(node.operands.begin(), node.operands.end(), [&](Value v) { return isConstant(v); });
    constant_.push_back(constant);
    for (Value v : node.operands) {
      auto& readers = readers_[v];
      if (readers.empty() || readers.back() != n) readers.push_back(n);
    }
  }
  for (Value v : program.outputs())
    readers_[v].push_back(-1);
}

const std::vector<int>& Source::readers(Value v) const {
  auto it = readers_.find(v);
  return it == readers_.end() ? kNobody : it->second;
}

Subgraphs subgraphs(const Source& source, const SubgraphLimits& limits) {
  Neighbours neighbours(source);
  Subgraphs result;
  std::set<Nodes> level;
  for (int n = 0; n < source.count(); ++n) {
    if (neighbours.isOperator(n)) level.insert({n});
  }
  for (size_t size = 1; !level.empty(); ++size) {
    for (const Nodes& set : level) {
      result.complete = result.nodes.size() < limits.most;
      if (!result.complete) return result;
      if (inputCount(source, set) <= limits.inputs) {
        result.nodes.push_back(set);
      } else {
        ++result.wide;
      }
    }
    if (size == limits.operators) break;
    // A connected convex set has a source or a sink without which it is still one.
    std::set<Nodes> next;
    for (const Nodes& set : level) {
      for (int member : set) {
        for (int n : neighbours.of(member)) {
          if (contains(set, n)) continue;
          Nodes larger = with(set, n);
          if (!next.contains(larger) && isConvex(source.program(), larger)) next.insert(std::move(larger));
        }
      }
      if (result.nodes.size() + next.size() > limits.most) break;
    }
    level = std::move(next);
  }
  return result;
}

namespace {

std::string numbered(const std::string& base, int number) {
  return number == 1 ? base : base + std::to_string(number);
}

}  // namespace

Program cut(const Source& source, const std::vector<int>& nodes) {
  const Program& program = source.program();
  ProgramBuilder builder;
  std::map<Value, Value> now;
  int inputs = 0, constants = 0, results = 0;
  auto entered = [&](Value v) {
    if (auto it = now.find(v); it != now.end()) return it->second;
    bool constant = source.isConstant(v);
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
  auto isInside = [&](int n) { return std::find(nodes.begin(), nodes.end(), n) != nodes.end(); };
  for (int n : nodes) {
    int count = static_cast<int>(source.node(n).shapes.size());
    for (int o = 0; o < count; ++o) {
      const auto& readers = source.readers({n, o});
      if (readers.empty() || !std::all_of(readers.begin(), readers.end(), isInside)) outputs.push_back(now.at({n, o}));
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
