#include "ir/ops/digits.h"

#include <iterator>
#include <utility>

namespace pet {
namespace {

/// One factor of a product: a number, or a symbolic extent without a constant factor (the first one may have one). An
/// atom k·E further in is two of them, its digit being a·E + e.
struct Factor {
  enum class Part { kWhole, kOuter, kInner };
  size_t axis, atom;
  Part part;
  Expr extent;

  int64_t radix() const { return extent.constant(); }
};

/// A symbolic factor and the numbers that follow it.
struct Group {
  std::optional<size_t> symbolic;  ///< none only where there is no symbolic factor at all
  std::vector<size_t> numbers;
  int64_t count = 1;  ///< the product of the numbers
  int64_t after = 1;  ///< that of all later groups, whose digits move through this one to the first atom
};

/// The factors of Dim::product(axes), outermost first, which folds their numbers into the first atom.
struct Factors {
  std::vector<Factor> all;
  std::vector<size_t> leading;  ///< the numbers before the first symbolic factor
  int64_t leadingCount = 1;
  std::vector<Group> groups;

  explicit Factors(std::span<const Dim> axes) {
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      for (size_t atom = 0; atom < axes[axis].atoms().size(); ++atom)
        add(axis, atom, axes[axis].atoms()[atom]);
    }
    if (groups.empty()) groups.push_back({std::nullopt, std::move(leading), std::exchange(leadingCount, 1)});
    for (size_t g = groups.size() - 1; g-- > 0;)
      groups[g].after = checkedMul(groups[g + 1].after, groups[g + 1].count);
  }

  const Expr& extent(const Group& g) const { return all[*g.symbolic].extent; }
  bool isEmpty() const { return leadingCount * groups[0].count * groups[0].after == 0; }

 private:
  void add(size_t axis, size_t atom, const Expr& extent) {
    int64_t content = extent.content();
    if (!extent.isConstant() && content > 1 && !groups.empty()) {
      number({axis, atom, Factor::Part::kOuter, content});
      symbolic({axis, atom, Factor::Part::kInner, *extent.dividedBy(content)});
    } else if (extent.isConstant()) {
      number({axis, atom, Factor::Part::kWhole, extent});
    } else {
      symbolic({axis, atom, Factor::Part::kWhole, extent});
    }
  }
  void number(Factor f) {
    (groups.empty() ? leading : groups.back().numbers).push_back(all.size());
    int64_t& count = groups.empty() ? leadingCount : groups.back().count;
    count = checkedMul(count, f.radix());
    all.push_back(std::move(f));
  }
  void symbolic(Factor f) {
    groups.push_back({all.size(), {}});
    all.push_back(std::move(f));
  }
};

/// The values of all factors, valid where the guards hold; `carry` is the number that moves between groups.
struct CarryCase {
  std::vector<Expr> values;
  std::vector<Constraint> guards;
  std::vector<Expr> product;  ///< digits of the product as far as they are known, innermost first
  Expr carry = 0;

  /// Adds a guard; false where it never holds.
  bool require(const Constraint& guard) {
    if (guard.decided() == false) return false;
    if (!guard.decided()) guards.push_back(guard);
    return true;
  }
  bool requireDigit(const Expr& digit, const Expr& extent) {
    return require(Constraint::le(0, digit)) && require(Constraint::lt(digit, extent));
  }
};

/// Writes the digits of the mixed-radix number `value`.
void setNumbers(const Factors& f, const std::vector<size_t>& numbers, const Expr& value, std::vector<Expr>& values) {
  Expr rest = value;
  for (size_t i = numbers.size(); i-- > 0;) {
    int64_t radix = f.all[numbers[i]].radix();
    values[numbers[i]] = i == 0 ? rest : modulo(rest, radix);
    rest = floorDiv(rest, radix);
  }
}

Expr numberOf(const Factors& f, const std::vector<size_t>& numbers, const std::vector<Expr>& values) {
  Expr value = 0;
  for (size_t n : numbers)
    value = value * f.all[n].radix() + values[n];
  return value;
}

/// Takes a group's digit x apart: (carry x) = (symbolic numbers carry'), the carry being fixed by case.
std::vector<CarryCase> splitGroup(
    const Factors& f, const Group& g, bool first, const std::vector<CarryCase>& cases, const Expr& x) {
  int64_t inner = checkedMul(g.count, g.after);
  int64_t count = first ? f.leadingCount : inner;
  requireFewCases(cases.size(), count);
  std::vector<CarryCase> result;
  for (const CarryCase& c : cases) {
    for (int64_t o = 0; o < count; ++o) {
      CarryCase n = c;
      Expr low = x, high = 0;
      if (g.symbolic && first) {
        low = modulo(x, inner);
        high = floorDiv(x, inner) - f.extent(g) * o;
        if (f.leadingCount > 1 && !n.requireDigit(high, f.extent(g))) continue;
        setNumbers(f, f.leading, o, n.values);
      } else if (g.symbolic) {
        if (!n.require(Constraint::eq(c.carry, o))) continue;
        low = modulo(f.extent(g) * o + x, inner);
        high = floorDiv(f.extent(g) * o + x, inner);
      }
      if (g.symbolic) n.values[*g.symbolic] = high;
      setNumbers(f, g.numbers, floorDiv(low, g.after), n.values);
      n.carry = modulo(low, g.after);
      result.push_back(std::move(n));
    }
  }
  return result;
}

/// The inverse: (symbolic numbers carry) = (carry' x); x goes to the product's digits, innermost first.
std::vector<CarryCase> joinGroup(const Factors& f, const Group& g, bool first, const std::vector<CarryCase>& cases) {
  int64_t inner = checkedMul(g.count, g.after);
  int64_t count = first ? f.leadingCount : inner;
  requireFewCases(cases.size(), count);
  std::vector<CarryCase> result;
  for (const CarryCase& c : cases) {
    Expr low = numberOf(f, g.numbers, c.values) * g.after + c.carry;
    Expr symbolic = g.symbolic ? c.values[*g.symbolic] : Expr(0), extent = g.symbolic ? f.extent(g) : Expr(0);
    for (int64_t o = 0; o < count; ++o) {
      CarryCase n = c;
      if (first) {
        if (!n.require(Constraint::eq(numberOf(f, f.leading, c.values), o))) continue;
        n.product.push_back((extent * o + symbolic) * inner + low);
      } else {
        n.product.push_back(symbolic * inner + low - extent * o);
        if (inner > 1 && !n.requireDigit(n.product.back(), extent)) continue;
        n.carry = o;
      }
      result.push_back(std::move(n));
    }
  }
  return result;
}

/// The digit a·E + e of an atom k·E is affine once a is a number.
std::vector<DigitCase> axisDigits(const Factors& f, std::span<const Dim> axes, const CarryCase& values) {
  std::vector<DigitCase> cases{{Index(axes.size()), values.guards}};
  for (size_t i = 0; i < f.all.size(); ++i) {
    const Factor& factor = f.all[i];
    bool composite = factor.part == Factor::Part::kOuter;
    requireFewCases(cases.size(), composite ? factor.radix() : 1);
    std::vector<DigitCase> next;
    for (const DigitCase& c : cases) {
      for (int64_t a = 0; a < (composite ? factor.radix() : 1); ++a) {
        Constraint guard = composite ? Constraint::eq(values.values[i], a) : Constraint::eq(0, 0);
        if (guard.decided() == false) continue;
        next.push_back(c);
        if (!guard.decided()) next.back().guards.push_back(guard);
        next.back().digits[factor.axis].push_back(composite ? f.all[i + 1].extent * a + values.values[i + 1]
                                                            : values.values[i]);
      }
    }
    if (factor.part == Factor::Part::kOuter) ++i;
    cases = std::move(next);
  }
  return cases;
}

/// The inverse: the values of all factors.
std::vector<CarryCase> factorValues(const Factors& f, const Index& axisDigits) {
  std::vector<CarryCase> cases{{std::vector<Expr>(f.all.size()), {}, {}}};
  for (size_t i = 0; i < f.all.size(); ++i) {
    const Factor& factor = f.all[i];
    const Expr& digit = axisDigits[factor.axis][factor.atom];
    if (factor.part == Factor::Part::kWhole) {
      for (CarryCase& c : cases)
        c.values[i] = digit;
      continue;
    }
    requireFewCases(cases.size(), factor.radix());
    std::vector<CarryCase> next;
    for (const CarryCase& c : cases) {
      for (int64_t a = 0; a < factor.radix(); ++a) {
        CarryCase n = c;
        n.values[i] = a;
        n.values[i + 1] = digit - f.all[i + 1].extent * a;
        if (n.requireDigit(n.values[i + 1], f.all[i + 1].extent)) next.push_back(std::move(n));
      }
    }
    cases = std::move(next);
    ++i;
  }
  return cases;
}

}  // namespace

std::vector<DigitCase> splitDigits(std::span<const Dim> axes, const std::vector<Expr>& digits) {
  Factors f(axes);
  if (f.isEmpty()) return {};
  std::vector<CarryCase> cases{{std::vector<Expr>(f.all.size()), {}, {}}};
  for (size_t g = 0; g < f.groups.size(); ++g)
    cases = splitGroup(f, f.groups[g], g == 0, cases, digits[g]);
  std::vector<DigitCase> result;
  for (const CarryCase& c : cases) {
    auto further = axisDigits(f, axes, c);
    std::move(further.begin(), further.end(), std::back_inserter(result));
    requireFewCases(result.size(), 1);
  }
  return result;
}

std::vector<DigitCase> joinDigits(std::span<const Dim> axes, const Index& axisDigits) {
  Factors f(axes);
  if (f.isEmpty()) return {};
  std::vector<CarryCase> cases = factorValues(f, axisDigits);
  for (size_t g = f.groups.size(); g-- > 0;)
    cases = joinGroup(f, f.groups[g], g == 0, cases);
  std::vector<DigitCase> result;
  result.reserve(cases.size());
  for (CarryCase& c : cases)
    result.push_back({{{c.product.rbegin(), c.product.rend()}}, std::move(c.guards)});
  return result;
}

std::optional<Dim> divideByOuter(const Dim& d, const Expr& g) {
  if (g == Expr(1)) return d;
  const auto& atoms = d.atoms();
  std::optional<Dim> first;
  if (auto k = g.asConstant()) {
    if (auto q = atoms[0].dividedBy(*k)) first = Dim(*q);
  } else if (atoms[0] == g) {
    first = Dim(1);
  } else if (int64_t gc = g.content(), ac = atoms[0].content(); gc > 0 && ac % gc == 0 && g * (ac / gc) == atoms[0]) {
    first = Dim(ac / gc);
  }
  if (!first) return std::nullopt;
  std::vector<Dim> rest{*first};
  rest.insert(rest.end(), atoms.begin() + 1, atoms.end());
  return Dim::product(rest);
}

// A product keeps its constant factors in the first atom: what is left of g must be the last one.
std::optional<Dim> divideByInner(const Dim& d, const Expr& g) {
  int64_t constant = g.isConstant() ? g.constant() : g.content();
  if (constant < 1) return std::nullopt;
  std::vector<Dim> factors(d.atoms().begin(), d.atoms().end());
  if (!g.isConstant()) {
    const Expr& last = d.atoms().back();
    if (int64_t content = last.content(); content < 1 || *g.dividedBy(constant) * content != last) return std::nullopt;
    factors.back() = Dim(last.content());
  }
  Dim rest = Dim::product(factors);
  auto first = rest.atoms().front().dividedBy(constant);
  if (!first) return std::nullopt;
  factors.assign(rest.atoms().begin(), rest.atoms().end());
  factors.front() = Dim(*first);
  return Dim::product(factors);
}

}  // namespace pet
