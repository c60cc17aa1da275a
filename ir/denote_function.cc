// Functions in a denotation: pulled through what only moves values, and applied to what is left.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/denoter.h"
#include "ir/limits.h"
#include "ir/ops/common.h"

namespace pet {
namespace {

std::string textOf(const Attribute& a) {
  if (const auto* number = std::get_if<double>(&a)) return fmt::format("{}", *number);
  if (const auto* e = std::get_if<Expr>(&a)) return e->str();
  return std::get<std::string>(a);
}

Factor constant(std::string key) {
  return {Factor::Kind::kConstant, 0, std::move(key), {}, {}};
}

/// The number of a piece that reads nothing.
std::string numberText(const AccessPiece& piece) {
  std::string text = fmt::format("{}/{}", piece.coefficient.numerator, piece.coefficient.denominator);
  for (const ConstantRead& c : piece.constants)
    text += " " + c.key;
  return text;
}

/// f of a number, where it is one that can be said.
std::optional<Rational> exactValue(const Node& f, Rational x) {
  const bool isZero = x.numerator == 0;
  if (f.is(ops::kNot)) return Rational{isZero ? 1 : 0, 1};
  if (f.is(ops::kRelu)) return x.numerator < 0 ? Rational{0, 1} : x;
  if (f.is(ops::kSquare)) return x * x;
  if (f.is(ops::kExp) && isZero) return Rational{1, 1};
  if (f.is(ops::kSigmoid) && isZero) return Rational{1, 2};
  if (f.is(ops::kClip)) {
    const double number = static_cast<double>(x.numerator) / static_cast<double>(x.denominator);
    if (asRational(number) != x) return std::nullopt;  // the comparison below has to be exact
    if (number < f.number("min")) return asRational(f.number("min"));
    if (number > f.number("max")) return asRational(f.number("max"));
    return x;
  }
  return std::nullopt;
}

/// 1 in some region, 0 elsewhere.
bool isMask(const Sum& sum) {
  return sum.isFinite() && std::all_of(sum.pieces.begin(), sum.pieces.end(), [](const Piece& p) {
           return p.factors.empty() && p.reduction.empty() && p.coefficient.numerator > 0;
         });
}

}  // namespace

Rational takeContent(Sum& sum) {
  int64_t over = 0, under = 1;
  for (const Piece& p : sum.pieces) {
    over = std::gcd(over, p.coefficient.numerator);
    under = checkedMul(under / std::gcd(under, p.coefficient.denominator), p.coefficient.denominator);
  }
  if (over == 0) return {};
  for (Piece& p : sum.pieces)
    p.coefficient = p.coefficient * Rational{under, over};
  return Rational{over, 1} * Rational{1, under};
}

std::string functionKey(const Node& node) {
  std::string key(node.op->name);
  for (const AttributeSpec& spec : node.op->attributes)
    key += " " + textOf(node.attributes.find(spec.name)->second);
  return key;
}

Facts factsOf(const Node& node) {
  Facts facts = node.op->facts;
  if (node.is(ops::kClip)) {
    facts.nonNegative = node.number("min") >= 0;
    facts.positive = node.number("min") > 0;
  }
  return facts;
}

Expected<Denoter::Partials> Denoter::multiplyFunction(const Partial& by, Value value, const Index& at) {
  const Node& node = program_.node(value);
  if (node.operands.size() == 1) return multiplyUnary(by, node, node.operands[0], at);
  auto applied = apply(functionKey(node), factsOf(node), program_.shape(value), node.operands, value);
  if (!applied) return tl::unexpected(applied.error());
  return multiplyApplied(by, **applied, at);
}

/// Times f(operand[at]).
Expected<Denoter::Partials> Denoter::multiplyUnary(const Partial& by, const Node& f, Value operand, const Index& at) {
  const Node& inner = program_.node(operand);
  bool same = inner.op == f.op && inner.attributes == f.attributes;
  if (same && f.op->facts.idempotent) return multiply(by, operand, at);
  if (same && f.is(ops::kNot)) {
    Value mask = inner.operands[0];
    if (program_.node(mask).op == f.op) return multiplyUnary(by, f, program_.node(mask).operands[0], at);
    auto no = apply(functionKey(inner), f.op->facts, program_.shape(mask), {mask}, mask);
    if (!no) return tl::unexpected(no.error());
    if ((*no)->complement) return multiplyApplied(by, {(*no)->index, *(*no)->complement, -1, {}, std::nullopt}, at);
  }
  if (inner.op->layout) return multiplyMoved(by, f, operand, at);
  auto applied = apply(functionKey(f), factsOf(f), program_.shape(operand), {operand}, operand);
  if (!applied) return tl::unexpected(applied.error());
  const bool plusOperand = (*applied)->plusOperand;
  auto result = multiplyApplied(by, **applied, at);
  if (!result || !plusOperand) return result;
  auto more = multiply(by, operand, at);
  if (more) std::move(result->begin(), result->end(), std::back_inserter(*more));
  return more;
}

/// A function of a moved value is the moved value of the function: it is taken of the value that was computed, so that
/// equal arguments look equal.
Expected<Denoter::Partials> Denoter::multiplyMoved(const Partial& by, const Node& f, Value operand, const Index& at) {
  const Facts& facts = f.op->facts;
  auto pieces = access(operand, at);
  if (!pieces) return tl::unexpected(pieces.error());
  Partials result;
  Region reached;
  for (const AccessPiece& piece : *pieces) {
    reached.push_back(piece.domain);
    if (piece.minusInfinity) {
      if (!facts.ignoresMinusInfinity) return unsupported(fmt::format("{} of -inf", f.op->name));
      continue;
    }
    if (auto ok = spend(by); !ok) return tl::unexpected(ok.error());
    Partial p = by;
    if (piece.reads.empty()) {
      if (!p.require(piece.domain)) continue;
      auto value = piece.constants.empty() ? exactValue(f, piece.coefficient) : std::nullopt;
      if (value) p.coefficient = p.coefficient * *value;
      if (!value) p.multiply(constant(fmt::format("{} of {}", functionKey(f), numberText(piece))));
      if (p.coefficient.numerator != 0) result.push_back(std::move(p));
      continue;
    }
    if (!p.multiply(piece)) continue;
    const OperandRead& read = piece.reads[0];
    auto moved = multiplyUnary(p, f, program_.node(operand).operands[static_cast<size_t>(read.operand)], read.at);
    if (!moved) return moved;
    std::move(moved->begin(), moved->end(), std::back_inserter(result));
  }
  if (!program_.node(operand).op->fills || facts.zeroPreserving) return result;
  auto rest = complement(reached, by.domain);
  if (!rest) return tl::unexpected(rest.error());
  for (const Conjunction& part : *rest) {
    Partial p = by;
    if (!p.require(part)) continue;
    auto value = exactValue(f, {0, 1});
    if (value) p.coefficient = p.coefficient * *value;
    if (!value) p.multiply(constant(functionKey(f) + " of 0/1"));
    if (p.coefficient.numerator != 0) result.push_back(std::move(p));
  }
  return result;
}

Expected<Denoter::Partials> Denoter::multiplyApplied(const Partial& by, const Applied& applied, const Index& at) {
  auto digits = flat(at);
  auto where = named(applied.index, digits);
  Partials result;
  for (const Conjunction& part : applied.parts) {
    Partial p = by;
    if (!p.require(substitute(part, where))) continue;
    if (applied.application >= 0 && !applied.isOne) p.multiply(factorOf(applied.application, digits));
    for (Factor other : applied.others) {
      for (Expr& e : other.at)
        e = e.substitute(where);
      p.multiply(std::move(other));
    }
    p.coefficient = p.coefficient * applied.scale;
    p.masked.reset();
    if (applied.complement && !by.masked) {
      p.masked = Partial::Masked{substitute(part, where), applied.parts.size(), {}};
      for (const Conjunction& holds : *applied.complement)
        p.masked->holds.push_back(substitute(holds, where));
    }
    result.push_back(std::move(p));
  }
  return result;
}

/// A function of operands that broadcast to `shape`, computed once for each `subject`.
Expected<const Denoter::Applied*> Denoter::apply(
    const std::string& key, const Facts& facts, const Shape& shape, const std::vector<Value>& operands, Value subject) {
  subject = first(subject);
  auto known = applied_.find({key, subject});
  if (known != applied_.end()) return &known->second;
  Recursion deeper(nesting_);
  if (deeper.isTooDeep()) return unsupported("functions that are nested very deeply");
  Application a{key, facts, freshIndex(shape), {}, {}, {}};
  auto [at, range] = positions(shape, a.index);
  a.range = range;
  Applied result{a.index, {{}}, -1, {}, std::nullopt};
  std::vector<Sum> arguments;
  for (Value operand : operands) {
    auto sum = sumAt(a.index, a.range, operand, broadcastIndex(program_.shape(operand), at));
    if (!sum) return tl::unexpected(sum.error());
    if (!sum->isFinite()) {
      if (!facts.ignoresMinusInfinity || operands.size() != 1) return unsupported(key + " of -inf");
      result.parts = sum->finite;
    }
    arguments.push_back(std::move(*sum));
  }
  const Factor* maximum = operands.size() == 1 && facts.monotone ? copiedMaximum(arguments[0]) : nullptr;
  bool everywhere = maximum && arguments[0].pieces[0].domain.size() == a.range.size();
  for (size_t i = 0; everywhere && i < a.index.size(); ++i)
    everywhere = maximum->at[i] == Expr::variable(a.index[i]);
  if (key == "Not" && isMask(arguments[0])) {
    Region holds;
    for (const Piece& p : arguments[0].pieces)
      holds.push_back(p.domain);
    auto rest = complement(holds, a.range);
    if (!rest) return tl::unexpected(rest.error());
    result.parts = std::move(*rest);
    if (areDisjoint(holds)) result.complement = std::move(holds);
  } else if (everywhere) {
    result.application = pushInto(a, *maximum);
  } else if (!unfold_.contains(key) || !takeApart(a, arguments[0], result)) {
    if (facts.homogeneous) result.scale = takeContent(arguments[0]);
    if (unfold_.contains(key) && operands.size() == 1) {
      result.application = applicationTo(std::move(a), std::move(arguments[0]));
    } else {
      for (Sum& argument : arguments)
        a.arguments.push_back(keep(std::move(argument)));
      result.application = keep(std::move(a));
    }
  }
  return &applied_.emplace(std::pair(key, subject), std::move(result)).first->second;
}

}  // namespace pet
