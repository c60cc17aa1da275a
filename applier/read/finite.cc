#include "applier/read/finite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <unordered_map>

#include "applier/onnx/mapping.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// Nodes outside of the view whose results are finite if their operands of floating point are.
constexpr std::string_view kTotal[] = {
    "Abs",     "Cast", "Concat", "Cos",   "Expand",  "Flatten", "Gather",    "GatherElements", "GatherND", "Identity",
    "Reshape", "Sin",  "Slice",  "Split", "Squeeze", "Tile",    "Transpose", "Unsqueeze",      "Where"};

bool isOf(const GraphNode& node, std::string_view type) {
  return node.standard && node.type == type;
}

/// No element has all of these bits. Block by block without a branch, so that it takes no longer than memory does.
template <class Bits>
bool noneHas(std::string_view bytes, Bits exponent) {
  constexpr size_t kBlock = 4096;
  for (; bytes.size() >= sizeof(Bits); bytes.remove_prefix(std::min(kBlock, bytes.size()))) {
    const std::string_view block = bytes.substr(0, kBlock);
    bool found = false;
    for (size_t at = 0; at + sizeof(Bits) <= block.size(); at += sizeof(Bits)) {
      Bits bits;
      std::memcpy(&bits, block.data() + at, sizeof bits);
      found |= (bits & exponent) == exponent;
    }
    if (found) return false;
  }
  return true;
}

bool areFinite(ElementType element, std::string_view bytes) {
  switch (element) {
    case ElementType::kDouble:
      return noneHas<uint64_t>(bytes, 0x7FF0000000000000);
    case ElementType::kFloat:
      return noneHas<uint32_t>(bytes, 0x7F800000);
    case ElementType::kBfloat16:
      return noneHas<uint16_t>(bytes, 0x7F80);
    default:
      return noneHas<uint16_t>(bytes, 0x7C00);
  }
}

/// No infinity and no NaN. Where the values are not at hand: false.
bool allFinite(const Constant& c) {
  if (!isComputed(c.element)) return true;
  if (!c.bytes) return false;
  const bool finite = areFinite(c.element, *c.bytes);
  if (c.bytes.mapped()) dropPages(*c.bytes);
  return finite;
}

/// Nothing is NaN or +inf, and not everything in a row is -inf.
bool eachRowIsFiniteSomewhere(std::span<const double> numbers, int64_t length) {
  for (; length > 0 && !numbers.empty(); numbers = numbers.subspan(static_cast<size_t>(length))) {
    const auto row = numbers.first(static_cast<size_t>(length));
    if (std::none_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); })) return false;
    if (std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x) || (std::isinf(x) && x > 0); }))
      return false;
  }
  return true;
}

/// Which values of a view are finite everywhere: of those that are asked for and of what they are made of.
class FiniteValues {
 public:
  FiniteValues(const Graph& graph, const View& view, const Inference& inference)
      : graph_(graph),
        view_(view),
        inference_(inference),
        constants_(view),
        isConstant_(knownNodes(view.program)),
        state_(view.program.nodes().size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& name : graph.nodes[i].outputs)
        producer_.emplace(name, i);
    }
    for (const auto& [value, name] : view.names)
      values_.emplace(name, value);
    for (const Initializer& i : graph.initializers)
      initializers_.emplace(i.name, &i);
  }

  /// Of an ONNX value.
  bool isFinite(const std::string& name) {
    auto it = values_.find(name);
    if (it == values_.end()) return false;
    settle(it->second.node);
    return state_[index(it->second.node)] == State::kFinite;
  }

 private:
  enum class State : char { kUnasked, kFinite, kUnknown };
  static size_t index(int node) { return static_cast<size_t>(node); }

  void settle(int last);
  /// The nodes of the view that a node is made of, whether it is in the view or comes from outside.
  std::vector<int> sources(int node) const;
  bool isMadeFinite(int node);
  /// Of a value that is made of constants: by its numbers.
  bool isFiniteByValue(int node);
  bool hasFiniteRows(Value scores, int64_t axis);
  bool isFiniteOutside(const std::string& name) const;
  bool isFiniteOperand(const std::string& name) const;
  bool isFinite(Value v) const { return state_[index(v.node)] == State::kFinite; }

  const Graph& graph_;
  const View& view_;
  const Inference& inference_;
  ConstantEvaluator constants_;
  std::vector<bool> isConstant_;  ///< per node of the view
  std::vector<State> state_;      ///< per node of the view
  std::unordered_map<std::string, size_t> producer_;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, const Initializer*> initializers_;
};

std::vector<int> FiniteValues::sources(int node) const {
  const Node& n = view_.program.nodes()[index(node)];
  std::vector<int> result;
  for (Value v : n.operands)
    result.push_back(v.node);
  auto from = n.is(ops::kInput) ? producer_.find(n.names[0]) : producer_.end();
  if (from == producer_.end()) return result;
  for (const std::string& name : graph_.nodes[from->second].inputs) {
    if (auto it = values_.find(name); it != values_.end() && it->second.node < node) result.push_back(it->second.node);
  }
  return result;
}

/// Nodes of a view follow what they are made of.
void FiniteValues::settle(int last) {
  std::set<int> needed{last};
  for (auto it = needed.rbegin(); it != needed.rend(); ++it) {
    if (state_[index(*it)] != State::kUnasked) continue;
    for (int n : sources(*it))
      needed.insert(n);
  }
  for (int n : needed) {
    if (state_[index(n)] != State::kUnasked) continue;
    state_[index(n)] = isMadeFinite(n) || isFiniteByValue(n) ? State::kFinite : State::kUnknown;
  }
}

bool FiniteValues::isMadeFinite(int node) {
  const Node& n = view_.program.nodes()[index(node)];
  if (auto c = view_.constants.find(node); c != view_.constants.end()) return allFinite(c->second);
  if (n.is(ops::kInput)) return isFiniteOutside(n.names[0]);
  const bool finiteOperands = std::all_of(n.operands.begin(), n.operands.end(), [&](Value v) { return isFinite(v); });
  if (n.is(ops::kSoftmax)) return finiteOperands || hasFiniteRows(n.operands[0], *n.scalar("axis").asConstant());
  if (!finiteOperands) return false;
  if (n.is(ops::kConstant)) return std::isfinite(n.number("value"));
  if (n.op->lower)
    return n.is(ops::kWhere) ||
           (n.attributes.contains("epsilon") && !n.is(ops::kBatchNormalization) && n.number("epsilon") > 0);
  return n.op->facts.domain == Facts::Domain::kEverything;
}

bool FiniteValues::isFiniteByValue(int node) {
  const Node& n = view_.program.nodes()[index(node)];
  if (!isConstant_[index(node)] || n.is(ops::kInput) || n.shapes.size() != 1) return false;
  auto value = constants_.value({node, 0});
  return value && allFinite(*value);
}

/// Finite scores and a mask that is added to them: each row of the mask has something finite, and nothing that is
/// no number or +inf.
bool FiniteValues::hasFiniteRows(Value scores, int64_t axis) {
  const Node& sum = view_.program.node(scores);
  if (!sum.is(ops::kAdd) || axis + 1 != static_cast<int64_t>(sum.shapes[0].size())) return false;
  for (size_t i = 0; i < 2; ++i) {
    const Value mask = sum.operands[1 - i];
    const Shape& shape = view_.program.shape(mask);
    if (!isFinite(sum.operands[i]) || shape.empty() || shape.back() != sum.shapes[0].back()) continue;
    auto constant = isConstant_[index(mask.node)] ? constants_.value(mask) : Expected<Constant>();
    auto numbers = constant ? constant->numbers() : std::nullopt;
    if (numbers && eachRowIsFiniteSomewhere(*numbers, *shape.back().asConstant())) return true;
  }
  return false;
}

/// An input of the view: one of the graph, or the result of a node outside of the view.
bool FiniteValues::isFiniteOutside(const std::string& name) const {
  auto from = producer_.find(name);
  if (from == producer_.end())
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), name) != graph_.inputs.end();
  const GraphNode& node = graph_.nodes[from->second];
  if (!node.standard || std::find(std::begin(kTotal), std::end(kTotal), node.type) == std::end(kTotal)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const std::string& operand) { return isFiniteOperand(operand); });
}

/// An operand of a node outside of the view.
bool FiniteValues::isFiniteOperand(const std::string& name) const {
  auto type = inference_.types.find(name);
  const ElementType element = type == inference_.types.end() ? ElementType::kUnknown : type->second.element;
  if (element != ElementType::kUnknown && !isComputed(element)) return true;
  if (auto it = initializers_.find(name); it != initializers_.end())
    return !it->second->overridable && allFinite(it->second->value);
  if (auto value = values_.find(name); value != values_.end()) return isFinite(value->second);
  auto from = producer_.find(name);
  if (from == producer_.end() || !isOf(graph_.nodes[from->second], "Constant")) return false;
  const auto& attributes = graph_.nodes[from->second].attributes;
  auto it = attributes.find("value");
  const auto* constant = it == attributes.end() ? nullptr : std::get_if<Constant>(&it->second);
  return constant && allFinite(*constant);
}

/// Of results of IsNaN, those that nothing reads but a Where that is in the view, as its condition.
std::set<std::string, std::less<>> conditionsOnly(const Graph& graph, std::set<std::string, std::less<>> candidates) {
  for (const std::string& name : graph.outputs)
    candidates.erase(name);
  for (const GraphNode& node : graph.nodes) {
    const std::vector<std::string> names = readsOf(node);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!isOf(node, "Where") || i != 0) candidates.erase(names[i]);
    }
  }
  return candidates;
}

}  // namespace

std::set<std::string, std::less<>> neverTrue(const Graph& graph, const Normalised& read, const Inference& inference) {
  std::set<std::string, std::less<>> result;
  std::optional<FiniteValues> finite;
  for (const GraphNode& node : graph.nodes) {
    if (!isOf(node, "IsNaN") || node.inputs.size() != 1 || node.outputs.size() != 1) continue;
    if (!finite) finite.emplace(graph, read.view, inference);
    if (finite->isFinite(node.inputs[0])) result.insert(node.outputs[0]);
  }
  return conditionsOnly(graph, std::move(result));
}

}  // namespace pet
