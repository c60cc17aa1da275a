#include "runtime/rounding.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace pet {
namespace {

NodeExtents nodeExtents(const Program& program, const Node& node, const Bindings& symbols) {
  NodeExtents n{node, {node.attributes, symbols, {}, {}}, {}};
  for (const Shape& s : node.shapes)
    n.concrete.outputs.push_back(evaluate(s, symbols).value_or(Extents{}));
  for (Value v : node.operands) {
    n.concrete.operands.push_back(program.shape(v));
    n.operands.push_back(evaluate(program.shape(v), symbols).value_or(Extents{}));
  }
  return n;
}

Expected<const RoundingRow*> rowOf(const Node& node) {
  const RoundingRow* row = findRounding(node.op->name);
  if (!row || row->arithmetic == Arithmetic::kUnknown || (row->covers && !row->covers(node))) {
    return fail(ErrorKind::kUnsupported, fmt::format("no bound is known for {}", node.op->name), node.names[0]);
  }
  return row;
}

bool isInput(const Node& node) {
  return node.op->name == "Input";
}

double slopeOf(const RoundingRow& row, const NodeExtents& n) {
  return row.slope ? row.slope(n) : 1;
}
double offsetOf(const RoundingRow& row, const NodeExtents& n) {
  return row.offset ? row.offset(n) : 0;
}

int64_t termsOf(const RoundingRow& row, const NodeExtents& n) {
  return row.terms ? std::max<int64_t>(1, row.terms(n)) : 1;
}

/// A function's own error, in units of the last place: more than any libm's or any engine's polynomial has.
constexpr int64_t kFunctionRoundings = 16;

/// Made of inputs by moves alone: its sign and whether it is 0 are certain.
bool isMoved(const Program& program, Value value) {
  const Node& node = program.node(value);
  if (isInput(node)) return true;
  const RoundingRow* row = findRounding(node.op->name);
  return row && row->arithmetic == Arithmetic::kMove &&
         std::all_of(node.operands.begin(), node.operands.end(), [&](Value v) { return isMoved(program, v); });
}

bool isBound(const Attribute& attribute, const Bindings& symbols) {
  auto bound = [&](const Expr& e) { return e.evaluate(symbols).has_value(); };
  if (const auto* e = std::get_if<Expr>(&attribute)) return bound(*e);
  if (const auto* list = std::get_if<std::vector<Expr>>(&attribute))
    return std::all_of(list->begin(), list->end(), bound);
  return true;  // the others are evaluated with the node's shapes
}

}  // namespace

Expected<void> requireBound(const Program& program, const Bindings& symbols) {
  for (const Node& node : program.nodes()) {
    for (const Shape& s : node.shapes) {
      if (!evaluate(s, symbols)) return fail(ErrorKind::kUsage, "a symbol of " + str(s) + " is unbound", node.names[0]);
    }
    for (const auto& [name, attribute] : node.attributes) {
      if (!isBound(attribute, symbols))
        return fail(ErrorKind::kUsage, "a symbol of " + name + " is unbound", node.names[0]);
    }
  }
  return {};
}

Expected<std::vector<int64_t>> chainLengths(const Program& program, const Bindings& symbols) {
  std::vector<int64_t> chain;
  for (const Node& node : program.nodes()) {
    int64_t longest = 0, together = 0;
    for (Value v : node.operands) {
      int64_t n = chain[static_cast<size_t>(v.node)];
      longest = std::max(longest, n);
      together = checkedAdd(together, n);
    }
    chain.push_back(longest);
    if (isInput(node)) continue;
    auto row = rowOf(node);
    if (!row) return tl::unexpected(row.error());
    int64_t own = termsOf(**row, nodeExtents(program, node, symbols));
    switch ((*row)->arithmetic) {
      case Arithmetic::kMove:
      case Arithmetic::kSelect:
        break;
      case Arithmetic::kChoose:
        if (!isMoved(program, node.operands[0])) {
          return fail(ErrorKind::kUnsupported,
                      fmt::format("no bound is known for {} by a computed condition", node.op->name), node.names[0]);
        }
        break;
      case Arithmetic::kSum:
        chain.back() = checkedAdd(longest, 1);
        break;
      case Arithmetic::kProducts:
        chain.back() = checkedAdd(together, own);
        break;
      case Arithmetic::kMean:
        chain.back() = checkedAdd(together, own + 1);
        break;
      case Arithmetic::kFunction:
      case Arithmetic::kUnknown:
        chain.back() = checkedAdd(longest, kFunctionRoundings);
        break;
    }
  }
  std::vector<int64_t> result;
  for (Value v : program.outputs())
    result.push_back(chain[static_cast<size_t>(v.node)]);
  return result;
}

template <class T>
Expected<std::vector<TensorRef<T>>> magnitudes(const Program& program,
                                               const Bindings& symbols,
                                               const InputSource<T>& inputs) {
  auto absolute = [](Tensor<T> t) {
    for (T& x : t.data)
      x = std::abs(x);
    return t;
  };
  InputSource<T> sizes = [&](std::string_view name) -> TensorRef<T> {
    TensorRef<T> tensor = inputs(name);
    return tensor ? std::make_shared<const Tensor<T>>(absolute(*tensor)) : nullptr;
  };
  NodeEvaluator<T> evaluator = [&](int index,
                                   const std::vector<const Tensor<T>*>& operands) -> Expected<std::vector<Tensor<T>>> {
    const Node& node = program.nodes()[static_cast<size_t>(index)];
    auto row = rowOf(node);
    if (!row) return tl::unexpected(row.error());
    NodeExtents n = nodeExtents(program, node, symbols);
    if ((*row)->arithmetic == Arithmetic::kSum) {
      return findOp("Add")->kernels.get<T>()(n.concrete, operands);
    }
    if ((*row)->arithmetic == Arithmetic::kFunction) {
      Tensor<T> out = *operands[0];
      T slope = static_cast<T>(slopeOf(**row, n)), offset = static_cast<T>(offsetOf(**row, n));
      for (T& x : out.data)
        x = offset + slope * x;
      return std::vector{std::move(out)};
    }
    auto results = evaluateNode(program, index, symbols, operands);
    if (!results) return results;
    for (Tensor<T>& t : *results)
      t = absolute(std::move(t));
    return results;
  };
  return executeWith(program, symbols, sizes, evaluator);
}

template Expected<std::vector<TensorRef<float>>> magnitudes<float>(const Program&,
                                                                   const Bindings&,
                                                                   const InputSource<float>&);
template Expected<std::vector<TensorRef<double>>> magnitudes<double>(const Program&,
                                                                     const Bindings&,
                                                                     const InputSource<double>&);

int64_t multiplyAdds(const Program& program, const Bindings& symbols) {
  int64_t total = 0;
  for (const Node& node : program.nodes()) {
    if (isInput(node)) continue;
    const RoundingRow* row = findRounding(node.op->name);
    NodeExtents n = nodeExtents(program, node, symbols);
    bool sums = row && (row->arithmetic == Arithmetic::kProducts || row->arithmetic == Arithmetic::kMean);
    int64_t each = sums ? termsOf(*row, n) : 1;
    for (const Extents& e : n.concrete.outputs)
      total = checkedAdd(total, checkedMul(elementCount(e), each));
  }
  return total;
}

namespace {

/// Fails where values that are no integers reach a sum.
Expected<void> requireIntegers(const Program& program, const Bindings& symbols) {
  std::vector<bool> integer;
  for (const Node& node : program.nodes()) {
    bool all = std::all_of(node.operands.begin(), node.operands.end(),
                           [&](Value v) { return integer[static_cast<size_t>(v.node)]; });
    integer.push_back(all);
    if (isInput(node)) continue;
    auto row = rowOf(node);
    if (!row) return tl::unexpected(row.error());
    Arithmetic kind = (*row)->arithmetic;
    bool sums = kind == Arithmetic::kSum || kind == Arithmetic::kProducts || kind == Arithmetic::kMean;
    if (sums && !all) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} sums values that are no integers", node.op->name),
                  node.names[0]);
    }
    bool whole = (*row)->whole ? (*row)->whole(nodeExtents(program, node, symbols)) : kind != Arithmetic::kFunction;
    integer.back() = all && whole;
  }
  return {};
}

/// The largest finite value that an operator adds of its own. (-inf, under a maximum, is exact.)
double fillOf(const RoundingRow& row, const NodeExtents& n) {
  double fill = offsetOf(row, n);
  return std::isfinite(fill) ? fill : 0;
}

}  // namespace

Expected<Scales> wholeScales(const Program& program, const Bindings& symbols) {
  if (auto whole = requireIntegers(program, symbols); !whole) return tl::unexpected(whole.error());
  // From the outputs back: of what must each value be a multiple? A product needs it of one operand only, the first.
  std::vector<int64_t> needed(program.nodes().size(), 1);
  for (size_t index = needed.size(); index-- > 0;) {
    const Node& node = program.nodes()[index];
    int64_t need = needed[index];
    if (isInput(node) || (need == 1 && findRounding(node.op->name)->arithmetic != Arithmetic::kMean)) continue;
    const RoundingRow& row = *findRounding(node.op->name);
    if (row.arithmetic == Arithmetic::kMean) need = checkedMul(need, row.divisor(nodeExtents(program, node, symbols)));
    if (row.arithmetic == Arithmetic::kMean && isConstant(program, node.operands[0])) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} takes the mean of a constant", node.op->name),
                  node.names[0]);
    }
    bool firstOnly = row.arithmetic == Arithmetic::kProducts;
    for (Value v : node.operands) {
      int64_t& theirs = needed[static_cast<size_t>(v.node)];
      theirs = checkedMul(theirs / std::gcd(theirs, need), need);
      if (firstOnly) break;
    }
  }
  Scales scales;
  for (Value v : program.inputs())
    scales[program.name(v)] = needed[static_cast<size_t>(v.node)];
  return scales;
}

double largestSum(const Program& program, const Bindings& symbols, const std::map<std::string, double>& bounds) {
  std::vector<double> bound;
  double peak = 0;
  for (const Node& node : program.nodes()) {
    if (isInput(node)) {
      auto given = bounds.find(node.names[0]);
      bound.push_back(given == bounds.end() ? 1 : given->second);
      continue;
    }
    double largest = 0, sum = 0, product = 1;
    for (Value v : node.operands) {
      double b = bound[static_cast<size_t>(v.node)];
      largest = std::max(largest, b);
      sum += b;
      product *= b;
    }
    const RoundingRow& row = *findRounding(node.op->name);
    NodeExtents n = nodeExtents(program, node, symbols);
    double terms = static_cast<double>(termsOf(row, n));
    switch (row.arithmetic) {
      case Arithmetic::kSum:
        bound.push_back(sum);
        break;
      case Arithmetic::kProducts:
        bound.push_back(terms * product);
        break;
      case Arithmetic::kMean:
        peak = std::max(peak, terms * product);
        bound.push_back(product);
        break;
      case Arithmetic::kFunction:
        bound.push_back(fillOf(row, n) + slopeOf(row, n) * largest);
        break;
      default:
        bound.push_back(std::max(largest, fillOf(row, n)));
    }
    peak = std::max(peak, bound.back());
  }
  return peak;
}

}  // namespace pet
