// Maxima in a denotation: alternatives, of which those that are maxima themselves are taken apart.

#include "ir/denoter.h"
#include "ir/limits.h"
#include "ir/names.h"

namespace pet {
/// The maximum whose value a sum is, where its one piece holds; null if it is anything else.
const Factor* Denoter::copiedMaximum(const Sum& sum) const {
  bool copies = sum.pieces.size() == 1 && sum.isFinite() && sum.pieces[0].coefficient == Rational{1, 1} &&
                sum.pieces[0].reduction.empty() && sum.pieces[0].factors.size() == 1;
  if (!copies) return nullptr;
  const Factor& f = sum.pieces[0].factors[0];
  return f.kind == Factor::Kind::kApplication && application(f.number).isMaximum() ? &f : nullptr;
}

/// The alternative elsewhere, with reduction indices of its own; `where` learns their names.
Application::Alternative Denoter::renamed(const Application::Alternative& a, std::map<std::string, Expr>& where) {
  Application::Alternative result{{}, {}, a.element};
  for (const std::string& r : a.reduction) {
    result.reduction.push_back(freshLike(r));
    where.insert_or_assign(r, Expr::variable(result.reduction.back()));
  }
  result.domain = substitute(a.domain, where);
  return result;
}

/// The same of an element's piece.
Piece Denoter::renamed(Piece piece, std::map<std::string, Expr>& where) {
  for (std::string& r : piece.reduction) {
    std::string fresh = freshLike(r);
    where.insert_or_assign(r, Expr::variable(fresh));
    r = fresh;
  }
  piece.domain = substitute(piece.domain, where);
  for (Factor& f : piece.factors) {
    for (Expr& e : f.at)
      e = e.substitute(where);
  }
  return piece;
}

/// The sum that is f of the argument, at each of its positions.
int Denoter::imageOf(const Application& f, Sum argument) {
  Sum value{argument.index, argument.range, {}};
  Application applied{f.key, f.facts, argument.index, argument.range, {}, {}};
  applied.arguments = {keep(std::move(argument))};
  int number = keep(std::move(applied));
  value.pieces = {{{1, 1}, {}, value.range, {factorOf(number, asExprs(value.index))}}};
  return keep(std::move(value));
}

/// f(max of some elements) = max of f(element), for a monotone f.
int Denoter::pushInto(const Application& f, const Factor& maximum) {
  const Application inner = application(maximum.number);
  auto digits = named(inner.index, maximum.at);
  Application result{"max", inner.facts, f.index, f.range, {}, {}};
  for (const Application::Alternative& alternative : inner.alternatives) {
    auto where = digits;
    Application::Alternative moved = renamed(alternative, where);
    const Sum element = result_.sum(alternative.element);
    Sum argument{join(f.index, moved.reduction), substitute(element.range, where), {}};
    for (const Piece& p : element.pieces)
      argument.pieces.push_back(renamed(p, where));
    moved.element = isItsPositivePart(f, argument) ? keep(std::move(argument)) : imageOf(f, std::move(argument));
    result.alternatives.push_back(std::move(moved));
  }
  return keep(std::move(result));
}

/// The application of a maximum.
Expected<int> Denoter::largest(Value value) {
  value = first(value);
  auto known = largest_.find(value);
  if (known != largest_.end()) return known->second;
  Recursion deeper(nesting_);
  if (deeper.isTooDeep()) return unsupported("maxima that are nested very deeply");
  const Shape& shape = program_.shape(value);
  Application a{"max", program_.node(value).op->facts, freshIndex(shape), {}, {}, {}};
  auto [at, range] = positions(shape, a.index);
  a.range = range;
  auto pieces = access(value, at);
  if (!pieces) return tl::unexpected(pieces.error());
  for (const AccessPiece& piece : *pieces) {
    Partial p;
    if (!p.require(range) || !p.multiply(piece)) continue;
    auto ok = addAlternatives(a, p, program_.node(value).operands[0], piece.reads[0].at);
    if (!ok) return tl::unexpected(ok.error());
  }
  if (a.alternatives.empty()) return unsupported("a maximum of nothing");
  int number = keep(std::move(a));
  largest_.emplace(value, number);
  return number;
}

/// The alternatives that value[at] stands for, where p's domain holds: through what only moves values, and through
/// another maximum.
Expected<void> Denoter::addAlternatives(Application& a, const Partial& p, Value value, const Index& at) {
  const Node& node = program_.node(value);
  if (!node.op->layout) return addElement(a, p, value, at);
  auto pieces = access(value, at);
  if (!pieces) return tl::unexpected(pieces.error());
  Region reached;
  for (const AccessPiece& piece : *pieces) {
    reached.push_back(piece.domain);
    if (auto ok = spend(p); !ok) return ok;
    Partial q = p;
    if (piece.minusInfinity || !q.multiply(piece)) continue;
    if (piece.reads.empty()) return unsupported("a maximum over a pad with a number");
    const OperandRead& read = piece.reads[0];
    auto ok = addAlternatives(a, q, node.operands[static_cast<size_t>(read.operand)], read.at);
    if (!ok) return ok;
  }
  return node.op->fills ? addZeros(a, p, reached) : Expected<void>();
}

/// Zero, wherever p holds and `reached` does not.
Expected<void> Denoter::addZeros(Application& a, const Partial& p, const Region& reached) {
  auto rest = complement(reached, p.domain);
  if (!rest) return tl::unexpected(rest.error());
  if (a.alternatives.size() > kMostPieces) return unsupported("a maximum of very many elements");
  for (const Conjunction& part : *rest) {
    Partial q = p;
    if (!q.require(part)) continue;
    a.alternatives.push_back({q.reduction, q.domain, keep(Sum{join(a.index, q.reduction), q.domain, {}})});
  }
  return {};
}

Expected<void> Denoter::addElement(Application& a, const Partial& p, Value value, const Index& at) {
  auto element = sumAt(join(a.index, p.reduction), p.domain, value, at);
  if (!element) return tl::unexpected(element.error());
  if (const Factor* maximum = copiedMaximum(*element)) return flatten(a, p, *element, *maximum);
  Region finite = element->finite;
  int number = keep(std::move(*element));
  for (const Conjunction& part : finite) {
    Partial q = p;
    if (q.require(part)) a.alternatives.push_back({q.reduction, q.domain, number});
  }
  return {};
}

/// A maximum of maxima is one.
Expected<void> Denoter::flatten(Application& a, const Partial& p, const Sum& element, const Factor& maximum) {
  const Application inner = application(maximum.number);
  if (a.alternatives.size() + inner.alternatives.size() > kMostPieces)
    return unsupported("a maximum of very many elements");
  const Conjunction& reached = element.pieces[0].domain;
  if (auto zeros = addZeros(a, p, {reached}); !zeros) return zeros;
  for (const Application::Alternative& alternative : inner.alternatives) {
    auto where = named(inner.index, maximum.at);
    Application::Alternative moved = renamed(alternative, where);
    if (auto ok = spend(p); !ok) return ok;
    Partial q = p;
    if (!q.require(reached) || !q.require(moved.domain)) continue;
    q.reduction = join(p.reduction, moved.reduction);
    Sum value{join(a.index, q.reduction), q.domain, {}};
    const Sum source = result_.sum(alternative.element);
    for (const Piece& p0 : source.pieces) {
      if (auto ok = spend(q); !ok) return ok;
      Piece piece = renamed(p0, where);
      Partial within = q;
      if (!within.require(piece.domain)) continue;
      piece.domain = within.domain;
      value.pieces.push_back(std::move(piece));
    }
    a.alternatives.push_back({q.reduction, q.domain, keep(std::move(value))});
  }
  return {};
}

}  // namespace pet
