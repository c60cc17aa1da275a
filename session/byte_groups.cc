#include "session/byte_groups.h"

#include <algorithm>
#include <functional>
#include <set>

#include "session/byte_nodes.h"

namespace pet::session {
namespace {

/// Another sign, and channels last.
ByteKernel enterKernel(ElementType element, const Extents& extents) {
  return [=, flip = static_cast<uint8_t>(signShift(element))](const uint8_t* const* from, uint8_t* to) {
    toChannelsLast(from[0], extents, to);
    std::for_each_n(to, elementCount(extents), [&](uint8_t& q) { q ^= flip; });
  };
}
ByteKernel leaveKernel(ElementType element, const Extents& extents) {
  return [=, flip = static_cast<uint8_t>(signShift(element))](const uint8_t* const* from, uint8_t* to) {
    fromChannelsLast(from[0], extents, to);
    std::for_each_n(to, elementCount(extents), [&](uint8_t& q) { q ^= flip; });
  };
}

/// The nodes that an output needs, each behind those that make its operands.
class LiveNodes {
 public:
  explicit LiveNodes(std::vector<GraphNode> nodes) : nodes_(std::move(nodes)), seen_(nodes_.size(), false) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& name : nodes_[i].outputs)
        producer_[name] = i;
    }
  }
  std::vector<GraphNode> run(const std::vector<std::string>& outputs) && {
    for (const std::string& name : outputs)
      visit(name);
    return std::move(live_);
  }

 private:
  struct Open {
    size_t node;
    std::vector<std::string> reads;
    size_t next = 0;
  };
  void open(const std::string& name, std::vector<Open>& stack) {
    auto it = producer_.find(name);
    if (it == producer_.end() || seen_[it->second]) return;
    seen_[it->second] = true;
    stack.push_back({it->second, readsOf(nodes_[it->second])});
  }
  void visit(const std::string& output) {
    std::vector<Open> stack;
    open(output, stack);
    while (!stack.empty()) {
      if (stack.back().next < stack.back().reads.size()) {
        const std::string name = stack.back().reads[stack.back().next++];
        open(name, stack);
        continue;
      }
      live_.push_back(std::move(nodes_[stack.back().node]));
      stack.pop_back();
    }
  }

  std::vector<GraphNode> nodes_, live_;
  std::vector<bool> seen_;
  std::map<std::string, size_t, std::less<>> producer_;
};

class Grouping {
 public:
  Grouping(const GraphFacts& facts, std::map<int, ByteNode> nodes) : facts_(facts), nodes_(std::move(nodes)) {}

  ByteGroups run() {
    number();
    dropLight();
    findReaders();
    ByteGroups result{facts_.graph(), {}};
    std::vector<GraphNode> nodes;
    for (size_t i = 0; i < result.graph.nodes.size(); ++i) {
      if (!groupOf_.contains(static_cast<int>(i))) nodes.push_back(result.graph.nodes[i]);
    }
    for (const auto& [group, members] : members_)
      nodes.push_back(build(group, members, result));
    result.graph.nodes = LiveNodes(std::move(nodes)).run(result.graph.outputs);
    return result;
  }

 private:
  /// A group is what has the same number: how many groups stand one behind another up to this one. So nothing between
  /// two of its nodes waits for a node outside that waits for a third.
  void number() {
    const auto& all = facts_.graph().nodes;
    std::map<std::string, int, std::less<>> behind;  // per value: the last group that it depends on
    for (size_t i = 0; i < all.size(); ++i) {
      auto own = nodes_.find(static_cast<int>(i));
      int group = 0;
      if (own == nodes_.end()) {
        for (const std::string& name : readsOf(all[i]))
          group = std::max(group, behind[name]);
      } else {
        for (const std::string& name : own->second.bytes)
          group = std::max(group, nodes_.contains(facts_.producerIndex(name)) ? behind[name] : behind[name] + 1);
        if (!own->second.number.empty()) group = behind[own->second.number] + 1;
        groupOf_[own->first] = group;
        members_[group].push_back(own->first);
      }
      for (const std::string& name : all[i].outputs)
        behind[name] = group;
    }
  }

  /// Groups that only go to integers and back gain nothing.
  void dropLight() {
    for (auto it = members_.begin(); it != members_.end();) {
      const auto& members = it->second;
      if (std::any_of(members.begin(), members.end(), [&](int i) { return nodes_.at(i).isHeavy; })) {
        ++it;
        continue;
      }
      for (int i : members)
        groupOf_.erase(i);
      it = members_.erase(it);
    }
  }

  const std::string& resultOf(int member) const { return facts_.graph().nodes[static_cast<size_t>(member)].outputs[0]; }

  /// A node that no group computes reads the number, or one that makes integers of it.
  bool isNumberRead(const std::string& name) const {
    const auto& readers = facts_.readers(name);
    return std::any_of(readers.begin(), readers.end(),
                       [&](int r) { return groupOf_.contains(r) ? nodes_.at(r).number == name : !inner_.contains(r); });
  }
  /// Who is not in the group reads the integers.
  bool areBytesRead(const std::string& name, int group) const {
    const auto &readers = facts_.readers(name), &byteReaders = byteReaders_.at(name);
    return std::any_of(readers.begin(), readers.end(), [&](int r) { return !groupOf_.contains(r); }) ||
           std::any_of(byteReaders.begin(), byteReaders.end(), [&](int r) { return groupOf_.at(r) != group; });
  }
  void findReaders() {
    for (const auto& [member, group] : groupOf_) {
      const ByteNode& own = nodes_.at(member);
      inner_.insert(own.inner.begin(), own.inner.end());
      byteReaders_[resultOf(member)];
      for (const std::string& name : own.bytes)
        byteReaders_[name].push_back(member);
    }
  }

  /// One node for a group, and its program.
  GraphNode build(int group, const std::vector<int>& members, ByteGroups& result) {
    auto program = std::make_unique<ByteProgram>();
    GraphNode node;
    node.domain = kByteDomain;
    node.type = "Bytes";
    node.standard = false;
    node.attributes["program"] = static_cast<int64_t>(result.programs.size());
    std::map<std::string, int, std::less<>> buffers, operands;  // between steps; what comes from outside
    auto operand = [&](const std::string& name) {
      auto [it, isNew] = operands.try_emplace(name, 0);
      if (isNew) node.inputs.push_back(name);
      if (isNew)
        it->second = program->addOperand(elementCount(*facts_.extents(name)) *
                                         static_cast<int64_t>(elementSize(facts_.element(name))));
      return it->second;
    };
    auto between = [&](const std::string& name) {
      auto known = buffers.find(name);
      if (known != buffers.end()) return known->second;
      const Extents extents = *facts_.extents(name);
      const int buffer = program->addBuffer(elementCount(extents));
      program->addStep({name, "Bytes", "bytes: from outside", false}, {operand(name)}, buffer,
                       enterKernel(facts_.element(name), extents));
      return buffers[name] = buffer;
    };
    auto addResult = [&](const std::string& name) {
      const Extents extents = *facts_.extents(name);
      node.outputs.push_back(name);
      result.graph.types[name] = {facts_.element(name),
                                  std::vector<std::optional<int64_t>>(extents.begin(), extents.end())};
      return program->addResult(facts_.element(name), extents);
    };
    for (int m : members) {
      const ByteNode& own = nodes_.at(m);
      const std::string& name = resultOf(m);
      const bool isNumber = facts_.element(name) == ElementType::kFloat;
      const bool isResult = isNumber ? isNumberRead(name) : areBytesRead(name, group);
      if (isNumber && !isResult) continue;  // its readers take the integers
      std::vector<int> from;
      for (const std::string& bytes : own.bytes)
        from.push_back(between(bytes));
      if (!own.number.empty()) from.push_back(operand(own.number));
      const Extents extents = *facts_.extents(name);
      const int to = isNumber ? addResult(name) : buffers[name] = program->addBuffer(elementCount(extents));
      program->addStep({name, own.op, own.how, false}, from, to, own.kernel);
      if (isNumber || !isResult) continue;
      program->addStep({name, "Bytes", "bytes: to outside", false}, {to}, addResult(name),
                       leaveKernel(facts_.element(name), extents));
    }
    program->finish();
    node.name = node.outputs.empty() ? "" : node.outputs[0];
    result.programs.push_back(std::move(program));
    return node;
  }

  const GraphFacts& facts_;
  std::map<int, ByteNode> nodes_;
  std::map<int, int> groupOf_;
  std::map<int, std::vector<int>> members_;                           ///< by group, in the order of the graph
  std::set<int> inner_;                                               ///< nodes that are computed with a member
  std::map<std::string, std::vector<int>, std::less<>> byteReaders_;  ///< the members that read integers
};

}  // namespace

ByteProgram* ByteGroups::programOf(const GraphNode& node) const {
  if (node.domain != kByteDomain) return nullptr;
  return programs.at(static_cast<size_t>(std::get<int64_t>(node.attributes.at("program")))).get();
}

ByteGroups byteGroups(Graph graph, const ByteEngine& engine) {
  const bool quantizes = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                     [](const GraphNode& n) { return n.standard && n.type == "QuantizeLinear"; });
  if (!engine || !quantizes) return {std::move(graph), {}};
  const Inference inference = infer(graph, {.freezeInputs = true});
  const GraphFacts facts(graph, inference);
  auto nodes = byteNodes(facts, engine);
  if (std::none_of(nodes.begin(), nodes.end(), [](const auto& n) { return n.second.isHeavy; }))
    return {std::move(graph), {}};
  return Grouping(facts, std::move(nodes)).run();
}

}  // namespace pet::session
