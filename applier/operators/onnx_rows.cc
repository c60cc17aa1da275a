#include "applier/operators/onnx_rows.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/idioms.h"

namespace pet {
namespace {

/// Throws NotEmitted where it depends on an extent that the model leaves open.
int64_t numberOf(const Expr& e) {
  auto number = e.asConstant();
  if (!number) throw NotEmitted{fmt::format("the number {} is left open", e.str())};
  return *number;
}

int64_t integerOf(const Attribute& value) {
  return numberOf(std::get<Expr>(value));
}

std::vector<int64_t> integersOf(const Attribute& value) {
  std::vector<int64_t> list;
  for (const Expr& e : std::get<std::vector<Expr>>(value))
    list.push_back(numberOf(e));
  return list;
}

bool isDefault(const OnnxAttribute& a, const Attribute& value) {
  if (const auto* i = std::get_if<int64_t>(&a.fallback)) return integerOf(value) == *i;
  if (const auto* x = std::get_if<double>(&a.fallback)) return std::get<double>(value) == *x;
  if (const auto* s = std::get_if<std::string_view>(&a.fallback)) return std::get<std::string>(value) == *s;
  if (const auto* each = std::get_if<PerDimension>(&a.fallback)) {
    const auto& list = std::get<std::vector<Expr>>(value);
    return each->times == 0
             ? list.empty()
             : std::all_of(list.begin(), list.end(), [&](const Expr& e) { return e == Expr(each->value); });
  }
  return false;
}

GraphAttribute asAttribute(const OnnxAttribute& a, const Attribute& value) {
  if (a.kind == AttributeKind::kScalar) return integerOf(value);
  if (a.kind == AttributeKind::kNumber) return static_cast<float>(std::get<double>(value));
  if (a.kind == AttributeKind::kText) return std::get<std::string>(value);
  return integersOf(value);
}

/// The name of an initializer.
std::string asOperand(const Emission& e, const OnnxAttribute& a, const Attribute& value) {
  return a.kind == AttributeKind::kNumber ? e.number(a.name, std::get<double>(value))
                                          : e.integers(a.name, integersOf(value));
}

Attribute readAttribute(const Lifting& l, const OnnxAttribute& a, Value operand) {
  switch (a.kind) {
    case AttributeKind::kScalar: {
      int64_t i = l.integer(a);
      return Expr(a.isAxis ? static_cast<int64_t>(l.axis(i, l.rank(operand))) : i);
    }
    case AttributeKind::kNumber:
      return l.number(a);
    case AttributeKind::kText:
      return l.text(a);
    default:
      return exprs(l.list(a, l.rank(operand)));
  }
}

/// The row with what ir's row says of it.
OnnxRow completed(OnnxRow row) {
  const OpRow* op = row.op.empty() ? nullptr : findOp(row.op);
  if (op && op->onnx.since > 0) {
    row.since = std::max(row.since, op->onnx.since);
    row.attributes = op->onnx.attributes ? *op->onnx.attributes : sameInOnnx(op->attributes);
  }
  return row;
}

std::vector<OnnxRow> joinFamilies() {
  std::vector<OnnxRow> rows;
  for (auto family : {onnxAttentionRows(), onnxConvRows(), onnxEinsumRows(), onnxFunctionRows(), onnxIndexRows(),
                      onnxMoveRows(), onnxPoolRows(), onnxResizeRows(), onnxFourierRows()}) {
    for (const OnnxRow& row : family)
      rows.push_back(completed(row));
  }
  const size_t irregular = rows.size();
  for (const OpRow* op : operatorTable()) {
    auto end = rows.begin() + static_cast<std::ptrdiff_t>(irregular);
    bool regular = std::none_of(rows.begin(), end, [&](const OnnxRow& r) { return r.op == op->name; });
    if (op->onnx.since > 0 && regular) rows.push_back(completed({.op = op->name}));
  }
  return rows;
}

/// One result, of this name.
void writePieces(NodeSink& sink,
                 const rewrite::Pieces& pieces,
                 const std::vector<std::string>& operands,
                 const std::string& result) {
  const Program& program = pieces.program;
  std::map<Value, std::string> names;
  const std::vector<Value> inputs = program.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* operand = std::get_if<size_t>(&pieces.inputs[i]);
    names[inputs[i]] =
        operand ? operands.at(*operand)
                : sink.initializer(
                      result + "/" + program.name(inputs[i]),
                      Constant::rounded(sink.element(), Tensor<double>({}, {std::get<double>(pieces.inputs[i])})));
  }
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    if (n.is(ops::kInput)) continue;
    std::vector<std::string> of;
    for (Value v : n.operands)
      of.push_back(names.at(v));
    const bool isLast = Value{i, 0} == program.outputs()[0];
    names[{i, 0}] = isLast ? result : sink.uniqueValue(fmt::format("{}/{}", result, n.names[0]));
    writeNode(sink, program, i, std::move(of), {names[{i, 0}]});
  }
}

}  // namespace

const OnnxAttribute& OnnxRow::operator[](std::string_view attribute) const {
  auto it = std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.name == attribute; });
  assert(it != attributes.end());
  return *it;
}

void readAttributes(const Lifting& l, const OnnxRow& row, Value operand, Attributes& into) {
  for (const OnnxAttribute& a : row.attributes) {
    auto at = into.lower_bound(a.name);
    if (at == into.end() || at->first != a.name) into.emplace_hint(at, a.name, readAttribute(l, a, operand));
  }
}

std::vector<Value> readRegular(const Lifting& l, const OnnxRow& row) {
  if (row.readable) row.readable(l);
  const OpRow* op = findOp(row.op);
  assert(op && "a regular row is of an operator of ours");
  const size_t least = static_cast<size_t>(op->minOperands),
               most = op->maxOperands < 0 ? l.operandCount() : static_cast<size_t>(op->maxOperands);
  std::vector<Value> operands;
  for (size_t i = 0; i < most; ++i) {
    if (i < least || op->maxOperands < 0 || l.has(i)) operands.push_back(l.operand(i));
  }
  for (size_t i = most; i < l.operandCount(); ++i) {
    const bool isAttribute = std::any_of(row.attributes.begin(), row.attributes.end(),
                                         [&](const auto& a) { return a.operand == static_cast<int>(i); });
    if (l.has(i) && !isAttribute) Lifting::refuse("more operands than it is known with");
  }
  Attributes attributes;
  if (!row.attributes.empty()) readAttributes(l, row, operands.at(0), attributes);
  return {l.add(row.op, std::move(operands), std::move(attributes))};
}

OnnxForm formOf(const Emission& e, const OnnxRow& row, std::vector<std::string> operands, const Attributes& values) {
  OnnxForm form{std::move(operands), {}};
  for (const OnnxAttribute& a : row.attributes) {
    auto it = values.find(a.name);
    if (it == values.end()) continue;
    bool left = isDefault(a, it->second);
    if (a.isOperand(e.opset())) {
      if (left) continue;
      form.operands.resize(static_cast<size_t>(a.operand));
      form.operands.push_back(asOperand(e, a, it->second));
    } else if (!left || (!a.isSparse && e.opset() >= a.firstOpset)) {
      e.require(a.firstOpset, a.form);
      form.attributes.emplace(a.name, asAttribute(a, it->second));
    }
  }
  return form;
}

void writeRegular(const Emission& e, const OnnxRow& row) {
  if (row.writable) row.writable(e);
  OnnxForm form = formOf(e, row, e.operands(), e.node().attributes);
  e.add(row.type, std::move(form.operands), e.outputs(), std::move(form.attributes));
}

std::span<const OnnxRow> onnxTable() {
  static const std::vector<OnnxRow> kTable = joinFamilies();
  return kTable;
}

const OnnxRow* findReader(std::string_view type) {
  auto table = onnxTable();
  auto it = std::find_if(table.begin(), table.end(), [&](const OnnxRow& r) { return r.read && r.type == type; });
  return it == table.end() ? nullptr : &*it;
}

namespace {

const OnnxRow* findRow(std::string_view op, bool ofIntegers) {
  auto table = onnxTable();
  auto it = std::find_if(table.begin(), table.end(),
                         [&](const OnnxRow& r) { return r.write && r.op == op && r.ofIntegers == ofIntegers; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

const OnnxRow* findWriter(std::string_view op) {
  return findRow(op, false);
}

void writeNode(NodeSink& sink,
               const Program& program,
               int node,
               std::vector<std::string> operands,
               std::vector<std::string> outputs) {
  const std::string_view op = program.nodes()[static_cast<size_t>(node)].op->name;
  const OnnxRow* row = isComputed(sink.element()) ? nullptr : findRow(op, true);
  if (!row) row = findWriter(op);
  if (row && row->since <= sink.opset()) {
    row->write(Emission(sink, program, node, std::move(operands), std::move(outputs)), *row);
  } else if (auto pieces = rewrite::piecesOf(program, node)) {
    writePieces(sink, *pieces, operands, outputs[0]);
  } else if (row) {
    throw NotEmitted{fmt::format("{} needs opset {}, the model has {}", op, row->since, sink.opset())};
  } else {
    throw NotEmitted{fmt::format("{} cannot be written as ONNX", op)};
  }
}

EmissionTrial tryEmission(const Program& replacement, int64_t opset, ElementType element, const OpenSizes& sizes) {
  Graph scratch;
  scratch.opset = opset;
  TakenNames taken;
  NodeSink sink(scratch, element, taken, sizes);
  auto constant = knownNodes(replacement);
  for (int i = 0; i < static_cast<int>(replacement.nodes().size()); ++i) {
    const Node& n = replacement.nodes()[static_cast<size_t>(i)];
    // Empty values never reach the model.
    if (constant[static_cast<size_t>(i)] || n.is(ops::kInput) || isEmpty(replacement.shape({i, 0}))) continue;
    std::vector<std::string> operands;
    for (Value v : n.operands)
      operands.push_back(replacement.name(v));
    try {
      writeNode(sink, replacement, i, std::move(operands), n.names);
    } catch (const NotEmitted& e) {
      return {e.reason};
    }
  }
  return {{}, sink.sizeSteps()};
}

std::optional<std::string> whyNotEmitted(const Program& replacement,
                                         int64_t opset,
                                         ElementType element,
                                         const OpenSizes& sizes) {
  return tryEmission(replacement, opset, element, sizes).whyNot;
}

}  // namespace pet
