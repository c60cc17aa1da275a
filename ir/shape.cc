#include "ir/shape.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet {

// Every constant factor ends in the first atom: (2 W) = 2W, (N 2) = 2N, (N 2W) = (N W 2) = (2N W), so that equal
// products have equal atoms.
Dim Dim::product(const std::vector<Dim>& factors) {
  std::vector<Expr> folded;
  int64_t constant = 1;
  for (const Dim& factor : factors) {
    for (const Expr& atom : factor.atoms_) {
      int64_t content = atom.isConstant() ? atom.constant() : atom.content();
      constant = checkedMul(constant, content);
      if (!atom.isConstant()) folded.push_back(*atom.dividedBy(content));
    }
  }
  if (folded.empty()) folded.emplace_back(1);
  folded.front() = folded.front() * constant;
  return Dim(std::move(folded));
}

Dim Dim::substitute(const std::map<std::string, Expr>& by) const {
  std::vector<Dim> factors;
  for (const Expr& atom : atoms_)
    factors.emplace_back(atom.substitute(by));
  return product(factors);
}

std::optional<int64_t> Dim::evaluate(const Bindings& bindings) const {
  int64_t n = 1;
  for (const Expr& atom : atoms_) {
    auto v = atom.evaluate(bindings);
    if (!v) return std::nullopt;
    n = checkedMul(n, *v);
  }
  return n;
}

std::optional<Dim> quotient(const Dim& whole, const Dim& factor) {
  auto contentOf = [](const Dim& d) {
    const Expr& first = d.atoms().front();  // numbers stand in the first atom
    return first.isConstant() ? first.constant() : first.content();
  };
  auto primitives = [&](const Dim& d) {
    std::vector<Expr> atoms = d.atoms();
    int64_t content = contentOf(d);
    if (content != 0) atoms.front() = *atoms.front().dividedBy(content);
    std::erase(atoms, Expr(1));
    return atoms;
  };
  const int64_t of = contentOf(whole), by = contentOf(factor);
  if (of == 0 || by == 0 || of % by != 0) return std::nullopt;
  std::vector<Expr> atoms = primitives(whole);
  for (const Expr& atom : primitives(factor)) {
    auto it = std::find(atoms.begin(), atoms.end(), atom);
    if (it == atoms.end()) return std::nullopt;
    atoms.erase(it);
  }
  std::vector<Dim> factors{Dim(of / by)};
  factors.insert(factors.end(), atoms.begin(), atoms.end());
  return Dim::product(factors);
}

std::string Dim::str() const {
  if (isAffine()) return affine().str();
  std::vector<std::string> parts;
  for (const Expr& atom : atoms_) {
    bool simple = atom.terms().size() == 1 && atom.constant() == 0 && atom.terms()[0].second > 0;
    parts.push_back(simple ? atom.str() : "{" + atom.str() + "}");
  }
  return fmt::format("({})", fmt::join(parts, " "));
}

std::string str(const Shape& shape) {
  std::vector<std::string> parts;
  for (const Dim& d : shape)
    parts.push_back(d.str());
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string str(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::optional<Extents> evaluate(const Shape& shape, const Bindings& bindings) {
  Extents result;
  for (const Dim& d : shape) {
    auto v = d.evaluate(bindings);
    if (!v) return std::nullopt;
    result.push_back(*v);
  }
  return result;
}

Shape substitute(const Shape& shape, const std::map<std::string, Expr>& by) {
  Shape result;
  for (const Dim& d : shape)
    result.push_back(d.substitute(by));
  return result;
}

int64_t elementCount(const Extents& extents) {
  int64_t n = 1;
  for (int64_t e : extents)
    n = checkedMul(n, e);
  return n;
}

void ShapeClass::require(const Constraint& constraint) {
  if (constraint.decided() == true) return;
  if (std::find(constraints.begin(), constraints.end(), constraint) == constraints.end()) {
    constraints.push_back(constraint);
  }
}

bool ShapeClass::contains(const Bindings& bindings) const {
  return std::all_of(symbols.begin(), symbols.end(), [&](const auto& s) { return bindings.contains(s); }) &&
         std::all_of(constraints.begin(), constraints.end(),
                     [&](const auto& c) { return c.evaluate(bindings) == true; });
}

std::optional<Extents> asConstants(const Shape& shape) {
  Extents extents;
  for (const Dim& d : shape) {
    auto e = d.asConstant();
    if (!e) return std::nullopt;
    extents.push_back(*e);
  }
  return extents;
}

bool isEmpty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), Dim(0)) != shape.end();
}

}  // namespace pet
