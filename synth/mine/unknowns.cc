#include "synth/mine/unknowns.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet::mine {
namespace {

/// floor(numerator / divisor).
struct Floor {
  Expr numerator;
  int64_t divisor;
};

/// An expression with one division, as the floor of everything.
std::optional<Floor> asFloor(const Expr& e) {
  std::optional<Floor> result;
  Expr rest = e;
  for (const auto& [term, coefficient] : e.terms()) {
    if (!term.division) continue;
    if (result || (coefficient != 1 && coefficient != -1)) return std::nullopt;
    const auto& [numerator, divisor] = *term.division;
    rest = rest - floorDiv(numerator, divisor) * coefficient;
    // a - floor(m / k) is floor((k a - m + k - 1) / k).
    result = {coefficient == 1 ? numerator : -numerator + divisor - 1, divisor};
  }
  if (result) result->numerator += rest * result->divisor;
  return result;
}

}  // namespace

Expr Unknowns::fresh(std::string letter, int64_t value, int64_t least) {
  Expr e = extents_.fresh(letter, least);
  values_[*e.asVariable()] = value;
  letters_[*e.asVariable()] = std::move(letter);
  return e;
}

std::optional<Dim> Unknowns::solved(const Dim& d) const {
  std::vector<Dim> atoms;
  for (const Expr& atom : d.atoms())
    atoms.emplace_back(extents_.solved(atom));
  Dim now = Dim::product(atoms);
  std::set<std::string> used;
  for (const Expr& atom : now.atoms())
    atom.collectVariables(used);
  bool product = false;
  rewrite::Symbols by;
  for (const std::string& name : used) {
    auto it = products_.find(name);
    product = product || it != products_.end();
    by.emplace(name, it != products_.end() ? it->second : Dim(Expr::variable(name)));
  }
  if (!product) return now;
  auto replaced = rewrite::substitute(now, by);
  return replaced ? solved(*replaced) : std::nullopt;
}

std::optional<Expr> Unknowns::solved(const Expr& e) const {
  auto d = solved(Dim(e));
  return d && d->isAffine() ? std::optional(d->affine()) : std::nullopt;
}

bool Unknowns::assign(const Dim& unknown, const Dim& product) {
  auto name = unknown.isAffine() ? unknown.affine().asVariable() : std::nullopt;
  if (!name ||
      std::any_of(product.atoms().begin(), product.atoms().end(), [&](const Expr& a) { return a.mentions(*name); }))
    return false;
  products_.emplace(*name, product);
  return true;
}

bool Unknowns::equate(const Dim& left, const Dim& right) {
  auto a = solved(left), b = solved(right);
  if (!a || !b) return false;
  if (*a == *b) return true;
  if (!a->isAffine() || !b->isAffine()) {
    if (assign(*b, *a) || assign(*a, *b)) return true;
    size_t count = a->atoms().size();
    if (count != b->atoms().size()) return false;
    for (size_t i = 0; i < count; ++i) {
      if (value(a->atoms()[i]) != value(b->atoms()[i])) return false;
    }
    Unknowns before = *this;
    for (size_t i = 0; i < count; ++i) {
      if (equate(a->atoms()[i], b->atoms()[i])) continue;
      *this = before;
      return false;
    }
    return true;
  }
  // Equal numerators are more than equal quotients, but what people mean, and simpler.
  auto f = asFloor(a->affine()), g = asFloor(b->affine());
  bool alike = f && g && f->divisor == g->divisor && value(f->numerator) == value(g->numerator);
  return (alike && extents_.equate(f->numerator, g->numerator)) || extents_.equate(a->affine(), b->affine());
}

void Unknowns::pin(const Dim& d) {
  auto now = solved(d);
  std::set<std::string> used;
  for (const Expr& atom : now ? now->atoms() : d.atoms())
    atom.collectVariables(used);
  for (const std::string& name : used) {
    if (auto it = products_.find(name); it != products_.end()) {
      Dim product = it->second;
      pin(product);
      continue;
    }
    if (extents_.equate(Expr::variable(name), values_.find(name)->second))
      pinned_.push_back(fmt::format("{} = {}", letters_.at(name), values_.find(name)->second));
  }
}

Unknowns::Symbols Unknowns::symbols(const std::vector<Dim>& extents) const {
  std::vector<Expr> atoms;
  for (const Dim& d : extents)
    atoms.insert(atoms.end(), d.atoms().begin(), d.atoms().end());
  auto found = extents_.symbols(atoms);
  Symbols result;
  for (const auto& s : found) {
    result.names.emplace(s.unknown, Expr::variable(s.symbol));
    result.symbols.push_back(s.symbol);
    result.values[s.symbol] = values_.find(s.unknown)->second;
  }
  for (const Constraint& c : extents_.bounds(found))
    result.constraints.push_back(c.substitute(result.names));
  return result;
}

}  // namespace pet::mine
