#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/limits.h"
#include "rules/check/meaning/writer.h"

// Functions and maxima: values that are no sums of products, made once and then read like inputs.
namespace pet::check {
namespace {

bool sameConstraints(Conjunction a, Conjunction b) {
  std::erase_if(b, [](const Constraint& c) { return c.decided() == true; });
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

/// The piece of a sum that is one read of a value and nothing else, where it does not vanish.
const Piece* onlyRead(const Sum& sum) {
  bool one = sum.pieces.size() == 1 && sum.isFinite() && sum.pieces[0].coefficient == Fraction{} &&
             sum.pieces[0].reduction.empty() && sum.pieces[0].factors.size() == 1;
  return one ? &sum.pieces[0] : nullptr;
}

bool isMask(const Sum& sum) {
  return sum.isFinite() && std::all_of(sum.pieces.begin(), sum.pieces.end(), [](const Piece& p) {
           return p.factors.empty() && p.reduction.empty() && p.coefficient.over > 0;
         });
}

std::map<std::string, Expr> renaming(const std::vector<std::string>& names, const std::vector<Expr>& values) {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < names.size(); ++i)
    by.emplace(names[i], values[i]);
  return by;
}

Conjunction substituted(Conjunction all, const std::map<std::string, Expr>& by) {
  for (Constraint& c : all)
    c = c.substitute(by);
  return all;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Expr> variables(const std::vector<std::string>& names) {
  std::vector<Expr> all;
  for (const std::string& n : names)
    all.push_back(Expr::variable(n));
  return all;
}

}  // namespace

/// Takes out the greatest common divisor of the coefficients: of fractions, that of the numerators over the least
/// common multiple of the denominators.
Fraction Writer::withoutContent(Sum& sum) {
  int64_t divisor = 0, multiple = 1;
  for (const Piece& p : sum.pieces) {
    divisor = std::gcd(divisor, p.coefficient.over);
    multiple = checkedMul(multiple, p.coefficient.under / std::gcd(multiple, p.coefficient.under));
  }
  if (divisor == 0) return {};
  for (Piece& p : sum.pieces)
    p.coefficient = p.coefficient * Fraction{multiple, divisor};
  return reduced(divisor, multiple);
}

const Writer::Image& Writer::image(const Node& node,
                                   const Shape& shape,
                                   const std::vector<Value>& arguments,
                                   Value subject) {
  const Function& f = *functionOf(opOf(node));
  std::string key = keyOf(f, node);
  subject = earliest(subject);
  if (auto known = images_.find({key, subject}); known != images_.end()) return known->second;
  Recursion deeper(nesting_);
  if (deeper.isTooDeep()) throw Opaque("functions that are nested very deeply");

  Frame here = freshFrame(shape);
  Image result{here.index};
  std::vector<Sum> sums;
  for (Value v : arguments) {
    Sum s = sum(here, v, broadcast(program_.shape(v), here.at));
    if (!s.isFinite()) {
      if (!f.dropsMinusInfinity || arguments.size() != 1) throw Opaque(key + " of -inf");
      result.parts = s.finite;
    }
    sums.push_back(std::move(s));
  }
  const Piece* read = sums.size() == 1 ? onlyRead(sums[0]) : nullptr;
  bool ofMaximum = f.monotone && read && read->factors[0].kind == Factor::Kind::kApplication &&
                   application(read->factors[0].number).isMaximum() && read->factors[0].at == variables(here.index) &&
                   sameConstraints(read->domain, here.range);
  Application a{.key = key, .keepsZero = f.keepsZero, .index = here.index, .range = here.range};
  a.needs = f.needs;
  a.sign = signOf(f, node);
  if (f.op == "Not" && isMask(sums[0])) {
    std::vector<Conjunction> ones;
    for (const Piece& p : sums[0].pieces)
      ones.push_back(p.domain);
    result.parts = complement(ones, here.range);
    if (areDisjoint(ones)) result.mask = std::move(ones);
  } else if (ofMaximum) {
    result.application = maximumOfImages(f, a, read->factors[0]);
  } else if (!takeApart(f, a, sums[0], result)) {
    if (f.scales) result.times = withoutContent(sums[0]);
    if (isUnfolded(f.op) && sums.size() == 1) {
      result.application = made(std::move(a), std::move(sums[0]));
    } else {
      for (Sum& s : sums)
        a.arguments.push_back(keep(std::move(s)));
      result.application = keep(std::move(a));
    }
  }
  return images_.emplace(std::pair(key, subject), std::move(result)).first->second;
}

/// f(max of e) = max of f(e): `image` is f at the same positions, of nothing yet.
int Writer::maximumOfImages(const Function& f, const Application& image, const Factor& of) {
  const Application inner = application(of.number);
  Application outer{.key = "max", .index = image.index, .range = image.range, .mustNotBeEmpty = true};
  for (const Application::Alternative& a : inner.alternatives) {
    auto by = renaming(inner.index, of.at);
    Application::Alternative alternative;
    for (const std::string& r : a.reduction) {
      alternative.reduction.push_back(renew(r));
      by[r] = Expr::variable(alternative.reduction.back());
    }
    alternative.domain = substituted(a.domain, by);
    const Sum element = meaning_.sums[static_cast<size_t>(a.element)];
    Sum argument{joined(image.index, alternative.reduction), substituted(element.range, by), {}};
    for (const Piece& p : element.pieces)
      argument.pieces.push_back(moved(p, by));
    if (changesNothing(f, argument)) {
      alternative.element = keep(std::move(argument));
      outer.alternatives.push_back(std::move(alternative));
      continue;
    }
    Sum value{argument.index, argument.range, {}};
    Application applied = image;
    applied.index = value.index;
    applied.range = value.range;
    applied.arguments = {keep(std::move(argument))};
    int number = keep(std::move(applied));
    value.pieces = {{{}, {}, value.range, {factor(number, variables(value.index))}}};
    alternative.element = keep(std::move(value));
    outer.alternatives.push_back(std::move(alternative));
  }
  return keep(std::move(outer));
}

Piece Writer::moved(Piece piece, std::map<std::string, Expr> by) {
  for (std::string& r : piece.reduction) {
    std::string fresh = renew(r);
    by[r] = Expr::variable(fresh);
    r = fresh;
  }
  piece.domain = substituted(piece.domain, by);
  for (Factor& f : piece.factors) {
    for (Expr& e : f.at)
      e = e.substitute(by);
  }
  return piece;
}

int Writer::maximum(Value value) {
  value = earliest(value);
  if (auto known = maxima_.find(value); known != maxima_.end()) return known->second;
  Recursion deeper(nesting_);
  if (deeper.isTooDeep()) throw Opaque("maxima that are nested very deeply");
  Frame here = freshFrame(program_.shape(value));
  Application a{.key = "max", .index = here.index, .range = here.range};
  for (const Clause& clause : relation(value, here.at)) {
    Product p;
    if (p.require(here.range) && p.take(clause))
      addAlternatives(a, p, program_.node(value).operands[0], clause.reads[0].at);
  }
  if (a.alternatives.empty()) throw Opaque("a maximum of nothing");
  return maxima_.emplace(value, keep(std::move(a))).first->second;
}

/// What value[at] may be where the product's domain holds.
void Writer::addAlternatives(Application& to, const Product& so, Value value, const Position& at) {
  const Node& node = program_.node(value);
  if (!onlyMoves(opOf(node))) return addElement(to, so, value, at);
  std::vector<Conjunction> reached;
  for (const Clause& clause : relation(value, at)) {
    reached.push_back(clause.domain);
    spend(so);
    Product p = so;
    if (clause.minusInfinity || !p.take(clause)) continue;
    if (clause.reads.empty()) throw Opaque("a maximum over a pad with a number");
    addAlternatives(to, p, node.operands[clause.reads[0].operand], clause.reads[0].at);
  }
  if (fillsWithZeros(opOf(node))) addZeros(to, so, reached);
}

void Writer::addZeros(Application& to, const Product& so, const std::vector<Conjunction>& elsewhere) {
  if (to.alternatives.size() > kMostPieces) throw Opaque("a maximum of very many elements");
  for (const Conjunction& part : complement(elsewhere, so.domain)) {
    Product p = so;
    if (!p.require(part)) continue;
    int zero = keep(Sum{joined(to.index, p.reduction), p.domain, {}});
    to.alternatives.push_back({p.reduction, p.domain, zero});
  }
}

void Writer::addElement(Application& to, const Product& so, Value value, const Position& at) {
  Sum element = sum({joined(to.index, so.reduction), {}, so.domain}, value, at);
  const Piece* read = onlyRead(element);
  if (read && read->factors[0].kind == Factor::Kind::kApplication && application(read->factors[0].number).isMaximum())
    return addAlternativesOf(to, so, *read);
  std::vector<Conjunction> finite = element.finite;
  int number = keep(std::move(element));
  for (const Conjunction& part : finite) {
    Product p = so;
    if (p.require(part)) to.alternatives.push_back({p.reduction, p.domain, number});
  }
}

/// The largest of what another maximum is the largest of.
void Writer::addAlternativesOf(Application& to, const Product& so, const Piece& read) {
  const Application inner = application(read.factors[0].number);
  if (to.alternatives.size() + inner.alternatives.size() > kMostPieces) throw Opaque("a maximum of very many elements");
  addZeros(to, so, {read.domain});
  for (const Application::Alternative& a : inner.alternatives) {
    auto by = renaming(inner.index, read.factors[0].at);
    spend(so);
    Product p = so;
    for (const std::string& r : a.reduction) {
      p.reduction.push_back(renew(r));
      by[r] = Expr::variable(p.reduction.back());
    }
    if (!p.require(read.domain) || !p.require(substituted(a.domain, by))) continue;
    const Sum element = meaning_.sums[static_cast<size_t>(a.element)];
    Sum value{joined(to.index, p.reduction), p.domain, {}};
    for (const Piece& piece : element.pieces) {
      spend(p);
      Piece here = moved(piece, by);
      Product within = p;
      if (!within.require(here.domain)) continue;
      here.domain = within.domain;
      value.pieces.push_back(std::move(here));
    }
    to.alternatives.push_back({p.reduction, p.domain, keep(std::move(value))});
  }
}

}  // namespace pet::check
