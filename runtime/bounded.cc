#include "runtime/bounded.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>

#include "ir/ops/kernels/broadcast.h"
#include "runtime/rounding.h"

namespace pet {
namespace {

/// Errors of one tensor, in units of u; null where all are 0.
using Errors = std::shared_ptr<Tensor<float>>;

/// In float, rounded up: never 0 for what is not, infinite beyond the range.
float upwards(double x) {
  if (x == 0) return 0;
  auto up = static_cast<float>(x * (1 + 0x1p-20));
  return std::max(up, FLT_MIN);  // NaN stays NaN
}

template <class T>
constexpr double unitOf() {
  return std::numeric_limits<T>::epsilon() / 2;
}

/// The number has no rounding error in T.
template <class T>
bool isRepresentable(double number) {
  return static_cast<double>(static_cast<T>(number)) == number;
}

/// What an operator sees of an operand: its values, and its errors.
template <class T>
struct Operand {
  const Tensor<T>* value;
  Errors error;

  Approximate at(size_t i) const {
    double e = error ? static_cast<double>(error->data[i]) * unitOf<T>() : 0;
    return {static_cast<double>(value->data[i]), e};
  }
  Approximates approximates() const {
    Approximates result(value->extents);
    for (size_t i = 0; i < result.data.size(); ++i)
      result.data[i] = at(i);
    return result;
  }
  /// a · |value| + b · error, in units of u.
  Tensor<float> combined(double a, double b) const {
    Tensor<float> result(value->extents);
    for (size_t i = 0; i < result.data.size(); ++i) {
      double e = error ? b * static_cast<double>(error->data[i]) : 0;
      result.data[i] = upwards(e + (a == 0 ? 0 : a * std::abs(static_cast<double>(value->data[i]))));
    }
    return result;
  }
};

/// An operand as it is broadcast to an element-wise operator's result.
template <class T>
class BroadcastOperand {
 public:
  BroadcastOperand(const Operand<T>& operand, const Extents& to) : values_(*operand.value, to) {
    if (operand.error) errors_.emplace(*operand.error, to);
  }
  Approximate at(size_t i) const {
    double error = errors_ ? static_cast<double>(errors_->begin()[i]) * unitOf<T>() : 0;
    return {static_cast<double>(values_.begin()[i]), error};
  }

 private:
  kernels::Broadcast<T> values_;
  std::optional<kernels::Broadcast<float>> errors_;
};

/// One node's errors from those of its operands.
template <class T>
class NodeErrors {
 public:
  NodeErrors(const NodeExtents& n, std::vector<Operand<T>> operands, const std::vector<Tensor<T>>& results)
      : n_(n), row_(n.node.op->rounding), operands_(std::move(operands)), results_(results) {}

  /// Exact values move, or the largest is taken: nothing is rounded, but a fill that T does not have.
  bool areExact() const {
    bool moves = row_.arithmetic == Arithmetic::kMove || row_.arithmetic == Arithmetic::kSelect;
    auto fill = n_.node.attributes.find("value");
    bool exactFill = fill == n_.node.attributes.end() || isRepresentable<T>(n_.concrete.number("value"));
    return moves && exactFill &&
           std::none_of(operands_.begin(), operands_.end(), [](const auto& o) { return o.error; });
  }

  /// One tensor for each output.
  Expected<std::vector<Tensor<float>>> get() const {
    if (row_.elements) return std::vector{elementwise()};
    if (row_.tensor) return std::vector{asTensor(tensorErrors())};
    switch (row_.arithmetic) {
      case Arithmetic::kConstant:
        return std::vector{constant()};
      case Arithmetic::kMove:
      case Arithmetic::kSelect:
        return moved();
      case Arithmetic::kMean:
        return sums(termsOf(row_, n_) + 1);
      default:
        return sums(termsOf(row_, n_));
    }
  }

 private:
  Tensor<float> asTensor(const std::vector<double>& errors) const {
    Tensor<float> result(n_.concrete.outputs[0]);
    std::transform(errors.begin(), errors.end(), result.data.begin(), inUnits);
    return result;
  }

  static float inUnits(double error) { return upwards(error / unitOf<T>()); }

  Tensor<float> elementwise() const {
    ElementError error = row_.elements(n_, unitOf<T>());
    std::vector<std::unique_ptr<BroadcastOperand<T>>> operands;
    for (const Operand<T>& o : operands_)
      operands.push_back(std::make_unique<BroadcastOperand<T>>(o, n_.concrete.outputs[0]));
    Tensor<float> result(n_.concrete.outputs[0]);
    std::vector<Approximate> at(operands.size());
    for (size_t i = 0; i < result.data.size(); ++i) {
      for (size_t o = 0; o < at.size(); ++o)
        at[o] = operands[o]->at(i);
      result.data[i] = inUnits(error(at.data()));
    }
    return result;
  }

  std::vector<double> tensorErrors() const {
    std::vector<Approximates> approximates;
    for (const Operand<T>& o : operands_)
      approximates.push_back(o.approximates());
    return row_.tensor(n_, approximates, unitOf<T>());
  }

  /// Numbers that T does not have are rounded once, entries of a table are, and their quotient is: 4 in all.
  Tensor<float> constant() const {
    Tensor<float> result(n_.concrete.outputs[0]);
    const bool isTable = n_.node.is(ops::kTable);
    if (!isTable && (!n_.node.is(ops::kConstant) || isRepresentable<T>(n_.concrete.number("value")))) return result;
    const Extents entries = isTable ? n_.concrete.list("values") : Extents{};
    for (size_t i = 0; i < result.data.size(); ++i) {
      bool isWhole = isTable && entries[i] % n_.concrete.scalar("denominator") == 0 && std::abs(entries[i]) < 1 << 20;
      result.data[i] = isWhole ? 0 : upwards(4 * std::abs(static_cast<double>(results_[0].data[i])));
    }
    return result;
  }

  /// The operator itself, on errors: where values move errors do, and the error of a maximum is at most the largest.
  Expected<std::vector<Tensor<float>>> moved() const {
    std::vector<Tensor<float>> errors;
    for (const Operand<T>& o : operands_)
      errors.push_back(o.combined(0, 1));
    auto result = onErrors(errors);
    if (!result) return result;
    for (Tensor<float>& t : *result) {
      for (float& x : t.data)
        x = std::abs(x);  // Neg
    }
    return result;
  }

  /// γ_n·|a||b| of its own, and |a|·δb + δa·|b| + δa·δb from its operands, summed by the operator itself. Of two
  /// operands that both have errors, with g = γ_n / u: (g|a| + δa)(|b| + u·δb) + |a|·δb.
  Expected<std::vector<Tensor<float>>> sums(int64_t terms) const {
    constexpr int64_t kScaling = 4;  ///< Gemm's factors, a weight that is rounded itself
    const double own = gammaOf<T>(terms + kScaling) / unitOf<T>();
    std::vector<Tensor<float>> first;
    bool second = operands_.size() > 1 && operands_[0].error && operands_[1].error;
    bool onSecond = operands_.size() > 1 && !operands_[0].error && operands_[1].error;
    for (size_t o = 0; o < operands_.size(); ++o) {
      bool carries = o == (onSecond ? 1U : 0U);
      first.push_back(carries || o > 1 ? operands_[o].combined(own, 1)
                                       : operands_[o].combined(1, second ? unitOf<T>() : 0));
    }
    auto result = onErrors(first);
    if (result && second) {
      auto rest = onErrors({operands_[0].combined(1, 0), operands_[1].combined(0, 1)});
      if (!rest) return rest;
      for (size_t i = 0; i < (*result)[0].data.size(); ++i)
        (*result)[0].data[i] += (*rest)[0].data[i];
    }
    if (result) pad((*result)[0], terms);
    return result;
  }

  /// Covers the rounding of the sums of errors themselves, in float, and underflow of the products (a sum of nothing
  /// but zeros has none). NaN is 0 times what has no bound, or comes from an operand that has no value.
  void pad(Tensor<float>& errors, int64_t terms) const {
    auto slack = static_cast<float>(1 / (1 - std::min(1.0, gammaOf<float>(2 * terms + 8))));
    const float none =
        hasUnbounded() ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    for (float& x : errors.data) {
      if (std::isnan(x)) {
        x = none;
      } else if (x != 0 || operands_.size() > 1) {
        x = x * slack + FLT_MIN;
      }
    }
  }

  bool hasUnbounded() const {
    return std::any_of(operands_.begin(), operands_.end(), [](const Operand<T>& o) {
      auto infinite = [](auto x) { return std::isinf(x); };
      return std::any_of(o.value->data.begin(), o.value->data.end(), infinite) ||
             (o.error && std::any_of(o.error->data.begin(), o.error->data.end(), infinite));
    });
  }

  Expected<std::vector<Tensor<float>>> onErrors(const std::vector<Tensor<float>>& operands) const {
    Attributes attributes = n_.node.attributes;
    for (auto& [name, attribute] : attributes) {
      auto* number = std::get_if<double>(&attribute);
      if (number && name == "value") *number = isRepresentable<T>(*number) ? 0 : std::abs(*number);  // Pad
      if (number && (name == "alpha" || name == "beta")) *number = std::abs(*number);                // Gemm
    }
    std::vector<const Tensor<float>*> pointers;
    for (const Tensor<float>& t : operands)
      pointers.push_back(&t);
    ConcreteNode concrete{attributes, n_.concrete.symbols, n_.concrete.operands, n_.concrete.outputs};
    return n_.node.op->kernels.f32(concrete, pointers);
  }

  const NodeExtents& n_;
  const Rounding& row_;
  std::vector<Operand<T>> operands_;
  const std::vector<Tensor<T>>& results_;
};

template <class T>
class BoundedExecution {
 public:
  BoundedExecution(const Program& program, const Bindings& symbols)
      : program_(program), symbols_(symbols), reads_(countReads(program)), errors_(program.nodes().size()) {}

  Expected<Bounded<T>> run(const InputSource<T>& inputs) {
    NodeEvaluator<T> evaluator = [&](int index, const std::vector<const Tensor<T>*>& operands) {
      return evaluate(index, operands);
    };
    auto values = executeWith(program_, symbols_, inputs, evaluator);
    if (!values) return tl::unexpected(values.error());
    Bounded<T> result{std::move(*values), {}, undefined_};
    for (Value v : program_.outputs())
      result.errors.push_back(errorOf(v));
    return result;
  }

 private:
  Errors errorOf(Value v) const {
    const auto& of = errors_[static_cast<size_t>(v.node)];
    return of.empty() ? nullptr : of[static_cast<size_t>(v.output)];  // inputs are exact
  }

  Expected<std::vector<Tensor<T>>> evaluate(int index, const std::vector<const Tensor<T>*>& values) {
    auto results = evaluateNode(program_, index, symbols_, values);
    if (!results) return results;
    const Node& node = program_.nodes()[static_cast<size_t>(index)];
    if (node.op->rounding.arithmetic == Arithmetic::kUnknown)
      return fail(ErrorKind::kInternal, "nothing is known of its rounding", node.names[0]);
    std::vector<Operand<T>> operands;
    for (size_t o = 0; o < values.size(); ++o)
      operands.push_back({values[o], errorOf(node.operands[o])});
    NodeExtents n = nodeExtents(program_, node, symbols_);
    NodeErrors<T> rule(n, std::move(operands), *results);
    auto& entry = errors_[static_cast<size_t>(index)];
    if (rule.areExact()) {
      entry.resize(results->size());
    } else {
      auto errors = rule.get();
      if (!errors) return tl::unexpected(errors.error());
      for (Tensor<float>& e : *errors)
        entry.push_back(entered(std::move(e)));
    }
    for (Value v : node.operands) {
      if (--reads_[static_cast<size_t>(v.node)] == 0) errors_[static_cast<size_t>(v.node)].clear();
    }
    return results;
  }

  Errors entered(Tensor<float> errors) {
    bool exact = true;
    for (float e : errors.data) {
      exact &= e == 0;
      undefined_ |= std::isnan(e);
    }
    return exact ? nullptr : std::make_shared<Tensor<float>>(std::move(errors));
  }

  const Program& program_;
  const Bindings& symbols_;
  std::vector<int> reads_;
  std::vector<std::vector<Errors>> errors_;
  bool undefined_ = false;
};

}  // namespace

template <class T>
Expected<Bounded<T>> executeBounded(const Program& program, const Bindings& symbols, const InputSource<T>& inputs) {
  return BoundedExecution<T>(program, symbols).run(inputs);
}

template Expected<Bounded<float>> executeBounded<float>(const Program&, const Bindings&, const InputSource<float>&);
template Expected<Bounded<double>> executeBounded<double>(const Program&, const Bindings&, const InputSource<double>&);

}  // namespace pet
