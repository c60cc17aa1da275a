#include "synth/numerics/intermediates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/names.h"
#include "synth/numerics/pieces.h"

namespace pet {
namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

/// How many factors of each kind a product has: "activation", "weight", a function's name.
using ProductKind = std::map<std::string, int>;
/// The largest coefficient of the products of each kind.
using Products = std::map<ProductKind, double>;

void enter(Products& products, const ProductKind& kind, double coefficient) {
  double& most = products[kind];
  most = std::max(most, coefficient);
}

Products operator*(const Products& a, const Products& b) {
  Products result;
  for (const auto& [left, x] : a) {
    for (const auto& [right, y] : b) {
      ProductKind kind = left;
      for (const auto& [factor, count] : right)
        kind[factor] += count;
      enter(result, kind, x * y);
    }
  }
  return result;
}

/// |f(x)| <= |x|: what bounds the operand bounds the value.
bool shrinks(const Facts& facts) {
  return facts.positivePart;
}

/// Not is 0 or 1.
Products ofFunction(std::string_view name) {
  return {{name == ops::kNot.text ? ProductKind{} : ProductKind{{std::string(name), 1}}, 1}};
}

/// The largest of the numbers that a factor stands for. Shares of a mean and weights of a resampling are at most 1.
double largest(const Factor& f) {
  if (f.key.rfind("Table", 0) != 0) return std::abs(numberOf(f).value_or(1));
  int64_t most = 0;
  auto rank = static_cast<size_t>(f.parameters[1].constant());
  for (size_t i = 2 + rank; i < f.parameters.size(); ++i)
    most = std::max(most, std::abs(f.parameters[i].constant()));
  return static_cast<double>(most) / static_cast<double>(f.parameters[0].constant());
}

// --- Values on the way ---

/// Per node; nullopt: no relation is known.
class NodeProducts {
 public:
  explicit NodeProducts(const Program& program) : program_(program) {}

  std::optional<std::vector<Products>> run() {
    for (const Node& node : program_.nodes()) {
      auto products = of(node);
      if (!products) return std::nullopt;
      known_.push_back(std::move(*products));
    }
    return std::move(known_);
  }

 private:
  const Program& program_;
  std::vector<Products> known_;
  NameSource names_;

  const Products& of(Value v) const { return known_[static_cast<size_t>(v.node)]; }

  std::optional<Products> of(const Node& node) {
    if (node.is(ops::kInput)) {
      bool isWeight = node.scalar("constant") == Expr(1);
      return Products{{{{isWeight ? "weight" : "activation", 1}}, 1}};
    }
    if (shrinks(node.op->facts)) return of(node.operands[0]);
    if (node.op->meaning == Meaning::kFunction) return ofFunction(node.op->name);
    bool hidden = node.is(ops::kGemm) && node.number("alpha") == 0;  // a product times zero, and no piece of it
    if (!node.op->access || hidden) return std::nullopt;
    std::vector<Shape> shapes;
    for (Value v : node.operands)
      shapes.push_back(program_.shape(v));
    Products result;
    for (size_t o = 0; o < node.shapes.size(); ++o) {
      auto pieces = node.op->access({node.attributes, shapes, node.shapes}, static_cast<int>(o),
                                    somewhere(node.shapes[o]), names_);
      if (!pieces) return std::nullopt;
      for (const AccessPiece& piece : *pieces)
        add(result, piece, node);
    }
    if (node.is(ops::kAdd) && node.operands[0] == node.operands[1]) {
      for (auto& [kind, coefficient] : result)
        coefficient *= 2;
    }
    return result;
  }

  Index somewhere(const Shape& shape) {
    Index at;
    for (const Dim& d : shape) {
      at.emplace_back();
      for (size_t a = 0; a < d.atoms().size(); ++a)
        at.back().push_back(Expr::variable(names_.fresh("v")));
    }
    return at;
  }

  void add(Products& to, const AccessPiece& piece, const Node& node) const {
    if (piece.minusInfinity) return;
    Products all{{{},
                  std::abs(static_cast<double>(piece.coefficient.numerator)) /
                      static_cast<double>(piece.coefficient.denominator)}};
    for (const ConstantRead& c : piece.constants)
      all.begin()->second *= largest({Factor::Kind::kConstant, 0, c.key, c.parameters, c.at});
    for (const OperandRead& read : piece.reads)
      all = all * of(node.operands[static_cast<size_t>(read.operand)]);
    for (const auto& [kind, coefficient] : all)
      enter(to, kind, coefficient);
  }
};

bool isWithin(const ProductKind& inner, const ProductKind& outer) {
  return std::all_of(inner.begin(), inner.end(), [&](const auto& factor) {
    auto it = outer.find(factor.first);
    return it != outer.end() && factor.second <= it->second;
  });
}

/// Nodes whose values come unscaled into an output, or into the operand of a function or a maximum: what is said of
/// these holds for them.
std::vector<bool> comeUnscaled(const Program& program) {
  std::vector<bool> result(program.nodes().size());
  for (Value v : program.outputs())
    result[static_cast<size_t>(v.node)] = true;
  for (size_t i = program.nodes().size(); i-- > 0;) {
    const Node& n = program.nodes()[i];
    const Arithmetic by = n.op->rounding.arithmetic;
    bool adds = by == Arithmetic::kMove || by == Arithmetic::kSum;
    if (n.op->meaning == Meaning::kSum && !(adds && result[i])) continue;
    for (Value v : n.operands)
      result[static_cast<size_t>(v.node)] = true;
  }
  return result;
}

/// Numbers that are computed may be as large as those that are given.
double largestNumber(const Program& program, const std::vector<Products>& nodes) {
  double most = 1;
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto number = nodes[i].find({});
    if (program.nodes()[i].operands.empty() && number != nodes[i].end()) most = std::max(most, number->second);
  }
  return most;
}

/// How much larger the products of a node are than the pattern's.
std::optional<double> growthOver(const Products& pattern, const Products& node, bool unscaled) {
  double most = 1;
  for (const auto& [kind, coefficient] : node) {
    std::optional<double> known;
    for (const auto& [outer, other] : pattern) {
      if (isWithin(kind, outer)) known = std::max({1.0, other, known.value_or(1)});
    }
    if (!known) return std::nullopt;
    if (!unscaled) most = std::max(most, coefficient / *known);
  }
  return most;
}

// --- What functions are taken of ---

/// The operands of applications, by function.
using Arguments = std::multimap<std::string, std::vector<Products>>;

class ArgumentCollector {
 public:
  /// `context`: pieces without a point in its class are left out. Null: they are not looked for.
  ArgumentCollector(const Denotation& d, const poly::Context* context) : d_(d), context_(context) {}

  void addTo(Arguments& all) const {
    for (const Application& a : d_.applications) {
      // Of any operand the value is at most 1, or at most as large.
      if (a.isMaximum() || a.key == ops::kNot.text || shrinks(a.facts)) continue;
      std::vector<Products> operands;
      for (int sum : a.arguments)
        operands.push_back(of(d_.sum(sum)));
      auto [first, last] = all.equal_range(a.key);
      if (std::none_of(first, last, [&](const auto& known) { return known.second == operands; }))
        all.emplace(a.key, std::move(operands));
    }
  }

 private:
  const Denotation& d_;
  const poly::Context* context_;

  /// No point of it, or the sum is -inf at all of them.
  bool isEmpty(const Sum& sum, const Piece& piece) const {
    if (!context_) return false;
    return std::all_of(sum.finite.begin(), sum.finite.end(), [&](const std::vector<Constraint>& part) {
      poly::Conjunction all = piece.domain;
      all.insert(all.end(), part.begin(), part.end());
      return context_->set(join(sum.index, piece.reduction), all).isEmpty();
    });
  }

  Products of(const Sum& sum) const {
    Products result;
    for (const Piece& piece : sum.pieces) {
      if (isEmpty(sum, piece)) continue;
      Products all{{{}, magnitudeOf(piece)}};
      for (const Factor& f : piece.factors)
        all = all * of(f);
      for (const auto& [kind, coefficient] : all)
        enter(result, kind, coefficient);
    }
    return result;
  }

  Products of(const Factor& f) const {
    // Whether an input is a weight does not matter here: only equal kinds will do.
    if (f.kind == Factor::Kind::kInput) return {{{{"input", 1}}, 1}};
    if (f.kind == Factor::Kind::kConstant) return {{{}, numberOf(f) ? 1 : largest(f)}};
    const Application& a = d_.applications[static_cast<size_t>(f.number)];
    if (shrinks(a.facts)) return of(d_.sum(a.arguments[0]));
    if (!a.isMaximum()) return ofFunction(a.key);
    Products result;
    for (const Application::Alternative& alternative : a.alternatives) {
      for (const auto& [kind, coefficient] : of(d_.sum(alternative.element)))
        enter(result, kind, coefficient);
    }
    return result;
  }
};

/// Nullopt: some function's value has no meaning.
std::optional<Arguments> argumentsOf(const Program& program, const poly::Context* context) {
  Arguments result;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    if (program.nodes()[i].op->meaning != Meaning::kFunction) continue;
    auto d = denotationOf(program, {static_cast<int>(i), 0});
    if (!d) return std::nullopt;
    ArgumentCollector(*d, context).addTo(result);
  }
  return result;
}

/// Every product of one has one of the same kind in the other that is as large.
bool isWithin(const std::vector<Products>& inner, const std::vector<Products>& outer) {
  if (inner.size() != outer.size()) return false;
  for (size_t i = 0; i < inner.size(); ++i) {
    for (const auto& [kind, coefficient] : inner[i]) {
      auto it = outer[i].find(kind);
      if (it == outer[i].end() || coefficient > it->second) return false;
    }
  }
  return true;
}

bool areAmong(const Arguments& pattern, const Arguments& replacement) {
  return std::all_of(replacement.begin(), replacement.end(), [&](const auto& application) {
    auto [first, last] = pattern.equal_range(application.first);
    return std::any_of(first, last, [&](const auto& known) { return isWithin(application.second, known.second); });
  });
}

/// Every function of the replacement is taken of what the pattern takes it of, where there is anything.
bool areTakenByThePattern(const poly::Context& context, const Program& pattern, const Program& replacement) {
  auto theirs = argumentsOf(pattern, nullptr), ours = argumentsOf(replacement, nullptr);
  if (!theirs || !ours) return false;
  if (areAmong(*theirs, *ours)) return true;
  return areAmong(*theirs, *argumentsOf(replacement, &context));
}

}  // namespace

std::optional<double> intermediateGrowth(const poly::Context& context,
                                         const Program& pattern,
                                         const Program& replacement) {
  auto theirs = NodeProducts(pattern).run(), ours = NodeProducts(replacement).run();
  if (!theirs || !ours) return std::nullopt;
  Products known;
  for (const Products& node : *theirs) {
    for (const auto& [kind, coefficient] : node)
      enter(known, kind, coefficient);
  }
  double given = largestNumber(replacement, *ours);
  if (given > kLargestFloat) return std::nullopt;
  enter(known, {}, given);
  std::vector<bool> unscaled = comeUnscaled(replacement);
  double most = 1;
  for (size_t i = 0; i < ours->size(); ++i) {
    auto growth = growthOver(known, (*ours)[i], unscaled[i]);
    if (!growth) return std::nullopt;
    most = std::max(most, *growth);
  }
  return areTakenByThePattern(context, pattern, replacement) ? std::optional(most) : std::nullopt;
}

}  // namespace pet
