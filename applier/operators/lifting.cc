#include "applier/operators/lifting.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "applier/view/element_types.h"
#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "rules/rewrite/idioms.h"

namespace pet {
namespace {

/// The shortest decimal that rounds to this float, which is what exporters and patterns mean.
double shortest(float f) {
  const std::string text = fmt::format("{}", f);
  double number = f;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::vector<Expr> exprs(const std::vector<int64_t>& list) {
  return {list.begin(), list.end()};
}

std::vector<Expr> affine(const Shape& extents) {
  std::vector<Expr> list;
  for (const Dim& d : extents) {
    if (!d.isAffine()) Lifting::refuse("an extent that is a product of open ones");
    list.push_back(d.affine());
  }
  return list;
}

std::string Lifting::whyNotInView(const std::string& name) const {
  auto it = scope_.inference->types.find(name);
  const bool known = it != scope_.inference->types.end() && it->second.kind == InferredType::Kind::kTensor;
  if (!known || it->second.element == ElementType::kUnknown) return "no tensor of a known type";
  if (!isMoved(it->second.element)) return fmt::format("of {}", str(it->second.element));
  return it->second.dims ? "a size that the model computes" : "a tensor of unknown rank";
}

Value Lifting::operand(size_t i) const {
  if (!has(i)) refuse(fmt::format("operand {} is missing", i));
  auto it = scope_.values.find(node_.inputs[i]);
  if (it == scope_.values.end()) refuse(fmt::format("'{}' is {}", node_.inputs[i], whyNotInView(node_.inputs[i])));
  const OpRow* op = findOp(node_.type);
  const bool moves = isQuantized(node_) || (op && movesValues(*op));
  if (!moves && builder_.zeroPoint(it->second)) refuse("integers with a zero point that it does not take");
  return it->second;
}

const Constant* Lifting::findConstant(size_t i) const {
  auto it = has(i) ? scope_.constants.find(node_.inputs[i]) : scope_.constants.end();
  return it == scope_.constants.end() ? nullptr : &it->second;
}

std::vector<int64_t> Lifting::integers(size_t i) const {
  const Constant* c = findConstant(i);
  auto values = c ? c->integers() : std::nullopt;
  if (!values) refuse(fmt::format("operand {} is not a constant of integers", i));
  return *values;
}

std::vector<double> Lifting::numbers(size_t i) const {
  const Constant* c = findConstant(i);
  auto values = c ? c->numbers() : std::nullopt;
  if (!values) refuse(fmt::format("operand {} is not a constant of floats", i));
  return *values;
}

Extents Lifting::constantExtents(size_t i) const {
  const Constant* c = findConstant(i);
  if (!c) refuse(fmt::format("operand {} is not a constant", i));
  return c->extents;
}

const GraphAttribute* Lifting::find(std::string_view name) const {
  auto it = node_.attributes.find(name);
  return it == node_.attributes.end() ? nullptr : &it->second;
}

int64_t Lifting::integer(std::string_view name, int64_t fallback) const {
  const auto* a = find(name);
  if (!a) return fallback;
  if (const auto* i = std::get_if<int64_t>(a)) return *i;
  refuse(fmt::format("attribute '{}' is not an integer", name));
}

double Lifting::number(std::string_view name, double fallback) const {
  const auto* a = find(name);
  if (!a) return fallback;
  if (const auto* f = std::get_if<float>(a)) return shortest(*f);
  refuse(fmt::format("attribute '{}' is not a number", name));
}

std::string Lifting::text(std::string_view name, std::string_view fallback) const {
  const auto* a = find(name);
  if (!a) return std::string(fallback);
  if (const auto* s = std::get_if<std::string>(a)) return *s;
  refuse(fmt::format("attribute '{}' is not a string", name));
}

std::optional<std::vector<int64_t>> Lifting::integers(std::string_view name) const {
  const auto* a = find(name);
  if (!a) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<int64_t>>(a)) return *list;
  refuse(fmt::format("attribute '{}' is not a list of integers", name));
}

std::vector<int64_t> Lifting::integers(std::string_view name, std::vector<int64_t> fallback) const {
  auto list = integers(name);
  return list ? *list : std::move(fallback);
}

std::optional<std::vector<double>> Lifting::floats(std::string_view name) const {
  const auto* a = find(name);
  if (!a) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<float>>(a)) return std::vector<double>(list->begin(), list->end());
  refuse(fmt::format("attribute '{}' is not a list of numbers", name));
}

int64_t Lifting::integer(const OnnxAttribute& a) const {
  if (const auto* fallback = std::get_if<int64_t>(&a.fallback)) return integer(a.name, *fallback);
  if (!find(a.name)) refuse(fmt::format("no {}", a.name));
  return integer(a.name, 0);
}

double Lifting::number(const OnnxAttribute& a) const {
  const double fallback = std::get<double>(a.fallback);
  if (!a.isOperand(opset_)) return number(a.name, fallback);
  auto i = static_cast<size_t>(a.operand);
  if (!has(i)) return fallback;
  const Constant* c = findConstant(i);
  const auto whole = c ? c->integers() : std::nullopt;
  return whole ? static_cast<double>(whole->at(0)) : numbers(i).at(0);
}

std::optional<std::vector<int64_t>> Lifting::given(const OnnxAttribute& a) const {
  if (!a.isOperand(opset_)) return integers(a.name);
  auto i = static_cast<size_t>(a.operand);
  return has(i) ? std::optional(integers(i)) : std::nullopt;
}

std::vector<int64_t> Lifting::list(const OnnxAttribute& a, size_t rank) const {
  const auto* each = std::get_if<PerDimension>(&a.fallback);
  if (!each && a.isOperand(opset_)) return integers(static_cast<size_t>(a.operand));
  if (auto values = given(a)) return *values;
  if (!each) refuse(fmt::format("no {}", a.name));
  return std::vector<int64_t>(rank < 2 ? 0 : static_cast<size_t>(each->times) * (rank - 2), each->value);
}

size_t Lifting::axis(int64_t axis, size_t rank) const {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) refuse(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::string Lifting::freshName() const {
  std::string owner = node_.outputs.empty() ? node_.name : node_.outputs[0];
  return builder_.unique(fmt::format("{}:{}", owner, added_++));
}

/// Where the nodes of normal forms go.
class Lifting::Builder final : public rewrite::NormalFormBuilder {
 public:
  explicit Builder(const Lifting& lifting) : lifting_(lifting) {}
  Value node(const OpRow& op, std::vector<Value> operands, Attributes attributes) override {
    return lifting_.node(op, std::move(operands), std::move(attributes));
  }
  Value scalar(double value, Value like) override { return lifting_.constant(Tensor<double>({}, {value}), like); }
  const Program& program() const override { return lifting_.builder_.program(); }
  bool isConstant(Value value) const override { return lifting_.builder_.isConstant(value); }
  bool isReadOnce(Value value) const override {
    const std::string* name = lifting_.builder_.nameOf(value);
    auto readers = name ? lifting_.scope_.readers.find(*name) : lifting_.scope_.readers.end();
    return readers == lifting_.scope_.readers.end() || readers->second == 1;
  }
  std::optional<Number> number(Value value) const override {
    auto number = lifting_.builder_.number(value);
    if (!number) return std::nullopt;
    return Number{shortest(static_cast<float>(*number)), unitRoundoff(lifting_.element(value))};
  }

 private:
  const Lifting& lifting_;
};

/// Of the nodes that compute with integers those are in the view that multiply and sum, or take such sums.
bool Lifting::takesSums() const {
  return isQuantized(node_) || std::any_of(node_.inputs.begin(), node_.inputs.end(), [&](const std::string& name) {
           auto it = scope_.values.find(name);
           return it != scope_.values.end() && builder_.isSum(it->second);
         });
}

/// What the node moves into one tensor the model keeps in one way.
void Lifting::requireOneStorage(std::span<const Value> operands) const {
  for (Value v : operands) {
    if (element(v) != element(operands[0]) || builder_.zeroPoint(v) != builder_.zeroPoint(operands[0]))
      refuse("operands of different element types");
  }
}

Value Lifting::node(const OpRow& op, std::vector<Value> operands, Attributes attributes) const {
  const bool choosesByTruth = op.is(ops::kWhere) && isTruth(builder_.program(), operands[0]);
  if (movesValues(op)) requireOneStorage(std::span(operands).subspan(choosesByTruth ? 1 : 0));
  const bool negates = op.is(ops::kNot) && isTruth(builder_.program(), operands[0]);
  const bool computes =
      !movesValues(op) && !negates && !takesIndices(op) && !operands.empty() && !isComputed(element(operands[0]));
  if (computes && !takesSums())
    refuse(fmt::format("{} computes, and {} is no floating point", op.name, str(element(operands[0]))));
  auto v = builder_.add(op, std::move(operands), std::move(attributes), {freshName()}, {.origin = position_});
  if (!v) refuse(v.error().message());
  for (const Dim& d : builder_.program().shape(*v)) {
    if (d.asConstant().value_or(0) < 0)
      refuse(fmt::format("{} would have the extents {}", op.name, str(builder_.program().shape(*v))));
  }
  return *v;
}

std::optional<Value> Lifting::truth(size_t i) const {
  auto it = has(i) ? scope_.values.find(node_.inputs[i]) : scope_.values.end();
  const bool is = it != scope_.values.end() && isTruth(builder_.program(), it->second);
  return is ? std::optional(it->second) : std::nullopt;
}

Value Lifting::centred(size_t i, size_t zeroPoint, size_t dimension) const {
  const Value stored = operand(i);
  const auto known = builder_.zeroPoint(stored);
  if (!has(zeroPoint) && !known) return stored;
  Value zero = operand(zeroPoint);
  if (known == zero) return stored;
  if (known) refuse("integers with another zero point");
  const Constant* constant = findConstant(zeroPoint);
  const auto numbers = constant ? constant->integers() : std::nullopt;
  if (numbers && std::all_of(numbers->begin(), numbers->end(), [](int64_t z) { return z == 0; })) return stored;
  const auto count = asConstants(shape(zero));
  if (!count || elementCount(*count) != 1) {
    const bool differs = !builder_.isConstant(stored) || !builder_.isConstant(zero) || dimension >= rank(stored);
    if (differs) refuse("zero points that differ");
    Shape along(rank(stored) - dimension, 1);
    along[0] = shape(stored)[dimension];
    if (rank(zero) == 1) zero = reshape(zero, along);
  }
  auto v = builder_.centred(stored, zero, freshName(), position_);
  if (!v) refuse(v.error().message());
  if (shape(*v) != shape(stored)) refuse("zero points of other extents");
  return *v;
}

Value Lifting::add(std::string_view op, std::vector<Value> operands, Attributes attributes) const {
  const OpRow* row = findOp(op);
  if (!row) refuse(fmt::format("no operator {}", op));
  Builder builder(*this);
  const bool isReadAway = rewrite::isReadAway(op);
  ReadAway read{row, {}, {}, {}, {}};
  if (isReadAway) read.operands = operands, read.attributes = attributes;
  const std::vector<Value> factors = row->is(ops::kMul) ? operands : std::vector<Value>();
  const auto first = static_cast<int>(builder_.program().nodes().size());
  const Value v = rewrite::addNormalForm(builder, *row, std::move(operands), std::move(attributes));
  const auto whole = rewrite::recognised(builder, v);
  if (whole) builder_.standsForPieces(*whole, v);
  const Value result = whole.value_or(v);
  if (isReadAway) {
    read.nodes.resize(builder_.program().nodes().size() - static_cast<size_t>(first));
    std::iota(read.nodes.begin(), read.nodes.end(), first);
    read.result = result;
    builder_.replaces(std::move(read));
  }
  for (Value factor : factors) {
    if (const ReadAway* product = builder_.readAwayTo(factor)) scaleReadAway(*product, result);
  }
  return result;
}

void Lifting::scaleReadAway(const ReadAway& product, Value scaled) const {
  const auto &was = builder_.program().node(product.result), &is = builder_.program().node(scaled);
  if (!was.is(ops::kMatMul) || !is.is(ops::kMatMul) || was.operands[1] != is.operands[1]) return;
  const Value of = was.operands[0], by = is.operands[0];
  if (shape(of) != shape(by) || std::count(product.operands.begin(), product.operands.end(), of) != 1) return;
  ReadAway read = product;
  std::replace(read.operands.begin(), read.operands.end(), of, by);
  std::replace(read.nodes.begin(), read.nodes.end(), product.result.node, scaled.node);
  std::sort(read.nodes.begin(), read.nodes.end());
  read.result = scaled;
  builder_.replaces(std::move(read));
}

Tensor<double> Lifting::valueOf(Value constant) const {
  auto value = builder_.evaluated(constant);
  if (!value) refuse(value.error().message());
  return value->values<double>();
}

std::vector<Value> Lifting::operandsOf(Value v, OpName op) const {
  const Node& n = builder_.program().node(v);
  return n.is(op) ? n.operands : std::vector<Value>();
}

Extents Lifting::extents(Value v) const {
  auto extents = asConstants(shape(v));
  if (!extents) refuse(fmt::format("extents {} that the model leaves open", str(shape(v))));
  return *extents;
}

bool Lifting::isAtLeast(const Dim& extent, int64_t n) const {
  return extent.isAffine() && scope_.sizes->implies(Constraint::le(n, extent.affine()));
}

ElementType Lifting::inferredElement(size_t output) const {
  auto it = scope_.inference->types.find(node_.outputs.at(output));
  return it == scope_.inference->types.end() ? ElementType::kUnknown : it->second.element;
}

const Shape& Lifting::inferredShape(size_t output) const {
  auto it = scope_.inference->types.find(node_.outputs.at(output));
  if (it == scope_.inference->types.end() || !it->second.dims) refuse("extents that are not known");
  return *it->second.dims;
}

Value Lifting::reshape(Value x, const Shape& to) const {
  const Node& n = builder_.program().node(x);
  if (n.is(ops::kLayout) && movesNothing(n) && shape(n.operands[0]) == to) return n.operands[0];
  Builder builder(*this);
  if (auto layout = rewrite::regrouped(builder, x, to)) return *layout;
  const Extents from = extents(x);
  auto extents = asConstants(to);
  if (!extents || elementCount(from) != elementCount(*extents))
    refuse(fmt::format("{} does not fit into {}", str(shape(x)), str(to)));
  return add("Reshape", {x}, {{"shape", exprs(*extents)}});
}

Value Lifting::constant(const Tensor<double>& tensor, Value like) const {
  return constant(tensor, builder_.element(like));
}

Value Lifting::constant(const Tensor<double>& tensor, ElementType element) const {
  return builder_.constant(freshName(), Constant::rounded(element, tensor));
}

Value Lifting::identity(const Expr& extent, ElementType element) const {
  auto v =
      builder_.add(*findOp(ops::kEye.text), {}, {{"extent", extent}}, {freshName()}, {.origin = position_}, element);
  if (!v) refuse(v.error().message());
  return *v;
}

Value Lifting::asNumbers(Value condition, ElementType to) const {
  return add("Where", {condition, constant({{}, {1}}, to), constant({{}, {0}}, to)});
}

std::optional<Value> Lifting::conditionOf(Value numbers) const {
  const std::vector<Value> chosen = operandsOf(numbers, ops::kWhere);
  if (chosen.empty() || !isTruth(builder_.program(), chosen[0])) return std::nullopt;
  auto is = [&](Value v, double number) { return isConstant(v) && rank(v) == 0 && valueOf(v).data[0] == number; };
  return is(chosen[1], 1) && is(chosen[2], 0) ? std::optional(chosen[0]) : std::nullopt;
}

}  // namespace pet
