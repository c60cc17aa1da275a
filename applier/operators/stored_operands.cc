#include "applier/operators/stored_operands.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/operators/onnx_rows.h"
#include "applier/view/element_types.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

struct Limits {
  int64_t least, most;
};

Limits limitsOf(ElementType element) {
  return element == ElementType::kUint8 ? Limits{0, 255} : Limits{-128, 127};
}

Limits limitsOf(const std::vector<int64_t>& numbers) {
  auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return numbers.empty() ? Limits{0, 0} : Limits{*least, *most};
}

/// The zero point next to 0 with which a type of 8 bits holds these numbers.
std::optional<int64_t> zeroPointFor(const Limits& numbers, ElementType element) {
  const Limits type = limitsOf(element);
  const int64_t from = std::max(type.least, type.least - numbers.least),
                to = std::min(type.most, type.most - numbers.most);
  return from <= to ? std::optional(std::clamp<int64_t>(0, from, to)) : std::nullopt;
}

class OperandWriter {
 public:
  OperandWriter(NodeSink& sink, const ViewOutput& from) : sink_(sink), from_(from) {}
  std::vector<std::string> run(int node);

 private:
  const Node& node(Value v) const { return from_.view.program.node(v); }
  ElementType element(Value v) const { return from_.view.elements[static_cast<size_t>(v.node)]; }
  bool isConstant(Value v) const { return from_.constant[static_cast<size_t>(v.node)]; }
  std::string addConstant(Value v, std::string_view what, const Constant& c) {
    return sink_.initializer(from_.view.program.name(v) + std::string(what), c);
  }

  Storage storageOf(Value v) const;
  ZeroPoint zeroPoint(const Storage& storage) const;
  ElementType storedAs(Value constant) const;
  bool isOneNumber(Value v) const { return shapeHasOne(from_.view.program.shape(v)); }
  static bool shapeHasOne(const Shape& shape) {
    return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d == Dim(1); });
  }

  std::string moved(Value v, const Storage& storage);
  std::string summed(Value v);
  /// The integers, and their zero point or "".
  using Factor = std::pair<std::string, std::string>;
  Factor factor(Value v, bool byColumn);
  Factor constantFactor(Value v, bool byColumn);
  std::optional<Factor> byColumns(Value v, const Tensor<int64_t>& numbers, ElementType element);
  std::vector<std::string> factors(const Node& product);

  NodeSink& sink_;
  const ViewOutput& from_;
};

Storage OperandWriter::storageOf(Value v) const {
  auto storage = pet::storageOf(from_.view.program, from_.view.elements, from_.constant, v);
  if (!storage) throw NotEmitted{"integers with different zero points would be joined"};
  return *storage;
}

ZeroPoint OperandWriter::zeroPoint(const Storage& storage) const {
  if (!storage.zero) return {};
  if (!isOneNumber(*storage.zero)) throw NotEmitted{"a zero point for each row or column"};
  if (!isConstant(*storage.zero)) return {0, from_.nameOf(*storage.zero)};
  return {from_.evaluated(*storage.zero).values<int64_t>().data.at(0)};
}

/// An operand of what moves values.
std::string OperandWriter::moved(Value v, const Storage& storage) {
  if (!isConstant(v) || (element(v) == storage.element && !storage.zero)) return from_.nameOf(v);
  const ZeroPoint zero = zeroPoint(storage);
  if (!zero.name.empty()) throw NotEmitted{"a constant would be joined to integers whose zero point is computed"};
  Tensor<int64_t> numbers = from_.evaluated(v).values<int64_t>();
  for (int64_t& x : numbers.data) {
    x += zero.number;
    if (!hasNumber(storage.element, static_cast<double>(x)))
      throw NotEmitted{fmt::format("{} has no {}", str(storage.element), x)};
  }
  return addConstant(v, "", Constant::whole(storage.element, numbers));
}

/// An operand of what adds up sums.
std::string OperandWriter::summed(Value v) {
  if (!isConstant(v) || element(v) == ElementType::kInt32) return from_.nameOf(v);
  return addConstant(v, "", Constant::whole(ElementType::kInt32, from_.evaluated(v).values<int64_t>()));
}

/// The type of the first 8-bit integers that a constant is computed from.
ElementType OperandWriter::storedAs(Value constant) const {
  if (element(constant) == ElementType::kInt8 || element(constant) == ElementType::kUint8) return element(constant);
  for (Value o : node(constant).operands) {
    if (const ElementType type = storedAs(o); type != ElementType::kUnknown) return type;
  }
  return ElementType::kUnknown;
}

/// A zero point for each column.
std::optional<OperandWriter::Factor> OperandWriter::byColumns(Value v,
                                                              const Tensor<int64_t>& numbers,
                                                              ElementType element) {
  const auto columns = static_cast<size_t>(numbers.extents.back());
  Tensor<int64_t> zeros({numbers.extents.back()}), stored = numbers;
  for (size_t c = 0; c < columns; ++c) {
    std::vector<int64_t> column;
    for (size_t i = c; i < numbers.data.size(); i += columns)
      column.push_back(numbers.data[i]);
    auto zero = zeroPointFor(limitsOf(column), element);
    if (!zero) return std::nullopt;
    zeros.data[c] = *zero;
    for (size_t i = c; i < numbers.data.size(); i += columns)
      stored.data[i] += *zero;
  }
  return Factor{addConstant(v, "", Constant::whole(element, stored)),
                addConstant(v, "/zero_point", Constant::whole(element, zeros))};
}

OperandWriter::Factor OperandWriter::constantFactor(Value v, bool byColumn) {
  const bool isMatrix = from_.view.program.shape(v).size() == 2;
  if (isCentring(from_.view, v.node)) {  // as it came with the model
    const Value stored = node(v).operands[0], zero = node(v).operands[1];
    const bool fits = isOneNumber(zero) || (byColumn && isMatrix && from_.view.program.shape(zero).size() == 1);
    if (fits) return {from_.nameOf(stored), from_.nameOf(zero)};
  }
  const Tensor<int64_t> numbers = from_.evaluated(v).values<int64_t>();
  const Limits limits = limitsOf(numbers.data);
  const ElementType known = storedAs(v), element = known == ElementType::kUnknown ? ElementType::kInt8 : known;
  auto zero = zeroPointFor(limits, element);
  if (!zero && byColumn && isMatrix) {
    if (auto columns = byColumns(v, numbers, element)) return *columns;
  }
  if (!zero)
    throw NotEmitted{fmt::format("its weights, from {} to {}, do not fit into 8 bits", limits.least, limits.most)};
  Tensor<int64_t> stored = numbers;
  for (int64_t& x : stored.data)
    x += *zero;
  const std::string name = addConstant(v, "", Constant::whole(element, stored));
  if (*zero == 0) return {name, ""};
  return {name, addConstant(v, "/zero_point", Constant::whole(element, Tensor<int64_t>({}, {*zero})))};
}

OperandWriter::Factor OperandWriter::factor(Value v, bool byColumn) {
  const ElementType type = element(v);
  if (isConstant(v) && (type == ElementType::kInt16 || type == ElementType::kInt32)) return constantFactor(v, byColumn);
  const Storage storage = storageOf(v);
  if (storage.element == ElementType::kInt16) throw NotEmitted{"integers of 16 bits would be multiplied"};
  if (!storage.zero) return {from_.nameOf(v), ""};
  if (!isOneNumber(*storage.zero)) throw NotEmitted{"a zero point for each row or column"};
  return {from_.nameOf(v), from_.nameOf(*storage.zero)};
}

std::vector<std::string> OperandWriter::factors(const Node& product) {
  const Factor a = factor(product.operands[0], false), b = factor(product.operands[1], product.is(ops::kMatMul));
  std::vector<std::string> names{a.first, b.first, a.second, b.second};
  while (names.back().empty())
    names.pop_back();
  return names;
}

std::vector<std::string> OperandWriter::run(int i) {
  const Node& n = from_.view.program.nodes()[static_cast<size_t>(i)];
  const bool moves = movesValues(*n.op);
  const bool reads = readsIndices(*n.op);
  if (reads) sink_.setIndex(element(n.operands[0]));
  if (reads || n.is(ops::kGreater) || n.is(ops::kArgMax) ||
      (n.is(ops::kNot) && element({i, 0}) == ElementType::kBool)) {
    sink_.setElement(element({i, 0}));
    std::vector<std::string> names;
    for (Value v : n.operands)
      names.push_back(from_.nameOf(v));
    return names;
  }
  const Storage storage = moves ? storageOf({i, 0}) : Storage{element({i, 0})};
  sink_.setElement(storage.element, n.op->fills ? zeroPoint(storage) : ZeroPoint{});
  if (!moves && !isComputed(storage.element) && (n.is(ops::kMatMul) || n.is(ops::kConv))) return factors(n);
  std::vector<std::string> names;
  for (Value v : n.operands)
    names.push_back(moves || isComputed(storage.element) ? moved(v, storage) : summed(v));
  return names;
}

}  // namespace

std::vector<std::string> operandNames(NodeSink& sink, const ViewOutput& from, int node) {
  return OperandWriter(sink, from).run(node);
}

EmissionTrial tryEmission(const View& view, int64_t opset, const OpenSizes& sizes) {
  Graph scratch;
  scratch.opset = opset;
  TakenNames taken;
  NodeSink sink(scratch, ElementType::kFloat, taken, sizes);
  const std::vector<bool> constant = knownNodes(view.program);
  ConstantEvaluator constants(view);
  auto evaluated = [&](Value v) {
    auto c = constants.value(v);
    if (!c) throw NotEmitted{c.error().message()};
    return *c;
  };
  const ViewOutput from{view, constant, [&](Value v) { return view.program.name(v); }, evaluated};
  for (int i = 0; i < static_cast<int>(view.program.nodes().size()); ++i) {
    const Node& n = view.program.nodes()[static_cast<size_t>(i)];
    const bool isWritten = view.provenance[static_cast<size_t>(i)].origin < 0 && !constant[static_cast<size_t>(i)] &&
                           !n.is(ops::kInput) && !isCentring(view, i) && !isEmpty(view.program.shape({i, 0}));
    if (!isWritten) continue;
    try {
      writeNode(sink, view.program, i, operandNames(sink, from, i), n.names);
    } catch (const NotEmitted& e) {
      return {e.reason};
    }
  }
  return {{}, sink.sizeSteps()};
}

}  // namespace pet
