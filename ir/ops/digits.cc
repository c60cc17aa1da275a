#include "ir/ops/digits.h"

namespace pet {
namespace {

/// Where an atom of the product comes from.
struct Source {
  size_t axis, atom;
};
struct ConstantDigit {
  Source from;
  int64_t radix;
};
/// One atom of the folded product: constants outside, at most one symbolic atom, constants inside.
struct Folded {
  std::vector<ConstantDigit> outer, inner;
  std::optional<Source> symbolic;
  Expr extent = 1;  ///< of the symbolic atom

  static int64_t count(const std::vector<ConstantDigit>& digits) {
    int64_t n = 1;
    for (const auto& d : digits) n = checkedMul(n, d.radix);
    return n;
  }
};

/// Mirrors Dim::product.
std::vector<Folded> fold(std::span<const Dim> axes) {
  std::vector<Folded> result;
  std::vector<ConstantDigit> leading;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const auto& atoms = axes[axis].atoms();
    for (size_t atom = 0; atom < atoms.size(); ++atom) {
      if (auto c = atoms[atom].asConstant()) {
        (result.empty() ? leading : result.back().inner).push_back({{axis, atom}, *c});
      } else {
        Folded f;
        f.symbolic = Source{axis, atom};
        f.extent = atoms[atom];
        if (result.empty()) f.outer = std::move(leading);
        result.push_back(std::move(f));
      }
    }
  }
  if (result.empty()) {
    Folded f;
    f.inner = std::move(leading);
    result.push_back(std::move(f));
  }
  return result;
}

/// Digits of the mixed-radix number `value`, outermost first.
std::vector<Expr> radixDigits(const std::vector<ConstantDigit>& digits, const Expr& value) {
  std::vector<Expr> out(digits.size());
  Expr rest = value;
  for (size_t i = digits.size(); i-- > 0;) {
    out[i] = i == 0 ? rest : modulo(rest, digits[i].radix);
    rest = floorDiv(rest, digits[i].radix);
  }
  return out;
}

Expr radixValue(const std::vector<ConstantDigit>& digits, const Index& axisDigits) {
  Expr value = 0;
  for (const auto& d : digits) value = value * d.radix + axisDigits[d.from.axis][d.from.atom];
  return value;
}

Index emptyIndex(std::span<const Dim> axes) {
  Index index;
  for (const Dim& d : axes) index.emplace_back(d.atoms().size());
  return index;
}

/// An atom k·E right of a symbolic one: Dim::product moves k into that one, so its digit is a·E + e by cases of a.
struct Composite {
  int64_t factor;
  Expr extent;
};

struct Refined {
  std::vector<Dim> axes;  ///< one refined axis per atom: a Dim of one atom
  std::vector<std::vector<size_t>> of;  ///< per axis and atom, its first refined axis
  std::vector<std::vector<std::optional<Composite>>> composite;
};

Refined refine(std::span<const Dim> axes) {
  Refined r;
  bool symbolicBefore = false;
  for (const Dim& axis : axes) {
    r.of.emplace_back();
    r.composite.emplace_back();
    for (const Expr& atom : axis.atoms()) {
      r.of.back().push_back(r.axes.size());
      r.composite.back().push_back(std::nullopt);
      int64_t content = atom.content();
      if (symbolicBefore && !atom.isConstant() && content > 1) {
        Expr extent = *atom.dividedBy(content);
        r.composite.back().back() = Composite{content, extent};
        r.axes.emplace_back(content);
        r.axes.emplace_back(extent);
      } else {
        r.axes.emplace_back(atom);
      }
      symbolicBefore = symbolicBefore || !atom.isConstant();
    }
  }
  return r;
}

std::vector<DigitCase> splitPlain(std::span<const Dim> axes, const std::vector<Expr>& digits) {
  std::vector<DigitCase> cases{{emptyIndex(axes), {}}};
  auto folded = fold(axes);
  for (size_t i = 0; i < folded.size(); ++i) {
    const Folded& f = folded[i];
    int64_t inner = Folded::count(f.inner), outer = Folded::count(f.outer);
    // Without a symbolic atom all of the index is the inner number.
    Expr low = f.symbolic ? modulo(digits[i], inner) : digits[i];
    Expr high = f.symbolic ? floorDiv(digits[i], inner) : Expr(0);
    auto innerDigits = radixDigits(f.inner, low);
    std::vector<DigitCase> next;
    for (const DigitCase& c : cases) {
      for (int64_t o = 0; o < outer; ++o) {
        DigitCase n = c;
        for (size_t k = 0; k < f.inner.size(); ++k) n.digits[f.inner[k].from.axis][f.inner[k].from.atom] = innerDigits[k];
        auto outerDigits = radixDigits(f.outer, o);
        for (size_t k = 0; k < f.outer.size(); ++k) n.digits[f.outer[k].from.axis][f.outer[k].from.atom] = outerDigits[k];
        Expr x = high - f.extent * o;
        if (outer > 1) {
          n.guards.push_back(Constraint::le(0, x));
          n.guards.push_back(Constraint::lt(x, f.extent));
        }
        if (f.symbolic) n.digits[f.symbolic->axis][f.symbolic->atom] = x;
        next.push_back(std::move(n));
      }
    }
    cases = std::move(next);
  }
  return cases;
}

std::vector<DigitCase> joinPlain(std::span<const Dim> axes, const Index& axisDigits) {
  std::vector<DigitCase> cases{{{{}}, {}}};
  for (const Folded& f : fold(axes)) {
    int64_t inner = Folded::count(f.inner), outer = Folded::count(f.outer);
    Expr low = radixValue(f.inner, axisDigits), high = radixValue(f.outer, axisDigits);
    Expr x = f.symbolic ? axisDigits[f.symbolic->axis][f.symbolic->atom] : Expr(0);
    std::vector<DigitCase> next;
    for (const DigitCase& c : cases) {
      for (int64_t o = 0; o < outer; ++o) {  // o·extent is affine once o is a number
        DigitCase n = c;
        if (outer > 1) {
          Constraint guard = Constraint::eq(high, o);
          if (guard.decided() == false) continue;
          if (!guard.decided()) n.guards.push_back(guard);
        }
        n.digits[0].push_back((f.extent * o + x) * inner + low);
        next.push_back(std::move(n));
      }
    }
    cases = std::move(next);
  }
  return cases;
}

}  // namespace

std::vector<DigitCase> splitDigits(std::span<const Dim> axes, const std::vector<Expr>& digits) {
  Refined r = refine(axes);
  std::vector<DigitCase> result;
  for (const DigitCase& plain : splitPlain(r.axes, digits)) {
    std::vector<DigitCase> cases{{Index(axes.size()), plain.guards}};
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      for (size_t atom = 0; atom < r.of[axis].size(); ++atom) {
        size_t first = r.of[axis][atom];
        const auto& composite = r.composite[axis][atom];
        if (!composite) {
          for (DigitCase& c : cases) c.digits[axis].push_back(plain.digits[first][0]);
          continue;
        }
        std::vector<DigitCase> next;
        for (const DigitCase& c : cases) {
          for (int64_t a = 0; a < composite->factor; ++a) {
            Constraint guard = Constraint::eq(plain.digits[first][0], a);
            if (guard.decided() == false) continue;
            next.push_back(c);
            if (!guard.decided()) next.back().guards.push_back(guard);
            next.back().digits[axis].push_back(composite->extent * a + plain.digits[first + 1][0]);
          }
        }
        cases = std::move(next);
      }
    }
    std::move(cases.begin(), cases.end(), std::back_inserter(result));
  }
  return result;
}

std::vector<DigitCase> joinDigits(std::span<const Dim> axes, const Index& axisDigits) {
  Refined r = refine(axes);
  std::vector<DigitCase> refined{{Index(r.axes.size()), {}}};
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    for (size_t atom = 0; atom < r.of[axis].size(); ++atom) {
      size_t first = r.of[axis][atom];
      const Expr& digit = axisDigits[axis][atom];
      const auto& composite = r.composite[axis][atom];
      if (!composite) {
        for (DigitCase& c : refined) c.digits[first] = {digit};
        continue;
      }
      std::vector<DigitCase> next;
      for (const DigitCase& c : refined) {
        for (int64_t a = 0; a < composite->factor; ++a) {
          Expr inner = digit - composite->extent * a;
          next.push_back(c);
          next.back().digits[first] = {Expr(a)};
          next.back().digits[first + 1] = {inner};
          next.back().guards.push_back(Constraint::le(0, inner));
          next.back().guards.push_back(Constraint::lt(inner, composite->extent));
        }
      }
      refined = std::move(next);
    }
  }
  std::vector<DigitCase> result;
  for (const DigitCase& c : refined) {
    for (DigitCase joined : joinPlain(r.axes, c.digits)) {
      joined.guards.insert(joined.guards.begin(), c.guards.begin(), c.guards.end());
      result.push_back(std::move(joined));
    }
  }
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

}  // namespace pet
