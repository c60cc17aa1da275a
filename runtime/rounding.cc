#include "runtime/rounding.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace pet {
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

namespace {

bool isInput(const Node& node) {
  return node.is(ops::kInput);
}

double slopeOf(const Rounding& row, const NodeExtents& n) {
  return row.slope ? row.slope(n) : 1;
}
double offsetOf(const Rounding& row, const NodeExtents& n) {
  return row.offset ? row.offset(n) : 0;
}

bool isBound(const Attribute& attribute, const Bindings& symbols) {
  auto bound = [&](const Expr& e) { return e.evaluate(symbols).has_value(); };
  if (const auto* e = std::get_if<Expr>(&attribute)) return bound(*e);
  if (const auto* list = std::get_if<std::vector<Expr>>(&attribute))
    return std::all_of(list->begin(), list->end(), bound);
  return true;  // the others are evaluated with the node's shapes
}

}  // namespace

int64_t termsOf(const Rounding& row, const NodeExtents& n) {
  return row.terms ? std::max<int64_t>(1, row.terms(n)) : 1;
}

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

int64_t multiplyAdds(const Program& program, const Bindings& symbols) {
  int64_t total = 0;
  for (const Node& node : program.nodes()) {
    if (isInput(node)) continue;
    const Rounding& row = node.op->rounding;
    NodeExtents n = nodeExtents(program, node, symbols);
    bool sums = row.arithmetic == Arithmetic::kProducts || row.arithmetic == Arithmetic::kMean;
    int64_t each = sums ? termsOf(row, n) : 1;
    for (const Extents& e : n.concrete.outputs)
      total = checkedAdd(total, checkedMul(elementCount(e), each));
  }
  return total;
}

namespace {

/// Whether the operator's results on integers do not depend on the order of its sums.
bool isExact(const Rounding& row, const NodeExtents& n) {
  return row.arithmetic != Arithmetic::kOpaque && (!row.exact || row.exact(n));
}

/// Fails where values that are no integers reach a sum, and where an operator rounds on the way.
Expected<void> requireIntegers(const Program& program, const Bindings& symbols) {
  std::vector<bool> integer;
  for (const Node& node : program.nodes()) {
    bool all = std::all_of(node.operands.begin(), node.operands.end(),
                           [&](Value v) { return integer[static_cast<size_t>(v.node)]; });
    integer.push_back(all);
    if (isInput(node)) continue;
    const Rounding& row = node.op->rounding;
    NodeExtents n = nodeExtents(program, node, symbols);
    if (!isExact(row, n)) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} is not exact on integers", node.op->name), node.names[0]);
    }
    Arithmetic kind = row.arithmetic;
    bool sums = kind == Arithmetic::kSum || kind == Arithmetic::kProducts || kind == Arithmetic::kMean;
    if (sums && !all) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} sums values that are no integers", node.op->name),
                  node.names[0]);
    }
    bool whole = row.whole ? row.whole(n) : kind != Arithmetic::kFunction;
    integer.back() = all && whole;
  }
  return {};
}

/// The largest finite value that an operator adds of its own. (-inf, under a maximum, is exact.)
double fillOf(const Rounding& row, const NodeExtents& n) {
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
    if (need != 1 && node.is(ops::kOneHot)) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} would be of a multiple of {}", node.op->name, need),
                  node.names[0]);
    }
    if (isInput(node) || (need == 1 && node.op->rounding.arithmetic != Arithmetic::kMean)) continue;
    const Rounding& row = node.op->rounding;
    if (row.arithmetic == Arithmetic::kMean) need = checkedMul(need, row.divisor(nodeExtents(program, node, symbols)));
    if (row.arithmetic == Arithmetic::kMean && isConstant(program, node.operands[0])) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} takes the mean of a constant", node.op->name),
                  node.names[0]);
    }
    bool firstOnly = row.arithmetic == Arithmetic::kProducts && node.operands.size() <= 2;
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

Magnitude largestOf(const Program& program,
                    const Node& node,
                    const Bindings& symbols,
                    std::span<const double> operands) {
  double largest = 0, sum = 0, product = 1;
  for (double b : operands) {
    largest = std::max(largest, b);
    sum += b;
    product *= b;
  }
  const Rounding& row = node.op->rounding;
  const NodeExtents n = nodeExtents(program, node, symbols);
  const double products = static_cast<double>(termsOf(row, n)) * product;
  auto all = [](double bound) { return Magnitude{bound, bound}; };
  if (row.largest) return all(row.largest(n, operands));
  switch (row.arithmetic) {
    case Arithmetic::kSum:
      return all(sum);
    case Arithmetic::kProducts:
      return all(products);
    case Arithmetic::kMean:
      return {product, products};
    case Arithmetic::kFunction:
      return all(fillOf(row, n) + slopeOf(row, n) * largest);
    default:
      return all(std::max(largest, fillOf(row, n)));
  }
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
    std::vector<double> operands;
    for (Value v : node.operands)
      operands.push_back(bound[static_cast<size_t>(v.node)]);
    const Magnitude magnitude = largestOf(program, node, symbols, operands);
    bound.push_back(magnitude.result);
    peak = std::max({peak, magnitude.result, magnitude.sum});
  }
  return peak;
}

}  // namespace pet
