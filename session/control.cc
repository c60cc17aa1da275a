// If, Loop and Scan, whose subgraphs run node by node.

#include <cstring>

#include "session/node_runner.h"

namespace pet::session {
namespace {

const Graph& bodyOf(const GraphNode& node, std::string_view name) {
  auto it = node.attributes.find(name);
  const auto* body = it == node.attributes.end() ? nullptr : std::get_if<Subgraph>(&it->second);
  if (!body || !*body) throw BadNode{fmt::format("it has no subgraph '{}'", name)};
  return **body;
}

bool isTrue(const Constant& c) {
  const auto values = integersOf(c);
  if (values.size() != 1) throw BadNode{"its condition is not one truth value"};
  return values[0] != 0;
}

/// Tensors of equal extents as one, one after another along a new first dimension.
Constant stackedUp(const std::vector<Constant>& parts) {
  if (parts.empty()) return Constant::of(Tensor<float>(Extents{0}));
  Extents extents{std::ssize(parts)};
  extents.insert(extents.end(), parts[0].extents.begin(), parts[0].extents.end());
  Made<char> y = makeRaw(parts[0].element, extents);
  char* at = y.data;
  for (const Constant& part : parts) {
    if (part.element != parts[0].element || part.extents != parts[0].extents)
      throw BadNode{"what its executions make has different extents"};
    std::memcpy(at, part.bytes->data(), part.bytes->size());
    at += part.bytes->size();
  }
  return y.constant;
}

/// Position `n` of the first dimension.
Constant partAt(const Constant& c, int64_t n) {
  const Extents extents(c.extents.begin() + 1, c.extents.end());
  const size_t size = static_cast<size_t>(elementCount(extents)) * elementSize(c.element);
  return {c.element, extents, c.bytes.part(c.bytes->substr(static_cast<size_t>(n) * size, size))};
}

void append(std::vector<std::vector<Constant>>& lists, const std::vector<Constant>& results, size_t from) {
  lists.resize(results.size() - from);
  for (size_t i = from; i < results.size(); ++i)
    lists[i - from].push_back(results[i]);
}

}  // namespace

std::vector<Constant> NodeRunner::ifNode(const GraphNode& node,
                                         const std::vector<const Constant*>& operands,
                                         const Lookup& lookup) {
  return run(bodyOf(node, isTrue(*operands.at(0)) ? "then_branch" : "else_branch"), {}, lookup);
}

std::vector<Constant> NodeRunner::loop(const GraphNode& node,
                                       const std::vector<const Constant*>& operands,
                                       const Lookup& lookup) {
  const Graph& body = bodyOf(node, "body");
  const bool counted = operands.at(0) != nullptr;
  const int64_t most = counted ? integersOf(*operands[0]).at(0) : 0;
  bool goesOn = !operands.at(1) || isTrue(*operands[1]);
  std::vector<Constant> carried;
  for (size_t i = 2; i < operands.size(); ++i)
    carried.push_back(operands[i] ? *operands[i] : Constant());
  const size_t states = carried.size();
  std::vector<std::vector<Constant>> lists(node.outputs.size() > states ? node.outputs.size() - states : 0);
  for (int64_t n = 0; goesOn && (!counted || n < most); ++n) {
    std::vector<Constant> inputs{Constant::of(Tensor<int64_t>({}, {n})),
                                 Constant::whole(ElementType::kBool, Tensor<int64_t>({}, {1}))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    auto results = run(body, std::move(inputs), lookup);
    if (results.size() < 1 + states) throw BadNode{"its body has too few outputs"};
    goesOn = !results[0].bytes || isTrue(results[0]);
    carried.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(states));
    append(lists, results, 1 + states);
  }
  for (const auto& list : lists)
    carried.push_back(stackedUp(list));
  return carried;
}

std::vector<Constant> NodeRunner::scan(const GraphNode& node,
                                       const std::vector<const Constant*>& operands,
                                       const Lookup& lookup) {
  const NodeCall call(node, 0, operands);
  const Graph& body = bodyOf(node, "body");
  const auto scanned = static_cast<size_t>(call.integer("num_scan_inputs", 0));
  if (scanned == 0 || scanned > operands.size()) throw BadNode{"it scans no input"};
  for (const char* name : {"scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"}) {
    for (int64_t a : call.integers(name).value_or(std::vector<int64_t>())) {
      if (a != 0) throw BadNode{fmt::format("{} other than 0", name)};
    }
  }
  const size_t states = operands.size() - scanned;
  std::vector<Constant> carried;
  for (size_t i = 0; i < states; ++i)
    carried.push_back(call.operand(i));
  const int64_t length = call.rank(states) == 0 ? 0 : call.extents(states)[0];
  std::vector<std::vector<Constant>> lists(node.outputs.size() > states ? node.outputs.size() - states : 0);
  for (int64_t n = 0; n < length; ++n) {
    std::vector<Constant> inputs = carried;
    for (size_t i = states; i < operands.size(); ++i) {
      if (call.rank(i) == 0 || call.extents(i)[0] != length) throw BadNode{"its inputs are not of one length"};
      inputs.push_back(partAt(call.operand(i), n));
    }
    auto results = run(body, std::move(inputs), lookup);
    if (results.size() < states) throw BadNode{"its body has too few outputs"};
    carried.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(states));
    append(lists, results, states);
  }
  for (const auto& list : lists)
    carried.push_back(stackedUp(list));
  return carried;
}

std::vector<Constant> NodeRunner::control(const GraphNode& node,
                                          const std::vector<const Constant*>& operands,
                                          const Lookup& lookup) {
  if (node.type == "If") return ifNode(node, operands, lookup);
  return node.type == "Loop" ? loop(node, operands, lookup) : scan(node, operands, lookup);
}

}  // namespace pet::session
