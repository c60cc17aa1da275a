#include "applier/infer/sizes.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>

namespace pet {
namespace {

constexpr size_t kMostTermsOfSize = 48;  ///< of one Dim, those within divisions too
constexpr size_t kLongestName = 64;
constexpr size_t kMostPositive = 256;                ///< extents that are positive since the model runs
constexpr int kMostMade = 1'000'000;                 ///< symbols
constexpr size_t kMostRemembered = size_t{1} << 26;  ///< bytes of operations and operands

/// A Dim taken apart: constant · Π atoms, each atom without a common factor of its coefficients, positive in its first
/// one, and sorted.
struct Factors {
  int64_t constant = 1;
  std::vector<Expr> atoms;
};

Factors factorsOf(const Dim& d) {
  Factors f;
  for (const Expr& atom : d.atoms()) {
    if (atom.isConstant()) {
      f.constant = checkedMul(f.constant, atom.constant());
      continue;
    }
    int64_t content = atom.content();
    if (atom.terms().front().second < 0) content = -content;
    f.constant = checkedMul(f.constant, content);
    f.atoms.push_back(*atom.dividedBy(content));
  }
  if (f.constant == 0) f.atoms.clear();
  std::sort(f.atoms.begin(), f.atoms.end());
  return f;
}

Dim joined(const Factors& f) {
  if (f.constant == 0) return Dim(0);
  std::vector<Dim> factors{Dim(f.constant)};
  for (const Expr& atom : f.atoms)
    factors.emplace_back(atom);
  return Dim::product(factors);
}

/// Takes the atoms that both have out of both.
std::vector<Expr> takeCommon(Factors& a, Factors& b) {
  std::vector<Expr> common;
  for (size_t i = 0; i < a.atoms.size();) {
    auto other = std::find(b.atoms.begin(), b.atoms.end(), a.atoms[i]);
    if (other == b.atoms.end()) {
      ++i;
      continue;
    }
    common.push_back(a.atoms[i]);
    b.atoms.erase(other);
    a.atoms.erase(a.atoms.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return common;
}

size_t termsOf(const Expr& e) {
  size_t n = 1;
  for (const auto& [term, c] : e.terms())
    n += term.division ? 1 + termsOf(term.division->numerator) : 1;
  return n;
}

size_t termsOf(const Dim& d) {
  size_t n = 0;
  for (const Expr& atom : d.atoms())
    n += termsOf(atom);
  return n;
}

/// The first term with a division that counts negatively; null if there is none.
const std::pair<Expr::Term, int64_t>* negativeDivision(const Expr& e) {
  for (const auto& entry : e.terms()) {
    if (entry.first.division && entry.second < 0) return &entry;
  }
  return nullptr;
}

bool isBefore(const Dim& a, const Dim& b) {
  return a.atoms() < b.atoms();
}

/// The operation that a symbol stands for, on numbers; nullopt: it has no value there.
std::optional<int64_t> applied(std::string_view operation, int64_t a, int64_t b) {
  if (operation == "size") return a;
  if (operation == "+") return checkedAdd(a, b);
  if (operation == "max") return std::max(a, b);
  if (operation == "min") return std::min(a, b);
  if (operation == "abs") return std::abs(a);
  if (operation == "broadcast") return b == 1 || a == b ? std::optional(a) : a == 1 ? std::optional(b) : std::nullopt;
  if (b <= 0) return std::nullopt;
  if (operation == "/") return a / b;
  if (operation == "floor /") return floorDivide(a, b);
  if (operation == "exact /") return a % b == 0 ? std::optional(a / b) : std::nullopt;
  return a < 0 ? std::nullopt : std::optional(a % b);  // mod, fmod
}

std::string identifierOf(std::string_view text) {
  std::string name;
  for (char c : text.substr(0, kLongestName))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "_");
  return name == "floor" ? "floor_" : name;
}

}  // namespace

size_t termsOf(const Shape& shape) {
  size_t n = 0;
  for (const Dim& d : shape)
    n += termsOf(d);
  return n;
}

Dim Sizes::symbol(std::string name, std::optional<int64_t> least) {
  if (ofInputs_) equal_.enter(name);
  const Expr is = known_.of(name);
  taken_.insert(std::move(name));
  if (is.isConstant()) return is;
  auto [known, isNew] = least_.try_emplace(*is.asVariable(), least);
  if (!isNew) known->second = std::max(known->second, least);
  return is;
}

Dim Sizes::named(std::string_view fileName, int64_t least) {
  if (auto it = names_.find(fileName); it != names_.end()) return known_.of(it->second);
  std::string base = identifierOf(fileName), name = base;
  for (int i = 2; taken_.contains(name); ++i)
    name = fmt::format("{}_{}", base, i);
  names_.emplace(fileName, name);
  return symbol(name, least);
}

Dim Sizes::fresh(std::optional<int64_t> least) {
  if (!canMakeMore()) throw OverflowError();
  std::string name;
  do {
    name = fmt::format("d{}", next_++);
  } while (taken_.contains(name));
  made_.emplace(name, made_.size());
  return symbol(name, least);
}

Dim Sizes::varying() {
  Dim d = fresh();
  varying_.insert(*d.affine().asVariable());
  return d;
}

bool Sizes::isFrom(const Dim& d, size_t moment) const {
  std::set<std::string> symbols;
  for (const Expr& atom : d.atoms())
    atom.collectVariables(symbols);
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string& name) {
    auto it = made_.find(name);
    return it == made_.end() || it->second < moment;
  });
}

bool Sizes::isOfInputs(const Dim& d) const {
  std::set<std::string> symbols;
  for (const Expr& atom : d.atoms())
    atom.collectVariables(symbols);
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string& name) { return equal_.hasEntered(name); });
}

bool Sizes::canMakeMore() const {
  return next_ <= kMostMade;
}

bool Sizes::isMade(const Dim& d) const {
  auto name = d.isAffine() ? d.affine().asVariable() : std::nullopt;
  return name && made_.contains(*name) && !varying_.contains(*name);
}

Dim Sizes::opaque(std::string_view operation, const Dim& a, const Dim& b, std::optional<int64_t> least) {
  std::string key = fmt::format("{}: {}, {}", operation, a.str(), b.str());
  if (auto it = opaque_.find(key); it != opaque_.end()) return it->second;
  Dim made = fresh(least);
  remembered_ += key.size();
  if (remembered_ > kMostRemembered) return made;
  if (auto name = made.affine().asVariable()) {
    operations_.emplace_back(*name, [operation = std::string(operation), a, b](const Bindings& sizes) {
      const auto x = a.evaluate(sizes), y = b.evaluate(sizes);
      return x && y ? applied(operation, *x, *y) : std::nullopt;
    });
  }
  opaque_.emplace(std::move(key), made);
  return made;
}

Dim Sizes::bounded(Dim d) {
  return termsOf(d) <= kMostTermsOfSize ? d : opaque("size", d, Dim(0), least(d));
}

// Where neither is affine, a sum is a product all the same if all but one atom are common: N·S + N = N(S + 1).
std::map<std::string, int64_t, std::less<>> Sizes::leastValues() const {
  std::map<std::string, int64_t, std::less<>> values;
  for (const auto& [symbol, least] : least_) {
    if (least) values.emplace(symbol, *least);
  }
  return values;
}

Dim Sizes::add(const Dim& a, const Dim& b) {
  if (a.isAffine() && b.isAffine()) return bounded(a.affine() + b.affine());
  Factors x = factorsOf(a), y = factorsOf(b);
  if (x.constant == 0) return b;
  if (y.constant == 0) return a;
  Factors common;
  common.atoms = takeCommon(x, y);
  if (x.atoms.size() <= 1 && y.atoms.size() <= 1) {
    Expr sum = joined(x).affine() + joined(y).affine();
    return multiply(joined(common), sum);
  }
  auto la = least(a), lb = least(b);
  auto bound = la && lb ? std::optional(checkedAdd(*la, *lb)) : std::nullopt;
  return isBefore(b, a) ? opaque("+", b, a, bound) : opaque("+", a, b, bound);
}

Dim Sizes::multiply(const Dim& a, const Dim& b) {
  if (auto k = a.asConstant(); k && b.isAffine()) return bounded(b.affine() * *k);
  if (auto k = b.asConstant(); k && a.isAffine()) return bounded(a.affine() * *k);
  Factors x = factorsOf(a), y = factorsOf(b);
  x.constant = checkedMul(x.constant, y.constant);
  x.atoms.insert(x.atoms.end(), y.atoms.begin(), y.atoms.end());
  std::sort(x.atoms.begin(), x.atoms.end());
  return bounded(joined(x));
}

Dim Sizes::product(const Shape& shape) {
  Dim total = 1;
  for (const Dim& d : shape)
    total = multiply(total, d);
  return total;
}

Dim Sizes::quotient(const Dim& a, const Dim& b) {
  Factors x = factorsOf(a), y = factorsOf(b);
  if (y.constant == 0) return fresh();
  takeCommon(x, y);
  int64_t g = std::gcd(x.constant, y.constant);
  x.constant /= y.constant < 0 ? -g : g;
  y.constant = (y.constant < 0 ? -y.constant : y.constant) / g;
  if (y.atoms.empty() && y.constant == 1) return bounded(joined(x));
  if (y.atoms.empty() && x.atoms.size() <= 1) return floorDivide(joined(x), y.constant);
  return opaque("exact /", joined(x), joined(y), 0);
}

Dim Sizes::floorDivide(const Dim& a, int64_t divisor) {
  if (divisor == 1) return a;
  if (a.isAffine()) return bounded(floorDiv(a.affine(), divisor));
  if (Factors f = factorsOf(a); f.constant % divisor == 0) {
    f.constant /= divisor;
    return joined(f);
  }
  auto bound = least(a);
  return opaque("floor /", a, Dim(divisor), bound ? std::optional(pet::floorDivide(*bound, divisor)) : std::nullopt);
}

std::optional<Dim> Sizes::divide(const Dim& a, const Dim& b) {
  auto k = b.asConstant();
  if (k == 0) return std::nullopt;
  if (auto x = a.asConstant(); x && k) return *k == -1 ? Dim(checkedMul(*x, -1)) : Dim(*x / *k);
  auto bound = least(a);
  if (k && *k > 0 && bound >= 0) return floorDivide(a, *k);
  Factors x = factorsOf(a), y = factorsOf(b);
  bool divisible = least(b) >= 1;
  takeCommon(x, y);
  if (divisible && y.atoms.empty() && x.constant % y.constant == 0) {
    x.constant /= y.constant;
    return joined(x);
  }
  bool positive = bound >= 0 && least(b) >= 0;
  return opaque("/", a, b, positive ? std::optional<int64_t>(0) : std::nullopt);
}

std::optional<Dim> Sizes::modulo(const Dim& a, const Dim& b, bool fmod) {
  auto k = b.asConstant();
  if (k == 0) return std::nullopt;
  if (auto x = a.asConstant(); x && k) {
    int64_t r = *k == -1 ? 0 : *x % *k;
    return Dim(!fmod && r != 0 && (r < 0) != (*k < 0) ? r + *k : r);
  }
  bool positive = !fmod || least(a) >= 0;
  if (k && *k > 0 && positive && a.isAffine()) return bounded(pet::modulo(a.affine(), *k));
  return opaque(fmod ? "fmod" : "mod", a, b, positive && least(b) >= 0 ? std::optional<int64_t>(0) : std::nullopt);
}

Dim Sizes::maximum(const Dim& a, const Dim& b) {
  if (isAtLeast(a, b)) return a;
  if (isAtLeast(b, a)) return b;
  auto la = least(a), lb = least(b);
  auto bound = la && lb ? std::optional(std::max(*la, *lb)) : la ? la : lb;
  return isBefore(b, a) ? opaque("max", b, a, bound) : opaque("max", a, b, bound);
}

Dim Sizes::minimum(const Dim& a, const Dim& b) {
  if (isAtLeast(a, b)) return b;
  if (isAtLeast(b, a)) return a;
  auto la = least(a), lb = least(b);
  auto bound = la && lb ? std::optional(std::min(*la, *lb)) : std::nullopt;
  Dim made = isBefore(b, a) ? opaque("min", b, a, bound) : opaque("min", a, b, bound);
  bounds_.insert_or_assign(*made.affine().asVariable(), std::pair(a, b));
  return made;
}

Dim Sizes::absolute(const Dim& a) {
  if (least(a) >= 0) return a;
  Dim negated = multiply(a, Dim(-1));
  return least(negated) >= 0 ? negated : opaque("abs", a, Dim(0), 0);
}

std::optional<Dim> Sizes::broadcast(const Dim& a, const Dim& b) {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  auto x = a.asConstant(), y = b.asConstant();
  if (x && y) return std::nullopt;
  if (x) return a;
  if (y) return b;
  if (least(b) >= 1 && isAtLeast(a, b)) return a;  // equal, or b = 1
  if (least(a) >= 1 && isAtLeast(b, a)) return b;
  auto la = least(a), lb = least(b);
  auto bound = la && lb ? std::min(*la, *lb) : 0;
  return isBefore(b, a) ? opaque("broadcast", b, a, bound) : opaque("broadcast", a, b, bound);
}

Dim Sizes::sharper(const Dim& a, const Dim& b) const {
  return !a.asConstant() && (b.asConstant() || isMade(a)) ? b : a;
}

// A sum of variables has its least value where they have theirs. A floor counts at least that of its numerator's least
// value; one that counts negatively at least as -n/d, which is linear: c·floor(n/d) >= c·n/d for c < 0.
std::optional<int64_t> Sizes::least(Expr e) const {
  int64_t scale = 1;
  for (size_t steps = 0; const auto* entry = negativeDivision(e); ++steps) {
    if (steps == kMostTermsOfSize) return std::nullopt;
    auto [term, c] = *entry;
    const Expr& numerator = term.division->numerator;
    int64_t divisor = term.division->divisor;
    Expr rest = e - floorDiv(numerator, divisor) * c;
    if (negativeDivision(rest) && termsOf(rest) >= termsOf(e)) return std::nullopt;
    e = rest * divisor + numerator * c;
    scale = checkedMul(scale, divisor);
  }
  int64_t sum = e.constant();
  for (const auto& [term, c] : e.terms()) {
    std::optional<int64_t> bound;
    if (term.division) {
      bound = least(term.division->numerator);
      if (bound) bound = pet::floorDivide(*bound, term.division->divisor);
    } else if (auto it = least_.find(term.name); it != least_.end()) {
      bound = it->second;
    }
    if (!bound || c < 0) return std::nullopt;
    sum = checkedAdd(sum, checkedMul(c, *bound));
  }
  return -pet::floorDivide(-sum, scale);
}

void Sizes::requirePositive(const Dim& d) {
  const auto bound = least(d);
  if (d.isAffine() && (!bound || *bound < 1) && positive_.size() < kMostPositive) positive_.push_back(d.affine());
}

std::optional<int64_t> Sizes::least(const Dim& d) const {
  try {
    if (d.isAffine() && std::find(positive_.begin(), positive_.end(), d.affine()) != positive_.end())
      return std::max<int64_t>(1, least(d.affine()).value_or(1));
    int64_t bound = 1;
    for (const Expr& atom : d.atoms()) {
      auto b = least(atom);
      if (!b || (*b < 0 && !d.isAffine())) return std::nullopt;
      bound = checkedMul(bound, *b);
    }
    return bound;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

bool Sizes::isAtLeast(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (isMade(b)) {
    auto it = bounds_.find(*b.affine().asVariable());
    if (it != bounds_.end() && (a == it->second.first || a == it->second.second)) return true;
  }
  if (a.isAffine() && b.isAffine()) return least(Dim(a.affine() - b.affine())) >= 0;
  if (auto k = b.asConstant()) return least(a) >= *k;
  Factors x = factorsOf(a), y = factorsOf(b);
  auto common = takeCommon(x, y);
  bool positive = std::all_of(common.begin(), common.end(), [&](const Expr& e) { return least(Dim(e)) >= 0; });
  if (!positive || x.atoms.size() > 1 || y.atoms.size() > 1) return false;
  return least(Dim(joined(x).affine() - joined(y).affine())) >= 0;
}

std::optional<bool> Sizes::isEqual(const Dim& a, const Dim& b) {
  if (a == b) return true;
  try {
    if (isAtLeast(a, add(b, Dim(1))) || isAtLeast(b, add(a, Dim(1)))) return false;
  } catch (const OverflowError&) {
  }
  return std::nullopt;
}

}  // namespace pet
