#include <algorithm>

#include <fmt/format.h>

#include "applier/operators/emission.h"

// Sizes that the model leaves open, computed when it runs: Shape of an input, Gather, and arithmetic. Each is computed
// once for the whole model.
namespace pet {

std::string NodeSink::step(std::string_view type,
                           std::vector<std::string> inputs,
                           const std::string& name,
                           std::map<std::string, GraphAttribute, std::less<>> attributes) {
  ++sizeSteps_;
  GraphNode n;
  n.name = uniqueNode(name);
  n.type = type;
  n.attributes = std::move(attributes);
  n.inputs = std::move(inputs);
  n.outputs = {uniqueValue(name)};
  node(n);
  return n.outputs[0];
}

std::string NodeSink::wholeNumber(int64_t value) {
  return initializer(fmt::format("pet/size/{}", value), Constant::of(Tensor<int64_t>({1}, {value})));
}

std::string NodeSink::size(const Dim& extent) {
  if (auto number = extent.asConstant()) return wholeNumber(*number);
  const std::string text = str(Shape{extent});
  if (auto it = computedSizes_.find(text); it != computedSizes_.end()) return it->second;
  std::string result;
  for (const Expr& atom : extent.atoms()) {
    std::string factor = size(atom);
    result = result.empty() ? factor : step("Mul", {result, factor}, "pet/size/product");
  }
  return computedSizes_[text] = result;
}

bool NodeSink::isQuotient(const Dim& extent) const {
  auto divides = [&](const std::string& symbol) {
    auto from = sizes_.find(symbol);
    return from != sizes_.end() && from->second.divisor != 1;
  };
  return std::any_of(extent.atoms().begin(), extent.atoms().end(), [&](const Expr& atom) {
    const auto symbols = atom.variables();
    return std::any_of(symbols.begin(), symbols.end(), divides);
  });
}

std::string NodeSink::size(const Expr& extent) {
  if (auto symbol = extent.asVariable()) return size(*symbol);
  std::string result = extent.constant() == 0 ? "" : wholeNumber(extent.constant());
  for (const auto& [term, coefficient] : extent.terms()) {
    std::string value;
    if (term.division) {
      // ONNX's Div goes towards 0; an Expr's normal form has no negative numerators.
      value = step("Div", {size(term.division->numerator), wholeNumber(term.division->divisor)}, "pet/size/quotient");
    } else {
      value = size(term.name);
    }
    if (coefficient != 1) value = step("Mul", {value, wholeNumber(coefficient)}, "pet/size/multiple");
    result = result.empty() ? value : step("Add", {result, value}, "pet/size/sum");
  }
  return result;
}

std::string NodeSink::size(const std::string& symbol) {
  if (auto it = symbolSizes_.find(symbol); it != symbolSizes_.end()) return it->second;
  auto from = sizes_.find(symbol);
  if (from == sizes_.end()) throw NotEmitted{fmt::format("the size {} is no extent of an input", symbol)};
  const auto& [value, dimension, divisor] = from->second;
  std::string& shape = shapes_[value];
  if (shape.empty()) shape = step("Shape", {value}, "pet/size/shape");
  std::string result =
      step("Gather", {shape, wholeNumber(dimension)}, fmt::format("pet/size/{}", symbol), {{"axis", int64_t{0}}});
  if (divisor != 1) result = step("Div", {result, wholeNumber(divisor)}, fmt::format("pet/size/{}", symbol));
  return symbolSizes_[symbol] = result;
}

std::string NodeSink::concatenated(const std::vector<std::string>& parts) {
  auto [it, isNew] = concatenated_.try_emplace(parts);
  if (isNew) it->second = step("Concat", parts, "pet/size/shape", {{"axis", int64_t{0}}});
  return it->second;
}

}  // namespace pet
