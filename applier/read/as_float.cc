#include "applier/read/as_float.h"

#include <algorithm>

#include "applier/onnx/quantized.h"

namespace pet {
namespace {

bool isInteger(ElementType element) {
  return isMoved(element) && !isComputed(element);
}

class Unquantizer {
 public:
  explicit Unquantizer(const Graph& graph) : out_(graph) { out_.nodes.clear(); }

  Graph run(const Graph& graph) && {
    for (const GraphNode& n : graph.nodes)
      enter(n);
    for (Initializer& i : out_.initializers) {
      if (numbers_.contains(i.name) && isInteger(i.value.element)) i.value = zeros(i.value.extents);
    }
    const std::set<std::string> inputs(graph.inputs.begin(), graph.inputs.end());
    std::erase_if(out_.types,
                  [&](const auto& type) { return !inputs.contains(type.first) && isInteger(type.second.element); });
    for (const std::string& name : graph.inputs) {
      auto type = out_.types.find(name);
      if (type != out_.types.end() && numbers_.contains(name)) type->second.element = ElementType::kFloat;
    }
    return std::move(out_);
  }

 private:
  void enter(GraphNode node) {
    auto plain = unquantized(node);
    if (!plain) return out_.nodes.push_back(std::move(node));
    numbers_.insert(plain->inputs.begin(), plain->inputs.end());
    out_.nodes.push_back(std::move(*plain));
    if (node.outputs.size() > 1) {  // scale and zero point of what is quantized as it runs
      node.outputs[0].clear();
      out_.nodes.push_back(std::move(node));
    }
  }

  Constant zeros(const Extents& extents) {
    const size_t size = static_cast<size_t>(elementCount(extents)) * sizeof(float);
    if (!zeros_ || zeros_->size() < size) zeros_ = std::make_shared<const std::string>(size, '\0');
    return {ElementType::kFloat, extents, Bytes(std::string_view(*zeros_).substr(0, size), zeros_)};
  }

  Graph out_;
  std::set<std::string, std::less<>> numbers_;  ///< operands that stand for numbers
  std::shared_ptr<const std::string> zeros_;    ///< of which all constants are parts
};

}  // namespace

std::optional<Graph> asFloat(const Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& n) { return unquantized(n).has_value(); }))
    return std::nullopt;
  return Unquantizer(graph).run(graph);
}

}  // namespace pet
