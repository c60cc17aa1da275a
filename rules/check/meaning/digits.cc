#include "rules/check/meaning/digits.h"

#include <functional>

#include "ir/limits.h"

// The parts' atoms, outermost first, are a sequence of numbers and symbolic extents. Dim::product keeps the order of
// the symbolic ones and multiplies all numbers into the first of them:
//
//     parts   n0 · E0 · n1 · E1 · n2 …          whole   (n0 · E0 · n1 · n2 …) · E1 · …
//
// so that the number that stands behind E1 has to move in front of it: E1's digit in the whole is a position in
// [0, E1), in the parts a position in [0, E1) of the same count, shifted by o · E1, where o is the number that moved.
// There is one case for each value of o, and for each value of n0.
namespace pet::check {
namespace {

/// One atom of a part, or one half of an atom k · E further in: there k counts as a number before E.
struct Atom {
  enum class Kind { kNumber, kSymbolic, kOuterHalf };
  Kind kind;
  size_t part;
  Expr extent;
};

/// E and the numbers up to the next symbolic extent.
struct Stretch {
  size_t symbolic = 0;
  std::vector<size_t> numbers = {};
  int64_t own = 1;     ///< the product of its numbers
  int64_t moving = 1;  ///< that of the numbers of all later stretches
  int64_t behind() const { return checkedMul(own, moving); }
};

struct System {
  std::vector<Atom> atoms;
  std::vector<size_t> front;  ///< the numbers before the first symbolic extent
  int64_t frontCount = 1;
  std::vector<Stretch> stretches;  ///< none: there are numbers only

  explicit System(const std::vector<Dim>& parts) {
    for (size_t part = 0; part < parts.size(); ++part) {
      for (const Expr& e : parts[part].atoms())
        append(part, e);
    }
    for (size_t i = stretches.size(); i-- > 1;)
      stretches[i - 1].moving = stretches[i].behind();
  }

  /// One more case was begun, of those for one digit too. Throws Opaque where there are too many
  /// (docs/rule-language.md, Limits).
  void begin() const {
    if (++begun_ > 16 * kMostCases) throw Opaque("a regrouping of dimensions with very many cases");
  }
  bool isEmpty() const { return frontCount == 0 || (!stretches.empty() && stretches[0].behind() == 0); }
  const Expr& symbol(const Stretch& s) const { return atoms[s.symbolic].extent; }

 private:
  mutable size_t begun_ = 0;

  void append(size_t part, const Expr& extent) {
    int64_t k = extent.content();
    if (extent.isConstant()) return number({Atom::Kind::kNumber, part, extent});
    if (k > 1 && !stretches.empty()) {
      number({Atom::Kind::kOuterHalf, part, k});
      return symbolic(part, *extent.dividedBy(k));
    }
    symbolic(part, extent);
  }
  void number(Atom atom) {
    int64_t& count = stretches.empty() ? frontCount : stretches.back().own;
    count = checkedMul(count, atom.extent.constant());
    (stretches.empty() ? front : stretches.back().numbers).push_back(atoms.size());
    atoms.push_back(std::move(atom));
  }
  void symbolic(size_t part, const Expr& extent) {
    stretches.push_back({.symbolic = atoms.size()});
    atoms.push_back({Atom::Kind::kSymbolic, part, extent});
  }
};

/// The values of all atoms so far.
struct DigitValues {
  std::vector<Expr> of;
  Conjunction guards;
};

/// Σ of mixed radix, and the digits of it.
Expr together(const System& s, const std::vector<size_t>& numbers, const std::vector<Expr>& values) {
  Expr sum = 0;
  for (size_t n : numbers)
    sum = sum * s.atoms[n].extent.constant() + values[n];
  return sum;
}
void apart(const System& s, const std::vector<size_t>& numbers, Expr value, std::vector<Expr>& values) {
  for (size_t i = numbers.size(); i-- > 0;) {
    int64_t radix = s.atoms[numbers[i]].extent.constant();
    values[numbers[i]] = i > 0 ? modulo(value, radix) : value;
    value = floorDiv(value, radix);
  }
}

using Done = std::function<void(const DigitValues&)>;

/// Takes whole[i], …; `moved` is the number that stretches before i left over.
void splitFrom(const System& s,
               size_t i,
               const std::vector<Expr>& whole,
               const Expr& moved,
               const DigitValues& values,
               const Done& done) {
  if (s.stretches.empty()) {
    DigitValues v = values;
    apart(s, s.front, whole[0], v.of);
    return done(v);
  }
  if (i == s.stretches.size()) return done(values);
  const Stretch& here = s.stretches[i];
  const Expr& extent = s.symbol(here);
  for (int64_t o = 0; o < (i == 0 ? s.frontCount : here.behind()); ++o) {
    s.begin();
    DigitValues v = values;
    Expr rest;
    if (i == 0) {
      rest = modulo(whole[0], here.behind());
      v.of[here.symbolic] = floorDiv(whole[0], here.behind()) - extent * o;
      if (s.frontCount > 1 && !narrowTo(v.guards, v.of[here.symbolic], extent)) continue;
      apart(s, s.front, o, v.of);
    } else {
      if (!narrow(v.guards, Constraint::eq(moved, o))) continue;
      Expr position = extent * o + whole[i];
      rest = modulo(position, here.behind());
      v.of[here.symbolic] = floorDiv(position, here.behind());
    }
    apart(s, here.numbers, floorDiv(rest, here.moving), v.of);
    splitFrom(s, i + 1, whole, modulo(rest, here.moving), v, done);
  }
}

/// Puts together the whole's digit i and those before it, given the number that moves in from behind.
void joinUpTo(const System& s,
              size_t i,
              const Expr& moved,
              const DigitValues& values,
              std::vector<Expr> whole,
              const std::function<void(std::vector<Expr>, const Conjunction&)>& done) {
  if (s.stretches.empty()) return done({together(s, s.front, values.of)}, values.guards);
  const Stretch& here = s.stretches[i];
  const Expr& extent = s.symbol(here);
  Expr low = together(s, here.numbers, values.of) * here.moving + moved;
  for (int64_t o = 0; o < (i == 0 ? s.frontCount : here.behind()); ++o) {
    s.begin();
    DigitValues v = values;
    if (i == 0) {
      if (!narrow(v.guards, Constraint::eq(together(s, s.front, v.of), o))) continue;
      std::vector<Expr> all{(extent * o + v.of[here.symbolic]) * here.behind() + low};
      all.insert(all.end(), whole.begin(), whole.end());
      done(std::move(all), v.guards);
      continue;
    }
    Expr digit = v.of[here.symbolic] * here.behind() + low - extent * o;
    if (here.behind() > 1 && !narrowTo(v.guards, digit, extent)) continue;
    std::vector<Expr> more{digit};
    more.insert(more.end(), whole.begin(), whole.end());
    joinUpTo(s, i - 1, o, v, std::move(more), done);
  }
}

/// An atom k · E has the digit a · E + e: one case for each a. From its halves:
void collect(const System& s, size_t atom, const DigitValues& values, Place place, std::vector<Place>& into) {
  if (atom == s.atoms.size()) return into.push_back(std::move(place));
  const Atom& here = s.atoms[atom];
  if (here.kind != Atom::Kind::kOuterHalf) {
    place.at[here.part].push_back(values.of[atom]);
    return collect(s, atom + 1, values, std::move(place), into);
  }
  for (int64_t a = 0; a < here.extent.constant(); ++a) {
    s.begin();
    Place p = place;
    if (!narrow(p.guards, Constraint::eq(values.of[atom], a))) continue;
    p.at[here.part].push_back(s.atoms[atom + 1].extent * a + values.of[atom + 1]);
    collect(s, atom + 2, values, std::move(p), into);
  }
}

/// And to its halves.
void distribute(
    const System& s, size_t atom, const std::vector<Expr>& digits, size_t next, DigitValues values, const Done& done) {
  if (atom == s.atoms.size()) return done(values);
  if (s.atoms[atom].kind != Atom::Kind::kOuterHalf) {
    values.of[atom] = digits[next];
    return distribute(s, atom + 1, digits, next + 1, std::move(values), done);
  }
  const Expr& extent = s.atoms[atom + 1].extent;
  for (int64_t a = 0; a < s.atoms[atom].extent.constant(); ++a) {
    s.begin();
    DigitValues v = values;
    v.of[atom] = a;
    v.of[atom + 1] = digits[next] - extent * a;
    if (narrowTo(v.guards, v.of[atom + 1], extent)) distribute(s, atom + 2, digits, next + 1, std::move(v), done);
  }
}

}  // namespace

std::vector<Place> partsOf(const std::vector<Dim>& parts, const std::vector<Expr>& whole) {
  System s(parts);
  std::vector<Place> places;
  if (s.isEmpty()) return places;
  splitFrom(s, 0, whole, 0, {std::vector<Expr>(s.atoms.size()), {}}, [&](const DigitValues& v) {
    collect(s, 0, v, {Position(parts.size()), v.guards}, places);
  });
  return places;
}

std::vector<Place> wholeOf(const std::vector<Dim>& parts, const Position& at) {
  System s(parts);
  std::vector<Place> places;
  if (s.isEmpty()) return places;
  size_t last = s.stretches.empty() ? 0 : s.stretches.size() - 1;
  distribute(s, 0, flat(at), 0, {std::vector<Expr>(s.atoms.size()), {}}, [&](const DigitValues& v) {
    joinUpTo(s, last, 0, v, {}, [&](std::vector<Expr> whole, const Conjunction& guards) {
      places.push_back({{std::move(whole)}, guards});
    });
  });
  return places;
}

std::vector<Place> crossed(const std::vector<Place>& places, const std::vector<Place>& further) {
  if (places.size() * further.size() > kMostCases) throw Opaque("a regrouping of dimensions with very many cases");
  std::vector<Place> result;
  for (const Place& f : further) {
    for (Place p : places) {
      p.at.insert(p.at.end(), f.at.begin(), f.at.end());
      p.guards.insert(p.guards.end(), f.guards.begin(), f.guards.end());
      result.push_back(std::move(p));
    }
  }
  return result;
}

bool narrow(Conjunction& guards, const Constraint& guard) {
  auto known = guard.decided();
  if (!known) guards.push_back(guard);
  return known != false;
}

bool narrowTo(Conjunction& guards, const Expr& digit, const Expr& extent) {
  return narrow(guards, Constraint::le(0, digit)) && narrow(guards, Constraint::lt(digit, extent));
}

std::vector<Expr> flat(const Position& at) {
  std::vector<Expr> digits;
  for (const auto& dimension : at)
    digits.insert(digits.end(), dimension.begin(), dimension.end());
  return digits;
}

}  // namespace pet::check
