#include "applier/read/fold_constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "applier/operators/onnx_rows.h"
#include "applier/read/fold_positions.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/kernels/broadcast.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;
constexpr double kLargestInteger = 0x1p53;

const Constant* constantOf(const GraphNode& node, size_t i, const Scope& scope) {
  auto it = i < node.inputs.size() ? scope.constants.find(node.inputs[i]) : scope.constants.end();
  return it == scope.constants.end() ? nullptr : &it->second;
}

const InferredType* typeOf(const std::string& name, const Scope& scope) {
  auto it = scope.inference->types.find(name);
  bool known = it != scope.inference->types.end() && it->second.kind == InferredType::Kind::kTensor;
  return known ? &it->second : nullptr;
}

template <class T>
std::string bytesOf(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto value = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

/// The types of integers and truth values that constants are made of.
bool isFolded(ElementType element) {
  return element == ElementType::kInt64 || element == ElementType::kInt32 || element == ElementType::kBool;
}

/// The numbers as a tensor of the element type. Nullopt: they do not fit, or another type.
std::optional<Constant> stored(ElementType element, const Tensor<double>& x) {
  if (isComputed(element)) return Constant::rounded(element, x);
  if (!isFolded(element)) return std::nullopt;
  const double largest = element == ElementType::kInt32 ? INT32_MAX : kLargestInteger;
  const bool fit = std::all_of(x.data.begin(), x.data.end(), [&](double v) {
    return std::abs(v) <= largest && static_cast<double>(static_cast<int64_t>(v)) == v;
  });
  if (!fit) return std::nullopt;
  if (element == ElementType::kInt64) return Constant{element, x.extents, bytesOf<int64_t>(x.data)};
  if (element == ElementType::kInt32) return Constant{element, x.extents, bytesOf<int32_t>(x.data)};
  return Constant{element, x.extents, bytesOf<bool>(x.data)};
}

std::optional<Tensor<double>> numbersOf(const Constant& c) {
  if (auto floats = c.numbers()) return Tensor<double>(c.extents, std::move(*floats));
  auto integers = c.integers();
  if (!integers) return std::nullopt;
  return Tensor<double>(c.extents, {integers->begin(), integers->end()});
}

std::optional<Constant> constantNode(const GraphNode& node) {
  for (const auto& [name, value] : node.attributes) {
    if (const auto* c = std::get_if<Constant>(&value)) return c->bytes ? std::optional(*c) : std::nullopt;
    if (const auto* i = std::get_if<int64_t>(&value)) return Constant::of(Tensor<int64_t>({}, {*i}));
    if (const auto* f = std::get_if<float>(&value)) return Constant::of(Tensor<float>({}, {*f}));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      return Constant::of(Tensor<int64_t>({std::ssize(*list)}, *list));
    if (const auto* list = std::get_if<std::vector<float>>(&value))
      return Constant::of(Tensor<float>({std::ssize(*list)}, *list));
  }
  return std::nullopt;
}

/// What the inference knows, where that is all.
std::optional<Constant> inferredConstant(const InferredType& type) {
  auto extents = type.extents();
  if (!extents || !type.data) return std::nullopt;
  Tensor<double> numbers(*extents);
  Tensor<int64_t> integers(*extents);
  for (size_t i = 0; i < type.data->size(); ++i) {
    const SizeEntry& entry = (*type.data)[i];
    if (const auto* d = std::get_if<Dim>(&entry); d && d->asConstant()) {
      integers.data[i] = *d->asConstant();
      numbers.data[i] = static_cast<double>(integers.data[i]);
    } else if (const auto* x = std::get_if<double>(&entry); x && type.element != ElementType::kInt64) {
      numbers.data[i] = *x;
    } else {
      return std::nullopt;
    }
  }
  // Exact beyond double's integers, too: a Slice's end is often the largest one.
  return type.element == ElementType::kInt64 ? Constant::of(integers) : stored(type.element, numbers);
}

// --- Number by number ---

struct Binary {
  std::string_view type;
  double (*of)(double, double);
  bool integersToo = true;  ///< the same of integers
};

double truncatedQuotient(double a, double b) {
  return std::trunc(a / b);
}

constexpr Binary kBinary[] = {
    {"Add", [](double a, double b) { return a + b; }},
    {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {"Div", [](double a, double b) { return a / b; }, false},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"Max", [](double a, double b) { return std::max(a, b); }},
    {"Min", [](double a, double b) { return std::min(a, b); }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Xor", [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }},
};

struct Unary {
  std::string_view type;
  double (*of)(double);
};

constexpr Unary kUnary[] = {
    {"Abs", [](double x) { return std::abs(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"IsNaN", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
    {"Log", [](double x) { return std::log(x); }},
    {"Neg", [](double x) { return -x; }},
    {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
};

template <class Row>
const Row* findRow(std::span<const Row> rows, std::string_view type) {
  auto it = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.type == type; });
  return it == rows.end() ? nullptr : &*it;
}

Tensor<double> combined(const Tensor<double>& a,
                        const Tensor<double>& b,
                        const Extents& to,
                        double (*of)(double, double)) {
  kernels::Broadcast<double> left(a, to), right(b, to);
  Tensor<double> y(to);
  std::transform(left.begin(), left.end(), right.begin(), y.data.begin(), of);
  return y;
}

/// A number cast to the element type. Nullopt: beyond it.
std::optional<double> cast(double x, ElementType to) {
  if (to == ElementType::kBool) return x != 0 ? 1.0 : 0.0;
  if (isComputed(to)) return roundedTo(to, x);
  return std::isfinite(x) ? std::optional(std::trunc(x)) : std::nullopt;
}

class Computation {
 public:
  Computation(const GraphNode& node, int64_t opset, const Scope& scope, Extents extents, ElementType element)
      : node_(node), opset_(opset), scope_(scope), extents_(std::move(extents)), element_(element) {}

  /// Nullopt: it is none of these, or the numbers do not fit.
  std::optional<Constant> run() {
    if (auto value = moved()) return value->extents == extents_ ? value : std::nullopt;
    auto numbers = computed();
    return numbers && numbers->extents == extents_ ? stored(element_, *numbers) : std::nullopt;
  }

 private:
  std::optional<Tensor<double>> computed() {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      auto numbers = node_.inputs[i].empty() ? std::nullopt : numbersOf(*constantOf(node_, i, scope_));
      if (!numbers && !node_.inputs[i].empty()) return std::nullopt;
      operands_.push_back(numbers ? std::move(*numbers) : Tensor<double>());
    }
    if (node_.type == "Cast") return casted();
    if (node_.type == "Where" && operands_.size() == 3) return chosen();
    if (const Unary* f = findRow<Unary>(kUnary, node_.type); f && operands_.size() == 1) {
      std::transform(operands_[0].data.begin(), operands_[0].data.end(), operands_[0].data.begin(), f->of);
      return std::move(operands_[0]);
    }
    if (const Binary* f = findRow<Binary>(kBinary, node_.type); f && !operands_.empty()) return folded(*f);
    if (node_.type == "Range" && operands_.size() == 3) return range();
    return computedByPosition(node_, operands_, extents_);
  }

  std::optional<Tensor<double>> casted() {
    for (double& x : operands_.at(0).data) {
      auto to = cast(x, element_);
      if (!to) return std::nullopt;
      x = *to;
    }
    return std::move(operands_[0]);
  }

  Tensor<double> chosen() {
    kernels::Broadcast<double> condition(operands_[0], extents_), then(operands_[1], extents_),
        otherwise(operands_[2], extents_);
    Tensor<double> y(extents_);
    for (size_t i = 0; i < y.data.size(); ++i)
      y.data[i] = condition.begin()[i] != 0 ? then.begin()[i] : otherwise.begin()[i];
    return y;
  }

  std::optional<Tensor<double>> folded(const Binary& f) {
    const bool integers = !isComputed(constantOf(node_, 0, scope_)->element);
    const auto& divisor = operands_.back().data;
    bool byZero = node_.type == "Div" && std::find(divisor.begin(), divisor.end(), 0.0) != divisor.end();
    if (integers && byZero) return std::nullopt;
    Tensor<double> y = std::move(operands_[0]);
    if (operands_.size() == 1) return y;
    for (size_t i = 1; i < operands_.size(); ++i)
      y = combined(y, operands_[i], extents_, integers && !f.integersToo ? truncatedQuotient : f.of);
    return y;
  }

  Tensor<double> range() {
    Tensor<double> y(extents_);
    for (size_t i = 0; i < y.data.size(); ++i)
      y.data[i] = operands_[0].data.at(0) + static_cast<double>(i) * operands_[2].data.at(0);
    return y;
  }

  /// By the operator's row, in the constants' own type. Nullopt: an operator that does more than move.
  std::optional<Constant> moved() {
    const OnnxRow* row = findReader(node_.type);
    const OpRow* op = row && !row->op.empty() ? findOp(row->op) : nullptr;
    if (!op || !op->layout || !(isComputed(element_) || isFolded(element_))) return std::nullopt;
    ViewBuilder builder;
    Scope scope{scope_.inference, scope_.sizes, &builder, {}, {}};
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i].empty()) continue;
      const Constant& operand = *constantOf(node_, i, scope_);
      scope.constants[node_.inputs[i]] = operand;
      scope.values[node_.inputs[i]] = builder.constant(node_.inputs[i], operand);
    }
    std::vector<Value> results = row->read(Lifting(node_, 0, opset_, scope, builder), *row);
    const View view = std::move(builder).finish({results.at(0)});
    auto value = ConstantEvaluator(view).value(results[0]);
    return value ? std::optional(std::move(*value)) : std::nullopt;
  }

  const GraphNode& node_;
  int64_t opset_;
  const Scope& scope_;
  Extents extents_;
  ElementType element_;
  std::vector<Tensor<double>> operands_;
};

}  // namespace

std::optional<std::vector<Constant>> knownConstants(const GraphNode& node, const Scope& scope) {
  auto single = [](std::optional<Constant> c) { return c ? std::optional(std::vector{std::move(*c)}) : std::nullopt; };
  if (node.type == "Constant") return single(constantNode(node));
  if (node.type == "Identity") {
    const Constant* c = constantOf(node, 0, scope);
    return single(c ? std::optional(*c) : std::nullopt);
  }
  std::vector<Constant> results;
  for (const std::string& name : node.outputs) {
    const InferredType* type = typeOf(name, scope);
    auto constant = type ? inferredConstant(*type) : std::nullopt;
    if (!constant) return std::nullopt;
    results.push_back(std::move(*constant));
  }
  return results.empty() ? std::nullopt : std::optional(std::move(results));
}

std::optional<Constant> computedConstant(const GraphNode& node, int64_t opset, const Scope& scope) {
  const InferredType* type = node.outputs.size() == 1 ? typeOf(node.outputs[0], scope) : nullptr;
  auto extents = type ? type->extents() : std::nullopt;
  if (!node.standard || node.inputs.empty() || !extents || elementCount(*extents) > kMostElements) return std::nullopt;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Constant* c = constantOf(node, i, scope);
    if (!node.inputs[i].empty() && (!c || !c->bytes)) return std::nullopt;
  }
  try {
    return Computation(node, opset, scope, *extents, type->element).run();
  } catch (const NotLifted&) {
    return std::nullopt;
  }
}

}  // namespace pet
