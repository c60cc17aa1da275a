#include "ir/denote.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/denoter.h"
#include "ir/limits.h"
#include "ir/signs.h"

namespace pet {

std::vector<Expr> flat(const Index& at) {
  std::vector<Expr> digits;
  for (const auto& d : at)
    digits.insert(digits.end(), d.begin(), d.end());
  return digits;
}

std::map<std::string, Expr> named(const std::vector<std::string>& names, const std::vector<Expr>& values) {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < names.size(); ++i)
    by.emplace(names[i], values[i]);
  return by;
}

std::vector<Constraint> substitute(const std::vector<Constraint>& all, const std::map<std::string, Expr>& by) {
  std::vector<Constraint> result;
  result.reserve(all.size());
  for (const Constraint& c : all)
    result.push_back(c.substitute(by));
  return result;
}

Denoter::Denoter(const Program& program, NameSource& names, const Unfold& unfold)
    : program_(program), names_(names), unfold_(unfold) {
  auto inputs = program.inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    inputNumber_[inputs[i].node] = static_cast<int>(i);
  findRepetitions();
  markInfinite();
}

/// The same operator with the same attributes of the same operands is the same value.
void Denoter::findRepetitions() {
  const auto& nodes = program_.nodes();
  auto repeats = [&](const Node& a, const Node& b) {
    return a.op == b.op && !a.is(ops::kInput) && a.attributes == b.attributes &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                      [&](Value x, Value y) { return first(x) == first(y); });
  };
  for (const Node& node : nodes) {
    int same = 0;
    while (static_cast<size_t>(same) < first_.size() && !repeats(nodes[static_cast<size_t>(same)], node))
      ++same;
    first_.push_back(same);
  }
}

Expected<void> Denoter::spend(const Partial& p) {
  if (p.factors.size() > kMostFactors) return unsupported("a product of very many factors");
  work_ += 1 + p.factors.size() + p.domain.size() + p.reduction.size();
  return work_ <= kMostWork ? Expected<void>() : unsupported("a sum of very many products");
}

Expected<Denotation> Denoter::run(Value output) {
  std::vector<std::string> index;
  for (const Dim& d : program_.shape(output)) {
    for (size_t a = 0; a < d.atoms().size(); ++a)
      index.push_back(fmt::format("v{}", index.size()));
  }
  auto [at, range] = positions(program_.shape(output), index);
  auto sum = sumAt(index, range, output, at);
  if (!sum) return tl::unexpected(sum.error());
  if (!sum->isFinite()) return unsupported("an output that is -inf");
  if (unfold_.contains(kMultiples)) writeMultiples(*sum);
  static_cast<Sum&>(result_) = std::move(*sum);
  markPartial();
  if (auto uses = addUses(output, at, {{}, range, {}}); !uses) return tl::unexpected(uses.error());
  return std::move(result_);
}

/// Digits of a position of a shape by name, and their ranges.
std::pair<Index, std::vector<Constraint>> Denoter::positions(const Shape& shape,
                                                             const std::vector<std::string>& index) {
  std::pair<Index, Conjunction> result;
  size_t digit = 0;
  for (const Dim& d : shape) {
    result.first.emplace_back();
    for (size_t a = 0; a < d.atoms().size(); ++a)
      result.first.back().push_back(Expr::variable(index[digit++]));
  }
  requireInRange(result.first, shape, result.second);
  return result;
}

std::vector<std::string> Denoter::freshIndex(const Shape& shape) {
  std::vector<std::string> index;
  for (const Dim& d : shape) {
    for (size_t a = 0; a < d.atoms().size(); ++a)
      index.push_back(names_.fresh("u"));
  }
  return index;
}

/// Another name with the same stem.
std::string Denoter::freshLike(const std::string& name) {
  return names_.fresh(name.substr(0, name.find('_')));
}

Expected<std::vector<AccessPiece>> Denoter::access(Value value, const Index& at) {
  const Node& node = program_.node(value);
  if (!node.op->access) {
    return fail(ErrorKind::kUnsupported, fmt::format("{} is not a sum of products of its operands", node.op->name));
  }
  std::vector<Shape> shapes;
  for (Value v : node.operands)
    shapes.push_back(program_.shape(v));
  return node.op->access({node.attributes, shapes, node.shapes}, value.output, at, names_);
}

Expected<Sum> Denoter::sumAt(const std::vector<std::string>& index,
                             const Conjunction& range,
                             Value value,
                             const Index& at) {
  Partial one;
  if (!one.require(range)) return Sum{index, range, {}};
  auto partials = multiply(one, value, at);
  if (!partials) return tl::unexpected(partials.error());
  for (Partial& p : *partials)
    cancelInverses(p);
  auto sum = sumOf(index, range, std::move(*partials));
  if (sum) dropContradictions(*sum);
  return sum;
}

/// A condition times its negation is 0.
void Denoter::dropContradictions(Sum& sum) const {
  auto isNot = [](const Factor& f) { return f.kind == Factor::Kind::kApplication && f.key == "Not"; };
  // Whether f is Not of `other`, which is a Not as well.
  auto negates = [&](const Factor& f, const Factor& other) {
    const Application& a = application(f.number);
    const Sum& argument = result_.sum(a.arguments[0]);
    if (!argument.isFinite() || argument.pieces.size() != 1) return false;
    const Piece& only = argument.pieces[0];
    bool isCopy = only.reduction.empty() && only.factors.size() == 1 && only.domain.size() == a.range.size();
    if (!isCopy || only.factors[0].number != other.number || !isNot(only.factors[0])) return false;
    auto where = named(a.index, f.at);
    for (size_t i = 0; i < other.at.size(); ++i) {
      if (only.factors[0].at[i].substitute(where) != other.at[i]) return false;
    }
    return true;
  };
  std::erase_if(sum.pieces, [&](const Piece& p) {
    for (const Factor& f : p.factors) {
      for (const Factor& other : p.factors) {
        if (isNot(f) && isNot(other) && negates(f, other)) return true;
      }
    }
    return false;
  });
}

int Denoter::keep(Sum sum) {
  result_.nested.push_back(std::move(sum));
  return static_cast<int>(result_.nested.size());
}

int Denoter::keep(Application application) {
  // 1/x has the sign of x.
  if (application.facts.domain == Facts::Domain::kNotZero)
    application.facts.nonNegative = isNonNegative(result_.sum(application.arguments[0]), result_.applications);
  result_.applications.push_back(std::move(application));
  return static_cast<int>(result_.applications.size()) - 1;
}

Factor Denoter::factorOf(int number, std::vector<Expr> at) const {
  return {Factor::Kind::kApplication, number, application(number).key, {}, std::move(at)};
}

/// Which values have an element -inf, as far as their operators tell.
void Denoter::markInfinite() {
  for (const Node& node : program_.nodes()) {
    auto number = node.attributes.find("value");
    bool isInfinite = number != node.attributes.end() && std::isinf(node.number("value"));
    bool reads = std::any_of(node.operands.begin(), node.operands.end(),
                             [&](Value v) { return mayBeInfinite_[static_cast<size_t>(v.node)]; });
    mayBeInfinite_.push_back(isInfinite || (reads && !node.op->facts.ignoresMinusInfinity));
  }
}

/// Multiplies a partial by value[at].
Expected<Denoter::Partials> Denoter::multiply(const Partial& by, Value value, const Index& at) {
  if (auto ok = spend(by); !ok) return tl::unexpected(ok.error());
  const Node& node = program_.node(value);
  if (node.is(ops::kInput)) {
    Partial p = by;
    p.multiply({Factor::Kind::kInput, inputNumber_.at(value.node), "", {}, flat(at)});
    return Partials{std::move(p)};
  }
  if (node.op->meaning == Meaning::kFunction) return multiplyFunction(by, value, at);
  if (node.op->meaning == Meaning::kMaximum) {
    auto number = largest(value);
    if (!number) return tl::unexpected(number.error());
    Partial p = by;
    p.multiply(factorOf(*number, flat(at)));
    return Partials{std::move(p)};
  }
  auto pieces = access(value, at);
  if (!pieces) return tl::unexpected(pieces.error());
  Partials result;
  for (const AccessPiece& piece : *pieces) {
    // 0 · -inf is not 0: a product needs finite operands, even where one of them is zero.
    bool selects = node.is(ops::kSelect);
    for (size_t i = 0; !selects && piece.reads.size() > 1 && i < piece.reads.size(); ++i) {
      Value operand = node.operands[static_cast<size_t>(piece.reads[i].operand)];
      if (mayBeInfinite_[static_cast<size_t>(operand.node)]) return unsupported("-inf in a product");
    }
    if (auto ok = spend(by); !ok) return tl::unexpected(ok.error());
    Partial p = by;
    if (!p.multiply(piece)) continue;
    Partials product{std::move(p)};
    for (const OperandRead& read : piece.reads) {
      Partials next;
      for (const Partial& partial : product) {
        auto inlined = multiply(partial, node.operands[static_cast<size_t>(read.operand)], read.at);
        if (!inlined) return inlined;
        std::move(inlined->begin(), inlined->end(), std::back_inserter(next));
        if (next.size() > kMostPieces) return unsupported("a sum of very many products");
      }
      product = std::move(next);
    }
    std::move(product.begin(), product.end(), std::back_inserter(result));
    if (result.size() > kMostPieces) return unsupported("a sum of very many products");
  }
  return result;
}

Expected<Denotation> denote(const Program& program, Value output, NameSource& names, const Unfold& unfold) {
  // lower() keeps the order of outputs.
  auto position = std::find(program.outputs().begin(), program.outputs().end(), output) - program.outputs().begin();
  auto primitive = lower(program, unfold);
  if (!primitive) return tl::unexpected(primitive.error());
  if (primitive->nodes().size() > kMostNodes)
    return unsupported(fmt::format("a program of more than {} operators", kMostNodes));
  auto result = Denoter(*primitive, names, unfold).run(primitive->outputs()[static_cast<size_t>(position)]);
  if (!result) return result;
  for (const std::string& name : unfold.empty() ? Unfold() : unfoldable(program)->definitions) {
    if (unfold.contains(name)) result->unfolded.insert(name);
  }
  for (std::string_view sign : {kPositive, kNegative}) {
    if (unfold.contains(sign)) result->unfolded.emplace(sign);
  }
  return result;
}

}  // namespace pet
