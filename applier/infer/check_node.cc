#include "applier/infer/check_node.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace pet {
namespace {

/// Signatures' kinds of attributes in the order of GraphAttribute's alternatives, from the second on.
constexpr std::array<std::string_view, 9> kKinds = {"i", "f", "s", "is", "fs", "ss", "t", "g", "p"};

/// An attribute as a signature has it: `name:kind!`.
struct AttributeWord {
  std::string_view name, kind;
  bool required;
};

AttributeWord attributeOf(std::string_view word) {
  size_t colon = word.find(':');
  bool required = word.back() == '!';
  return {word.substr(0, colon), word.substr(colon + 1, word.size() - colon - 1 - (required ? 1 : 0)), required};
}

// An attribute of a kind that pet does not read may be any.
void checkAttributes(const NodeInference& n, std::string_view words) {
  for (std::string_view word : wordsOf(words)) {
    AttributeWord a = attributeOf(word);
    const GraphAttribute* value = n.attribute(a.name);
    if (!value && a.required) NodeInference::invalid(fmt::format("has no attribute '{}'", a.name));
    if (!value || value->index() == 0) continue;
    if (kKinds[value->index() - 1] != a.kind)
      NodeInference::invalid(fmt::format("its attribute '{}' is of another type than ONNX has it", a.name));
  }
}

/// How many names there are before the last ones that are left out.
size_t givenCount(const std::vector<std::string>& names) {
  size_t count = names.size();
  while (count > 0 && names[count - 1].empty())
    --count;
  return count;
}

void checkCount(size_t given, const std::vector<SignatureSlot>& slots, std::string_view what) {
  bool open = !slots.empty() && slots.back().isVariadic;
  size_t least = slots.size();
  while (least > 0 && !slots[least - 1].isRequired)
    --least;
  if (given < least || (given > slots.size() && !open)) {
    std::string wanted = open                  ? fmt::format("at least {}", least)
                       : least == slots.size() ? std::to_string(least)
                                               : fmt::format("{} to {}", least, slots.size());
    NodeInference::invalid(fmt::format("has {} {}, not {}", given, what, wanted));
  }
}

const SignatureSlot& slotAt(const std::vector<SignatureSlot>& slots, size_t i) {
  return slots[std::min(i, slots.size() - 1)];
}

/// The element type that a type's name is; kUnknown for a variable.
ElementType elementNamed(std::string_view name) {
  for (int i = 1; i <= static_cast<int>(ElementType::kBfloat16); ++i) {
    if (str(static_cast<ElementType>(i)) == name) return static_cast<ElementType>(i);
  }
  return ElementType::kUnknown;
}

}  // namespace

void checkNode(NodeInference& n, const Signature& signature) {
  checkAttributes(n, signature.attributes);
  auto inputs = slotsOf(signature.inputs), outputs = slotsOf(signature.outputs);
  const size_t operands = givenCount(n.node().inputs), results = givenCount(n.node().outputs);
  checkCount(operands, inputs, "operands");
  checkCount(results, outputs, "results");
  std::map<std::string_view, ElementType> bound;
  for (size_t i = 0; i < operands; ++i) {
    const SignatureSlot& slot = slotAt(inputs, i);
    if (!n.has(i) && !slot.isOptional && !slot.isVariadic)
      NodeInference::invalid(fmt::format("has no {}", operandName(i)));
    const InferredType& type = n.operand(i);
    if (slot.isOther || type.kind != InferredType::Kind::kTensor || type.element == ElementType::kUnknown) continue;
    ElementType wanted = elementNamed(slot.type);
    if (wanted == ElementType::kUnknown) wanted = bound.emplace(slot.type, type.element).first->second;
    if (wanted != type.element)
      NodeInference::invalid(fmt::format("{} is of {}, not of {}", operandName(i), str(type.element), str(wanted)));
  }
  for (size_t i = 0; i < results; ++i) {
    const SignatureSlot& slot = slotAt(outputs, i);
    if (slot.isOther) continue;
    ElementType element = elementNamed(slot.type);
    if (auto it = bound.find(slot.type); it != bound.end()) element = it->second;
    if (element != ElementType::kUnknown) n.setElement(i, element);
  }
}

}  // namespace pet
