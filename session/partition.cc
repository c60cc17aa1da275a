#include "session/partition.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet::session {
namespace {

bool isEngineType(ElementType element) {
  return isComputed(element) && element != ElementType::kDouble;
}

/// The sines of a few angles, such as positions: a node takes them in double, of angles in float; an engine may keep
/// numbers in 16 bits, and what it saves is little.
bool areFewSines(const Node& node, const Shape& shape) {
  constexpr int64_t kFew = 4096;
  const auto extents = asConstants(shape);
  return (node.is(ops::kSin) || node.is(ops::kCos)) && extents && elementCount(*extents) < kFew;
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, const Normalised& read)
      : graph_(graph), view_(read.view), program_(view_.program), constant_(constantNodes(program_)) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& name : graph.nodes[i].outputs) {
        if (!name.empty()) producer_[name] = static_cast<int>(i);
      }
    }
    given_.insert(graph.inputs.begin(), graph.inputs.end());
    for (const Initializer& i : graph.initializers)
      given_.insert(i.name);
    for (const auto& [value, name] : view_.names)
      byName_.emplace(name, value);
    nameIdentities();
    findComputable();
  }

  Expected<Partition> run() {
    for (const std::string& name : graph_.outputs)
      needName(name);
    while (!toVisit_.empty() && missing_.empty()) {
      auto visit = std::move(toVisit_.back());
      toVisit_.pop_back();
      visit.isValue ? visitValue(visit.number) : visitNode(visit.number);
    }
    if (!missing_.empty()) return fail(ErrorKind::kUnsupported, "no node makes it that can be run here", missing_);
    findPlaces();
    schedule();
    return std::move(result_);
  }

 private:
  struct Visit {
    bool isValue;
    int number;
  };

  /// What an Identity gives is the value that it takes.
  void nameIdentities() {
    for (const GraphNode& node : graph_.nodes) {
      if (node.type != "Identity" || !node.standard || node.inputs.size() != 1) continue;
      if (auto taken = byName_.find(node.inputs[0]); taken != byName_.end())
        byName_.emplace(node.outputs.at(0), taken->second);
    }
  }

  bool hasProgramType(Value v) const {
    const Shape& shape = program_.shape(v);
    return isEngineType(view_.elements[static_cast<size_t>(v.node)]) && asConstants(shape) && !isEmpty(shape);
  }

  /// A region may read it: it is made in one, or it is a value of the graph.
  bool isReadable(Value v) const {
    const auto n = static_cast<size_t>(v.node);
    if (constant_[n]) return isEngineType(view_.elements[n]);
    return computable_[n] || (hasProgramType(v) && view_.names.contains(v));
  }

  void findComputable() {
    const auto& nodes = program_.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      bool fits = !nodes[n].is(ops::kInput) && !constant_[n] && !areFewSines(nodes[n], nodes[n].shapes[0]);
      for (int o = 0; fits && o < static_cast<int>(nodes[n].names.size()); ++o)
        fits = hasProgramType({static_cast<int>(n), o});
      fits = fits &&
             std::all_of(nodes[n].operands.begin(), nodes[n].operands.end(), [&](Value v) { return isReadable(v); });
      computable_.push_back(fits);
    }
  }

  bool isComputed(Value v) const { return computable_[static_cast<size_t>(v.node)]; }

  void needName(const std::string& name) {
    if (given_.contains(name)) return;
    if (auto it = byName_.find(name); it != byName_.end()) {
      const Value v = it->second;
      if (constant_[static_cast<size_t>(v.node)]) {
        result_.constants.emplace(name, v);
        return;
      }
      if (isComputed(v)) {
        result_.values.emplace(name, v);
        return needValue(v);
      }
    }
    auto it = producer_.find(name);
    if (it == producer_.end()) {
      missing_ = name;
    } else if (nodes_.insert(it->second).second) {
      toVisit_.push_back({false, it->second});
    }
  }

  void needValue(Value v) {
    if (live_.insert(v.node).second) toVisit_.push_back({true, v.node});
  }

  void visitNode(int i) {
    for (const std::string& name : readsOf(graph_.nodes[static_cast<size_t>(i)]))
      needName(name);
  }

  void visitValue(int n) {
    for (Value v : program_.nodes()[static_cast<size_t>(n)].operands) {
      if (constant_[static_cast<size_t>(v.node)]) continue;
      isComputed(v) ? needValue(v) : needName(view_.names.at(v));
    }
  }

  /// Behind which node of the graph each node of the view can run: those that make its operands come first.
  void findPlaces() {
    at_.resize(graph_.nodes.size() + 1);
    std::vector<int> place(program_.nodes().size(), -1);
    for (int n = 0; n < static_cast<int>(place.size()); ++n) {
      int& own = place[static_cast<size_t>(n)];
      own = view_.provenance[static_cast<size_t>(n)].origin;
      for (Value v : program_.nodes()[static_cast<size_t>(n)].operands)
        own = std::max(own, place[static_cast<size_t>(v.node)]);
      for (int o = 0; o < static_cast<int>(program_.nodes()[static_cast<size_t>(n)].names.size()); ++o) {
        auto name = view_.names.find({n, o});
        auto made = name == view_.names.end() ? producer_.end() : producer_.find(name->second);
        if (made != producer_.end()) own = std::max(own, made->second);
      }
      if (live_.contains(n)) at_[static_cast<size_t>(own + 1)].push_back(n);
    }
  }

  /// The first stage whose region may read it.
  int readyFor(Value v) const {
    if (constant_[static_cast<size_t>(v.node)]) return 0;
    if (isComputed(v)) return level_.at(v.node);
    auto made = madeIn_.find(view_.names.at(v));
    return made == madeIn_.end() ? 0 : made->second + 1;
  }

  /// The first stage in which a node may read it.
  int readyForNode(const std::string& name) const {
    if (auto it = result_.values.find(name); it != result_.values.end()) return level_.at(it->second.node);
    auto made = madeIn_.find(name);
    return made == madeIn_.end() ? 0 : made->second;
  }

  Stage& stage(int number) {
    if (std::ssize(result_.stages) <= number) result_.stages.resize(static_cast<size_t>(number) + 1);
    return result_.stages[static_cast<size_t>(number)];
  }

  void schedule() {
    for (size_t i = 0; i < at_.size(); ++i) {
      const int node = static_cast<int>(i) - 1;
      if (nodes_.contains(node)) {
        int number = 0;
        for (const std::string& name : readsOf(graph_.nodes[static_cast<size_t>(node)]))
          number = std::max(number, readyForNode(name));
        stage(number).nodes.push_back(node);
        for (const std::string& name : graph_.nodes[static_cast<size_t>(node)].outputs)
          madeIn_[name] = number;
      }
      for (int n : at_[i]) {
        int number = 0;
        for (Value v : program_.nodes()[static_cast<size_t>(n)].operands)
          number = std::max(number, readyFor(v));
        stage(number).region.insert(n);
        level_[n] = number;
      }
    }
  }

  const Graph& graph_;
  const View& view_;
  const Program& program_;
  std::vector<bool> constant_, computable_;
  std::map<std::string, int, std::less<>> producer_;
  std::set<std::string, std::less<>> given_;
  std::map<std::string, Value, std::less<>> byName_;
  std::vector<Visit> toVisit_;
  std::string missing_;
  std::set<int> nodes_;               ///< of the graph, that run one by one
  std::set<int> live_;                ///< of the view, that regions compute
  std::vector<std::vector<int>> at_;  ///< per node of the graph, and one before: the nodes of the view behind it
  std::map<int, int> level_;          ///< per node of the view: its stage
  std::map<std::string, int, std::less<>> madeIn_;  ///< the stage in which a node makes a value
  Partition result_;
};

}  // namespace

Expected<Partition> partition(const Graph& graph, const Normalised& read) {
  return Partitioner(graph, read).run();
}

Region regionOf(const View& whole,
                const std::vector<bool>& constant,
                const std::set<int>& nodes,
                const std::set<Value>& wanted) {
  PartBuilder part(whole, [&](int n) { return constant[static_cast<size_t>(n)]; });
  Region region;
  std::vector<Value> outputs;
  for (int n : nodes) {
    part.add(n);
    for (int o = 0; o < static_cast<int>(whole.program.nodes()[static_cast<size_t>(n)].names.size()); ++o) {
      if (!wanted.contains({n, o})) continue;
      region.outputs.push_back({n, o});
      outputs.push_back(part.moved().at({n, o}));
    }
  }
  region.inputs = part.inputs();
  region.view = std::move(part).finish(std::move(outputs));
  return region;
}

}  // namespace pet::session
