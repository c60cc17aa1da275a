#include "applier/view/element_types.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {
namespace {

bool isOf8Bits(ElementType element) {
  return element == ElementType::kInt8 || element == ElementType::kUint8;
}

bool areSummed(ElementType element) {
  return isNarrow(element) || element == ElementType::kInt32;
}

/// What computes with sums, exactly, and is written with operators that ONNX has for int32.
bool addsUp(const OpRow& op) {
  static constexpr std::array kOperators = {ops::kAdd,       ops::kNeg,  ops::kOffsetReduce,
                                            ops::kReduceSum, ops::kRelu, ops::kSub};
  return std::any_of(kOperators.begin(), kOperators.end(), [&](OpName name) { return op.is(name); });
}

/// Of operands that are moved into one tensor. Constants of sums are numbers, and take the type of the others.
std::optional<ElementType> commonType(std::span<const OperandType> operands) {
  auto isOfFirst = [&](const OperandType& o) { return o.element == operands[0].element; };
  auto isConstant = [](const OperandType& o) { return o.isConstant; };
  if (std::all_of(operands.begin(), operands.end(), isOfFirst)) return operands[0].element;
  bool narrow = false, wide = false;
  const bool constants = std::all_of(operands.begin(), operands.end(), isConstant);
  for (const OperandType& o : operands) {
    if (!areSummed(o.element)) return std::nullopt;
    if (o.isConstant && !constants) continue;
    (isNarrow(o.element) ? narrow : wide) = true;
  }
  if (narrow && wide && !constants) return std::nullopt;
  return wide ? ElementType::kInt32 : ElementType::kInt16;
}

/// What an operator that computes gives of integers.
std::optional<ElementType> sumType(const OpRow& op, std::span<const OperandType> operands) {
  auto all = [&](auto fits) { return std::all_of(operands.begin(), operands.end(), fits); };
  if (!all([](const OperandType& o) { return areSummed(o.element); })) return std::nullopt;
  if (op.is(ops::kSub) && isOf8Bits(operands[0].element) && operands[0].element == operands[1].element)
    return ElementType::kInt16;
  bool fits = false;
  if (all([](const OperandType& o) { return o.isConstant; })) {
    fits = op.kernels.i64 != nullptr;
  } else if (op.is(ops::kMatMul) || op.is(ops::kConv)) {
    fits = all([](const OperandType& o) { return o.isConstant || isNarrow(o.element); });
  } else {
    fits = addsUp(op) && all([](const OperandType& o) { return o.isConstant || o.element == ElementType::kInt32; });
  }
  return fits ? std::optional(ElementType::kInt32) : std::nullopt;
}

/// What ONNX's Gather takes.
bool isIndex(ElementType element) {
  return element == ElementType::kInt32 || element == ElementType::kInt64;
}

}  // namespace

bool takesIndices(const OpRow& op) {
  return readsIndices(op) || op.is(ops::kClip);
}

bool dependsOnReals(const Program& program, const std::vector<ElementType>& elements, Value value) {
  std::set<int> seen{value.node};
  std::vector<int> open{value.node};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (isComputed(elements[static_cast<size_t>(next)])) return true;
    for (Value o : program.nodes()[static_cast<size_t>(next)].operands) {
      if (seen.insert(o.node).second) open.push_back(o.node);
    }
  }
  return false;
}

bool movesValues(const OpRow& op) {
  return op.layout || op.is(ops::kConstant) || op.is(ops::kIdentity) || op.is(ops::kWhere);
}

bool isNarrow(ElementType element) {
  return isOf8Bits(element) || element == ElementType::kInt16;
}

Expected<ElementType> resultType(const OpRow& op,
                                 const Attributes& attributes,
                                 std::span<const OperandType> operands,
                                 ElementType without) {
  const ElementType first = operands.empty() ? without : operands[0].element;
  if (op.is(ops::kWhere) && first == ElementType::kBool && operands[1].element != ElementType::kBool)
    return resultType(op, attributes, operands.subspan(1), without);
  if (readsIndices(op)) {
    if (!isIndex(first))
      return fail(ErrorKind::kUnsupported, fmt::format("{} by {}, which is no index", op.name, str(first)));
    return op.is(ops::kOneHot) ? ElementType::kBool : operands[1].element;
  }
  const bool same =
      std::all_of(operands.begin(), operands.end(), [&](const OperandType& o) { return o.element == first; });
  if (op.is(ops::kNot) && first == ElementType::kBool) return first;
  if (isComputed(first) && same)
    return op.is(ops::kGreater) ? ElementType::kBool : op.is(ops::kArgMax) ? ElementType::kInt64 : first;
  const bool mixes = isComputed(first) || (movesValues(op) && !operands.empty() && !commonType(operands));
  if (mixes) return fail(ErrorKind::kUnsupported, "operands of different element types");
  const auto result = op.is(ops::kClip) && isIndex(first) ? std::optional(first)
                    : !movesValues(op)                    ? sumType(op, operands)
                    : operands.empty()                    ? std::optional(first)
                                                          : commonType(operands);
  if (!result)
    return fail(ErrorKind::kUnsupported, fmt::format("{} computes, and {} is no floating point", op.name, str(first)));
  for (const auto& [name, value] : attributes) {
    const auto* number = std::get_if<double>(&value);
    if (number && !hasNumber(*result, *number))
      return fail(ErrorKind::kUnsupported, fmt::format("{} has no {}", str(*result), *number));
  }
  return *result;
}

std::optional<Storage> storageOf(const Program& program,
                                 const std::vector<ElementType>& elements,
                                 const std::vector<bool>& constant,
                                 Value value) {
  const Node& n = program.node(value);
  const auto elementOf = [&](Value v) { return elements[static_cast<size_t>(v.node)]; };
  if (elementOf(value) != ElementType::kInt16) return Storage{elementOf(value)};
  if (n.is(ops::kSub)) return Storage{elementOf(n.operands[0]), n.operands[1]};
  std::optional<Storage> common;
  for (Value o : n.operands) {
    if (constant[static_cast<size_t>(o.node)] || elementOf(o) == ElementType::kBool) continue;
    const auto storage = storageOf(program, elements, constant, o);
    if (!storage || (common && *common != *storage)) return std::nullopt;
    common = storage;
  }
  return common ? common : Storage{ElementType::kInt16};
}

std::vector<ElementType> typesOfNumbers(const Program& program,
                                        const std::function<ElementType(Value)>& input,
                                        ElementType result) {
  const auto& nodes = program.nodes();
  std::vector<ElementType> numbers(nodes.size(), result), known;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    ElementType of = ElementType::kUnknown;
    if (n.is(ops::kInput)) of = input({static_cast<int>(i), 0});
    for (Value v : n.operands) {
      const ElementType operand = known[static_cast<size_t>(v.node)];
      if (isComputed(operand)) of = operand;
    }
    for (Value v : n.operands) {
      if (n.is(ops::kGreater) && program.node(v).operands.empty() && isComputed(of))
        numbers[static_cast<size_t>(v.node)] = of;
    }
    known.push_back(of);
  }
  return numbers;
}

std::optional<std::string> whyNotOf(const Program& program,
                                    std::span<const OperandType> inputs,
                                    std::span<const ElementType> results) {
  std::map<Value, ElementType> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.emplace(program.inputs()[i], inputs[i].element);
  const auto numbers = typesOfNumbers(
      program, [&](Value v) { return given.at(v); }, results[0]);
  std::vector<OperandType> types;
  size_t next = 0;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.is(ops::kInput)) {
      types.push_back(inputs[next++]);
      continue;
    }
    std::vector<OperandType> operands;
    for (Value v : n.operands)
      operands.push_back(types[static_cast<size_t>(v.node)]);
    auto type = resultType(*n.op, n.attributes, operands, numbers[i]);
    if (!type) return type.error().what;
    types.push_back(
        {*type, std::all_of(operands.begin(), operands.end(), [](const OperandType& o) { return o.isConstant; })});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const ElementType is = types[static_cast<size_t>(program.outputs()[i].node)].element;
    if (is != results[i]) return fmt::format("the result would be of {}, not of {}", str(is), str(results[i]));
  }
  return std::nullopt;
}

}  // namespace pet
