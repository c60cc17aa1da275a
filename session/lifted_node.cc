#include "session/lifted_node.h"

#include <algorithm>

#include "applier/read/normalise.h"
#include "ir/ops/op.h"
#include "session/kernels/array.h"

namespace pet::session {
namespace {

Graph graphOfOne(const GraphNode& node, int64_t opset, const std::vector<LiftedOperand>& operands) {
  Graph graph;
  graph.opset = opset;
  graph.nodes.push_back(node);
  for (const std::string& name : node.outputs) {
    if (!name.empty()) graph.outputs.push_back(name);
  }
  std::set<std::string> known;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& name = node.inputs[i];
    if (name.empty() || !known.insert(name).second) continue;
    const LiftedOperand& operand = operands[i];
    if (operand.fixed) {
      graph.initializers.push_back({name, *operand.fixed});
      continue;
    }
    graph.inputs.push_back(name);
    graph.types[name] = {operand.element,
                         std::vector<std::optional<int64_t>>(operand.extents.begin(), operand.extents.end())};
  }
  return graph;
}

/// The values of a view that one node makes: by its outputs.
std::map<std::string, Value> valuesByName(const View& view) {
  std::map<std::string, Value> values;
  for (const auto& [value, name] : view.names)
    values.emplace(name, value);
  return values;
}

bool isOnEngine(const View& view) {
  auto fits = [](ElementType e) { return isComputed(e) && e != ElementType::kDouble; };
  const auto& nodes = view.program.nodes();
  const bool empty = std::any_of(nodes.begin(), nodes.end(), [](const Node& n) {
    return std::any_of(n.shapes.begin(), n.shapes.end(), [](const Shape& s) { return isEmpty(s); });
  });
  return !empty && std::all_of(view.elements.begin(), view.elements.end(), fits);
}

/// All of one kind of numbers, with known extents.
Expected<void> checkTypes(const View& view, const GraphNode& node) {
  const bool real = isComputed(view.elements.empty() ? ElementType::kFloat : view.elements[0]);
  for (size_t i = 0; i < view.elements.size(); ++i) {
    if (isComputed(view.elements[i]) != real)
      return fail(ErrorKind::kUnsupported, "it mixes integers and floating point", describe(node));
    for (const Shape& s : view.program.nodes()[i].shapes) {
      if (!asConstants(s)) return fail(ErrorKind::kUnsupported, "its extents are not known", describe(node));
    }
  }
  return {};
}

}  // namespace

Expected<LiftedNode> LiftedNode::make(const GraphNode& node,
                                      int64_t opset,
                                      const std::vector<LiftedOperand>& operands,
                                      const ProgramEngine& engine) {
  const Graph graph = graphOfOne(node, opset, operands);
  Normalised read = normalise(graph, {.freezeInputs = true, .neverTrue = std::set<std::string, std::less<>>()});
  if (!read.opaque[0].empty()) return fail(ErrorKind::kUnsupported, read.opaque[0], describe(node));
  LiftedNode lifted;
  lifted.view_ = std::move(read.view);
  if (auto ok = checkTypes(lifted.view_, node); !ok) return tl::unexpected(ok.error());
  const Program& program = lifted.view_.program;
  for (Value v : program.inputs()) {
    if (lifted.view_.constants.contains(v.node)) continue;
    auto at = std::find(node.inputs.begin(), node.inputs.end(), program.name(v));
    if (at == node.inputs.end()) return fail(ErrorKind::kUnsupported, "it is more than one node", describe(node));
    lifted.operandOf_.push_back(static_cast<size_t>(at - node.inputs.begin()));
  }
  const auto values = valuesByName(lifted.view_);
  for (const std::string& name : node.outputs) {
    auto value = values.find(name);
    auto at = value == values.end() ? program.outputs().end()
                                    : std::find(program.outputs().begin(), program.outputs().end(), value->second);
    const bool found = at != program.outputs().end();
    if (!found && !name.empty())
      return fail(ErrorKind::kUnsupported, "not all of its results are known", describe(node));
    lifted.resultOf_.push_back(found ? static_cast<int>(at - program.outputs().begin()) : -1);
  }
  if (!isOnEngine(lifted.view_)) return lifted;
  auto prepared = engine(program, [&](std::string_view name) -> TensorRef<float> {
    auto value = program.find(name);
    auto c = value ? lifted.view_.constants.find(value->node) : lifted.view_.constants.end();
    return c == lifted.view_.constants.end() ? nullptr
                                             : std::make_shared<const Tensor<float>>(c->second.values<float>());
  });
  if (!prepared) return tl::unexpected(prepared.error());
  lifted.program_ = std::move(*prepared);
  return lifted;
}

std::vector<Constant> LiftedNode::inOrder(std::vector<Constant> results) const {
  std::vector<Constant> ordered;
  for (int of : resultOf_)
    ordered.push_back(of < 0 ? Constant() : results[static_cast<size_t>(of)]);
  return ordered;
}

Expected<std::vector<Constant>> LiftedNode::prepared(const std::vector<const Constant*>& operands) const {
  std::vector<Constant> in;
  std::vector<const float*> from;
  for (size_t i : operandOf_) {
    in.push_back(widened(*operands[i]));
    from.push_back(dataOf<float>(in.back()).data());
  }
  std::vector<Constant> results;
  std::vector<float*> to;
  for (Value v : view_.program.outputs()) {
    Made<float> made = session::make<float>(ElementType::kFloat, concrete(view_.program.shape(v)));
    to.push_back(made.data);
    results.push_back(std::move(made.constant));
  }
  if (auto ok = program_->run(from, to); !ok) return tl::unexpected(ok.error());
  for (size_t i = 0; i < results.size(); ++i) {
    const Value v = view_.program.outputs()[i];
    results[i] = narrowedTo(view_.elements[static_cast<size_t>(v.node)], results[i]);
  }
  return inOrder(std::move(results));
}

template <class T>
Expected<std::vector<Constant>> LiftedNode::evaluated(const std::vector<const Constant*>& operands) const {
  const std::vector<Value> inputs = view_.program.inputs();
  auto source = [&](std::string_view name) -> TensorRef<T> {
    size_t next = 0;
    for (Value v : inputs) {
      auto c = view_.constants.find(v.node);
      const bool constant = c != view_.constants.end();
      const Constant& value = constant ? c->second : *operands[operandOf_[next]];
      if (view_.program.name(v) == name) return std::make_shared<const Tensor<T>>(value.template values<T>());
      next += constant ? 0 : 1;
    }
    return nullptr;
  };
  auto done = execute<T>(view_.program, {}, InputSource<T>(source));
  if (!done) return tl::unexpected(done.error());
  std::vector<Constant> results;
  for (size_t i = 0; i < done->size(); ++i) {
    const ElementType element = view_.elements[static_cast<size_t>(view_.program.outputs()[i].node)];
    if constexpr (std::is_same_v<T, int64_t>) results.push_back(Constant::whole(element, *(*done)[i]));
    if constexpr (!std::is_same_v<T, int64_t>) results.push_back(Constant::rounded(element, *(*done)[i]));
  }
  return inOrder(std::move(results));
}

Expected<std::vector<Constant>> LiftedNode::run(const std::vector<const Constant*>& operands) const {
  if (program_) return prepared(operands);
  const bool real = view_.elements.empty() || isComputed(view_.elements[0]);
  return real ? evaluated<double>(operands) : evaluated<int64_t>(operands);
}

}  // namespace pet::session
