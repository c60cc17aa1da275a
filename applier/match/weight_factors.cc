#include "applier/match/weight_factors.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/match/closed_values.h"
#include "applier/view/view.h"
#include "ir/evaluate.h"
#include "ir/layout_algebra.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// So many positions along each dimension are looked at first: most constants are no such product there already.
constexpr int64_t kCorner = 3;

/// Where the elements of a weight are found in the whole, and by what each is divided: empty, or an element of the
/// whole.
struct Places {
  std::vector<int64_t> at, dividedBy;
};

/// How far apart a factor's elements are, by dimension of the whole: 0 where it is the same along one.
using Strides = std::vector<int64_t>;

Strides stridesIn(const Extents& whole, const Extents& factor) {
  Strides strides(whole.size());
  const std::vector<int64_t> own = rowMajorStrides(factor);
  const size_t first = whole.size() - factor.size();
  for (size_t d = 0; d < factor.size(); ++d)
    strides[first + d] = factor[d] == 1 ? 0 : own[d];
  return strides;
}

int64_t offset(const Extents& digits, const Strides& strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < digits.size(); ++d)
    sum += digits[d] * strides[d];
  return sum;
}

template <class Visit>
void forEachPosition(const Extents& extents, const Visit& visit) {
  Extents digits(extents.size());
  const int64_t count = elementCount(extents);
  for (int64_t p = 0; p < count; ++p) {
    visit(p, digits);
    for (size_t d = extents.size(); d-- > 0 && ++digits[d] == extents[d];)
      digits[d] = 0;
  }
}

/// Which elements of a product give its factors. A factor's elements are those along its own dimensions, where the
/// others are as at a pivot: the element that is the least but 0, one for each position of the dimensions that several
/// factors have. All factors but the first are 1 at the pivot. (The least, since it divides others exactly if any does:
/// 1/16 of 15/16.)
class Separation {
 public:
  /// `mask`: the product of the factors that are known, 0 or 1.
  Separation(const Tensor<double>& whole, const std::vector<bool>& mask, const std::vector<Extents>& weights)
      : whole_(whole), mask_(mask), own_(rowMajorStrides(whole.extents)), owners_(whole.extents.size()) {
    for (const Extents& w : weights) {
      strides_.push_back(stridesIn(whole.extents, w));
      for (size_t d = 0; d < owners_.size(); ++d)
        owners_[d] += strides_.back()[d] != 0;
    }
    Extents shared = whole.extents;
    for (size_t d = 0; d < owners_.size(); ++d)
      shared[d] = owners_[d] > 1 ? shared[d] : 1;
    shared_ = stridesIn(whole.extents, shared);
    pivots_.assign(static_cast<size_t>(elementCount(shared)), -1);
  }

  /// Nullopt: some element of a weight stands nowhere.
  std::optional<std::vector<Places>> places(const std::vector<Extents>& weights) {
    findPivots();
    std::vector<Places> result;
    for (size_t w = 0; w < weights.size(); ++w) {
      result.push_back(placesOf(w, elementCount(weights[w])));
      const std::vector<int64_t>& at = result.back().at;
      if (std::find(at.begin(), at.end(), -1) != at.end()) return std::nullopt;
    }
    return result;
  }

 private:
  double sizeAt(int64_t p) const { return std::abs(whole_.data[static_cast<size_t>(p)]); }
  bool isHidden(int64_t p) const { return !mask_[static_cast<size_t>(p)]; }

  void findPivots() {
    forEachPosition(whole_.extents, [&](int64_t p, const Extents& digits) {
      int64_t& pivot = pivots_[static_cast<size_t>(offset(digits, shared_))];
      if (!isHidden(p) && sizeAt(p) > 0 && (pivot < 0 || sizeAt(p) < sizeAt(pivot))) pivot = p;
    });
  }

  /// At the pivot where the other weights have a dimension and this one has not.
  bool isAlong(size_t weight, const Extents& digits, int64_t pivot) const {
    for (size_t d = 0; d < digits.size(); ++d) {
      const bool isOthers = strides_[weight][d] == 0 && owners_[d] > 0;
      if (isOthers && digits[d] != pivot / own_[d] % whole_.extents[d]) return false;
    }
    return true;
  }

  Places placesOf(size_t weight, int64_t count) const {
    Places places{std::vector<int64_t>(static_cast<size_t>(count), -1), {}};
    if (weight > 0) places.dividedBy.resize(static_cast<size_t>(count));
    forEachPosition(whole_.extents, [&](int64_t p, const Extents& digits) {
      const auto element = static_cast<size_t>(offset(digits, strides_[weight]));
      if (isHidden(p) || places.at[element] >= 0) return;
      const int64_t found = pivots_[static_cast<size_t>(offset(digits, shared_))];
      const int64_t pivot = found < 0 ? p : found;
      if (!isAlong(weight, digits, pivot)) return;
      places.at[element] = p;
      if (weight > 0) places.dividedBy[element] = pivot;
    });
    return places;
  }

  const Tensor<double>& whole_;
  const std::vector<bool>& mask_;
  const std::vector<int64_t> own_;
  std::vector<Strides> strides_;  ///< of each weight
  std::vector<int> owners_;       ///< of each dimension: how many weights have it
  Strides shared_;
  std::vector<int64_t> pivots_;
};

/// Where parts stand that are joined along an axis.
std::vector<Places> placesOfParts(const Extents& whole, size_t axis, const std::vector<Extents>& parts) {
  const Strides strides = rowMajorStrides(whole);
  std::vector<Places> result;
  int64_t before = 0;
  for (const Extents& part : parts) {
    Places places;
    forEachPosition(part, [&](int64_t, const Extents& digits) {
      places.at.push_back(offset(digits, strides) + before * strides[axis]);
    });
    result.push_back(std::move(places));
    before += part[axis];
  }
  return result;
}

/// Elements of a constant's values in a row.
Value gathered(ProgramBuilder& builder, Value row, const std::vector<int64_t>& places) {
  return builder.add("Gather", {row}, {{"axis", Expr(0)}, {"indices", std::vector<Expr>(places.begin(), places.end())}})
      .value();
}

Value withExtents(ProgramBuilder& builder, Value x, const Extents& to, const std::string& name) {
  return builder.add(ops::kLayout.text, {x}, {{"layout", regroup(builder.shape(x), shapeOf(to)).value()}}, name)
      .value();
}

template <class T>
bool givesBack(const Program& expression, const Bindings& symbols, const Program& weights, const Constant& constant) {
  auto made = evaluate<T>(weights, {}, {{weights.name(weights.inputs()[0]), constant.values<T>()}});
  if (!made) return false;
  std::map<std::string, Tensor<T>> inputs;
  for (size_t i = 0; i < made->size(); ++i)
    inputs.emplace(weights.name(weights.outputs()[i]), std::move((*made)[i]));
  auto product = evaluate<T>(expression, symbols, inputs);
  return product &&
         Constant::rounded(constant.element, (*product)[0]).template values<T>().data == constant.values<T>().data;
}

Constant cornerOf(const Constant& constant, const Extents& extents) {
  const size_t size = elementSize(constant.element);
  const Strides strides = rowMajorStrides(constant.extents);
  std::string bytes;
  forEachPosition(extents, [&](int64_t, const Extents& digits) {
    bytes.append(constant.bytes->substr(static_cast<size_t>(offset(digits, strides)) * size, size));
  });
  return {constant.element, extents, std::move(bytes)};
}

}  // namespace

WeightFactors::WeightFactors(const Program& pattern, const ClosedValues& closed)
    : pattern_(pattern), closed_(closed), ends_(pattern.nodes().size()) {
  const std::vector<bool> constant = constantNodes(pattern);
  std::vector<std::vector<int>> readers(pattern.nodes().size());
  for (size_t i = 0; i < pattern.nodes().size(); ++i) {
    for (Value v : pattern.nodes()[i].operands)
      readers[static_cast<size_t>(v.node)].push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < ends_.size(); ++i) {
    const bool isRead = std::any_of(readers[i].begin(), readers[i].end(),
                                    [&](int reader) { return !constant[static_cast<size_t>(reader)]; });
    ends_[i] = constant[i] && isRead && isExpression({static_cast<int>(i), 0}, readers);
  }
}

/// What a product is of, or what is joined or clipped.
void WeightFactors::collect(Value v, std::vector<Value>& factors) const {
  const Node& n = pattern_.node(v);
  if (n.is(ops::kConcat) || n.is(ops::kClip)) {
    factors = n.operands;
    return;
  }
  if (!n.is(ops::kMul) || closed_.contains(v)) {
    factors.push_back(v);
    return;
  }
  for (Value operand : n.operands)
    collect(operand, factors);
}

/// A product of weights that nothing else reads, and of what is closed; with a dimension of each weight's own. Or such
/// weights joined, or one clipped.
bool WeightFactors::isExpression(Value v, const std::vector<std::vector<int>>& readers) const {
  const Node& last = pattern_.node(v);
  if (last.is(ops::kConcat) || last.is(ops::kClip)) {
    return std::all_of(last.operands.begin(), last.operands.end(), [&](Value part) {
      return pattern_.node(part).is(ops::kInput) && readers[static_cast<size_t>(part.node)].size() == 1;
    });
  }
  if (!last.is(ops::kMul) || closed_.contains(v)) return false;
  const size_t rank = pattern_.shape(v).size();
  std::vector<Value> factors;
  collect(v, factors);
  std::vector<std::vector<bool>> has;  // by weight and dimension
  for (Value f : factors) {
    if (closed_.contains(f)) continue;
    if (!pattern_.node(f).is(ops::kInput) || readers[static_cast<size_t>(f.node)].size() != 1) return false;
    const Shape& shape = pattern_.shape(f);
    has.emplace_back(rank);
    for (size_t d = 0; d < shape.size(); ++d)
      has.back()[rank - shape.size() + d] = shape[d] != Dim(1);
  }
  if (has.size() == 1) return factors.size() > 1;
  return std::all_of(has.begin(), has.end(), [&](const std::vector<bool>& own) {
    for (size_t d = 0; d < rank; ++d) {
      if (own[d] && std::count_if(has.begin(), has.end(), [&](const auto& other) { return other[d]; }) == 1)
        return true;
    }
    return false;
  });
}

std::string WeightFactors::str(Value v) const {
  const Node& n = pattern_.node(v);
  if (n.is(ops::kInput)) return pattern_.name(v);
  if (n.op->layout) return str(n.operands[0]);
  if (n.is(ops::kClip)) return fmt::format("in [{}, {}]", n.number("min"), n.number("max"));
  std::vector<std::string> operands;
  for (Value o : n.operands)
    operands.push_back(str(o));
  return operands.empty() ? std::string(n.op->name) : fmt::format("{}({})", n.op->name, fmt::join(operands, ", "));
}

/// What gives the weights if the constant is such a product.
Expected<Program> WeightFactors::weightsOf(Value expression, const Constant& constant, const Bindings& symbols) const {
  auto none = [&] {
    return fail(ErrorKind::kCheck, fmt::format("equal only where a constant is {}", str(expression)));
  };
  const Tensor<double> whole = constant.values<double>();
  std::vector<Value> factors;
  collect(expression, factors);
  std::vector<bool> mask(whole.data.size(), true);
  std::vector<Value> weights;
  std::vector<Extents> extents;
  for (Value f : factors) {
    if (!closed_.contains(f)) {
      weights.push_back(f);
      extents.push_back(evaluate(pattern_.shape(f), symbols).value());
      continue;
    }
    auto known = evaluate<double>(pattern_.computing({f}), symbols, {});
    if (!known) return tl::unexpected(known.error());
    const std::vector<double>& values = (*known)[0].data;
    if (std::any_of(values.begin(), values.end(), [](double x) { return x != 0 && x != 1; })) return none();
    const Strides strides = stridesIn(whole.extents, (*known)[0].extents);
    forEachPosition(whole.extents, [&](int64_t p, const Extents& digits) {
      if (values[static_cast<size_t>(offset(digits, strides))] == 0) mask[static_cast<size_t>(p)] = false;
    });
  }
  const Node& last = pattern_.node(expression);
  auto places = last.is(ops::kConcat)
                  ? placesOfParts(whole.extents, static_cast<size_t>(last.scalar("axis").constant()), extents)
                  : Separation(whole, mask, extents).places(extents);
  if (!places) return none();
  ProgramBuilder builder;
  const Value input = builder.input(inputOf(expression), shapeOf(constant.extents), true);
  const Value row = withExtents(builder, input, {whole.size()}, "");
  std::vector<Value> results;
  for (size_t w = 0; w < weights.size(); ++w) {
    Value x = gathered(builder, row, (*places)[w].at);
    const std::vector<int64_t>& by = (*places)[w].dividedBy;
    if (!by.empty()) x = builder.add(ops::kDiv.text, {x, gathered(builder, row, by)}).value();
    results.push_back(withExtents(builder, x, extents[w], pattern_.name(weights[w])));
  }
  Program program = std::move(builder).finish(std::move(results));
  const Program product = pattern_.computing({expression});
  const bool isGivenBack = constant.element == ElementType::kDouble
                             ? givesBack<double>(product, symbols, program, constant)
                             : givesBack<float>(product, symbols, program, constant);
  return isGivenBack ? Expected<Program>(std::move(program)) : none();
}

Expected<FactoredConstant> WeightFactors::factored(Value expression,
                                                   const Constant& constant,
                                                   const Bindings& symbols) const {
  if (!isComputed(constant.element) || !constant.bytes) return fail(ErrorKind::kCheck, "a constant of another type");
  if (elementCount(constant.extents) == 0) return fail(ErrorKind::kCheck, "a constant without elements");
  Bindings few = symbols;
  for (auto& [name, value] : few)
    value = std::min(value, kCorner);
  const Extents corner = evaluate(pattern_.shape(expression), few).value();
  auto isWithin = [](int64_t part, int64_t whole) { return part >= 1 && part <= whole; };
  if (std::equal(corner.begin(), corner.end(), constant.extents.begin(), constant.extents.end(), isWithin)) {
    auto weights = weightsOf(expression, cornerOf(constant, corner), few);
    if (!weights) return tl::unexpected(weights.error());
  }
  auto weights = weightsOf(expression, constant, symbols);
  if (!weights) return tl::unexpected(weights.error());
  return FactoredConstant{expression, std::move(*weights)};
}

Program WeightFactors::withConstants(const std::vector<FactoredConstant>& factored) const {
  std::set<std::string> made;
  std::set<Value> expressions;
  for (const FactoredConstant& f : factored) {
    expressions.insert(f.expression);
    for (Value v : f.weights.outputs())
      made.insert(f.weights.name(v));
  }
  ProgramBuilder builder;
  std::map<Value, Value> moved;
  for (int i = 0; i < static_cast<int>(pattern_.nodes().size()); ++i) {
    const Node& n = pattern_.nodes()[static_cast<size_t>(i)];
    auto isKnown = [&](Value v) { return moved.contains(v); };
    if (expressions.contains({i, 0})) {
      moved[{i, 0}] = builder.input(inputOf({i, 0}), n.shapes[0], true);
    } else if (n.is(ops::kInput)) {
      if (!made.contains(n.names[0]))
        moved[{i, 0}] = builder.input(n.names[0], n.shapes[0], isConstant(pattern_, {i, 0}));
    } else if (std::all_of(n.operands.begin(), n.operands.end(), isKnown)) {
      [[maybe_unused]] const auto copied = copyNode(builder, pattern_, i, moved);
      assert(copied && "it is of a program with these shapes");
    }
  }
  std::vector<Value> outputs;
  for (Value v : pattern_.outputs())
    outputs.push_back(moved.at(v));
  return std::move(builder).finish(std::move(outputs)).withoutDeadNodes();
}

}  // namespace pet
