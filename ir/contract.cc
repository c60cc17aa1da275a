#include "ir/contract.h"

#include <algorithm>
#include <numeric>

namespace pet {
namespace {

constexpr int64_t kMostEntries = 1 << 21;  // before the sum
constexpr size_t kMostPoints = 64;         // of a value whose entries form no box

/// Numerators over one denominator at digits, row-major; digit d is in [0, extents[d]).
struct Table {
  std::vector<Expr> digits;
  Extents extents;
  int64_t denominator = 1;
  std::vector<int64_t> numerators;

  /// In lowest terms, as a whole.
  void reduce() {
    int64_t common = denominator;
    for (int64_t n : numerators)
      common = std::gcd(common, n);
    denominator /= common;
    for (int64_t& n : numerators)
      n /= common;
  }
};

bool isTable(const Factor& f) {
  return f.kind == Factor::Kind::kConstant && f.key.rfind("Table", 0) == 0;
}

/// Of a constant's parameters: denominator, rank, extents, numerators.
Table tableOf(const Factor& f) {
  Table t{f.at, {}, f.parameters[0].constant(), {}};
  auto rank = static_cast<size_t>(f.parameters[1].constant());
  for (size_t i = 2; i < f.parameters.size(); ++i)
    (i < 2 + rank ? t.extents : t.numerators).push_back(f.parameters[i].constant());
  t.reduce();
  return t;
}

Factor factorOf(const Table& t) {
  Factor f{Factor::Kind::kConstant, 0, "Table", {}, t.digits};
  f.parameters = {t.denominator, static_cast<int64_t>(t.extents.size())};
  f.parameters.insert(f.parameters.end(), t.extents.begin(), t.extents.end());
  f.parameters.insert(f.parameters.end(), t.numerators.begin(), t.numerators.end());
  for (size_t i = 2; i < f.parameters.size(); ++i)
    f.key += " " + f.parameters[i].str();
  f.key += " / " + std::to_string(t.denominator);
  return f;
}

/// Goes through the positions of a box, the last digit fastest, and knows where each stands in arrays over some of the
/// digits.
class Walk {
 public:
  explicit Walk(Extents extents) : extents_(std::move(extents)), at_(extents_.size()) {}

  /// An array over the digits of these numbers, row-major; its number.
  size_t follow(const std::vector<size_t>& digits) {
    Extents strides(extents_.size());
    int64_t stride = 1;
    for (size_t d = digits.size(); d-- > 0; stride *= extents_[digits[d]])
      strides[digits[d]] += stride;
    strides_.push_back(std::move(strides));
    offsets_.push_back(0);
    return offsets_.size() - 1;
  }
  const Extents& at() const { return at_; }
  size_t offset(size_t array) const { return static_cast<size_t>(offsets_[array]); }
  void next() {
    for (size_t d = at_.size(); d-- > 0;) {
      const bool wraps = ++at_[d] == extents_[d];
      const int64_t by = wraps ? 1 - extents_[d] : 1;
      for (size_t a = 0; a < offsets_.size(); ++a)
        offsets_[a] += by * strides_[a][d];
      if (!wraps) return;
      at_[d] = 0;
    }
  }

 private:
  Extents extents_, at_;
  std::vector<Extents> strides_;  // per array, along each digit
  Extents offsets_;
};

/// The sum, over the digit that equals `over`, of the product of tables that have it.
std::optional<Table> summed(const std::vector<Table>& tables, const Expr& over) {
  std::vector<Expr> digits;
  Extents extents;
  std::vector<std::vector<size_t>> places;
  for (const Table& t : tables) {
    places.emplace_back();
    for (size_t d = 0; d < t.digits.size(); ++d) {
      auto it = std::find(digits.begin(), digits.end(), t.digits[d]);
      places.back().push_back(static_cast<size_t>(it - digits.begin()));
      if (it != digits.end()) continue;
      digits.push_back(t.digits[d]);
      extents.push_back(t.extents[d]);
    }
  }
  const int64_t size = elementCount(extents);
  if (size > kMostEntries) return std::nullopt;
  Table result;
  std::vector<size_t> kept;
  for (size_t d = 0; d < digits.size(); ++d) {
    if (digits[d] == over) continue;
    kept.push_back(d);
    result.digits.push_back(digits[d]);
    result.extents.push_back(extents[d]);
  }
  for (const Table& t : tables)
    result.denominator = checkedMul(result.denominator, t.denominator);
  result.numerators.assign(static_cast<size_t>(elementCount(result.extents)), 0);
  Walk walk(extents);
  for (const std::vector<size_t>& of : places)
    walk.follow(of);
  const size_t ofResult = walk.follow(kept);
  for (int64_t left = size; left > 0; --left, walk.next()) {
    int64_t entry = 1;
    for (size_t t = 0; t < tables.size() && entry != 0; ++t)
      entry = checkedMul(entry, tables[t].numerators[walk.offset(t)]);
    int64_t& sum = result.numerators[walk.offset(ofResult)];
    sum = checkedAdd(sum, entry);
  }
  result.reduce();
  return result;
}

/// r stands in nothing but its range 0 <= r < E, a number, and as a digit of tables.
bool onlyTablesRead(const Partial& p, const std::vector<Table>& tables, const std::string& r) {
  bool read = false;
  for (const Table& t : tables) {
    for (const Expr& e : t.digits) {
      if (e.mentions(r) && e.asVariable() != r) return false;
      read = read || e.mentions(r);
    }
  }
  for (const Factor& f : p.factors) {
    if (std::any_of(f.at.begin(), f.at.end(), [&](const Expr& e) { return e.mentions(r); })) return false;
  }
  for (const Constraint& c : p.domain) {
    bool range = c.kind == Constraint::Kind::kNonNegative && c.expr.variables().size() == 1 && !c.expr.hasDivision();
    if (c.expr.mentions(r) && !range) return false;
  }
  return read;
}

/// The table whose extent along r is the range of r.
bool coversRange(const Partial& p, const Table& t, const std::string& r) {
  for (size_t d = 0; d < t.digits.size(); ++d) {
    if (t.digits[d].asVariable() != r) continue;
    for (const Constraint& c : p.domain) {
      if (!c.expr.mentions(r)) continue;
      bool lower = c == Constraint::le(0, Expr::variable(r));
      bool upper = c == Constraint::lt(Expr::variable(r), t.extents[d]);
      if (!lower && !upper) return false;
    }
  }
  return true;
}

void sumOut(Partial& p, std::vector<Table>& tables) {
  for (const std::string& r : std::vector<std::string>(p.reduction)) {
    if (!onlyTablesRead(p, tables, r)) continue;
    std::vector<Table> with, without;
    for (const Table& t : tables) {
      bool reads = std::any_of(t.digits.begin(), t.digits.end(), [&](const Expr& e) { return e.mentions(r); });
      (reads ? with : without).push_back(t);
    }
    if (!std::all_of(with.begin(), with.end(), [&](const Table& t) { return coversRange(p, t, r); })) continue;
    auto sum = summed(with, Expr::variable(r));
    if (!sum) continue;
    without.push_back(std::move(*sum));
    tables = std::move(without);
    std::erase(p.reduction, r);
    std::erase_if(p.domain, [&](const Constraint& c) { return c.expr.mentions(r); });
  }
}

/// Digit d as an affine function, with integer coefficients, of the free digits; constant first. Nullopt: there is none
/// at these points.
std::optional<std::vector<int64_t>> affineDigit(const std::vector<Extents>& points,
                                                const std::vector<size_t>& free,
                                                size_t d) {
  const Extents& origin = points[0];
  std::vector<int64_t> function{origin[d]};
  for (size_t f : free) {
    // Two points that differ in this free digit only give its coefficient.
    auto alone = std::find_if(points.begin(), points.end(), [&](const Extents& p) {
      return p[f] != origin[f] && std::all_of(free.begin(), free.end(),
                                              [&](size_t other) { return other == f || p[other] == origin[other]; });
    });
    if (alone == points.end() || ((*alone)[d] - origin[d]) % ((*alone)[f] - origin[f]) != 0) return std::nullopt;
    function.push_back(((*alone)[d] - origin[d]) / ((*alone)[f] - origin[f]));
    function[0] -= function.back() * origin[f];
  }
  for (const Extents& p : points) {
    int64_t value = function[0];
    for (size_t i = 0; i < free.size(); ++i)
      value += function[i + 1] * p[free[i]];
    if (value != p[d]) return std::nullopt;
  }
  return function;
}

/// Constraints that hold at these points only, the digits taken in an order; empty: there are none of this form.
std::vector<Constraint> boxOf(const std::vector<Extents>& points, const Table& t, const std::vector<size_t>& order) {
  std::vector<Constraint> result;
  std::vector<size_t> free;
  int64_t size = 1;
  for (size_t d : order) {
    if (auto function = affineDigit(points, free, d)) {
      Expr value = (*function)[0];
      for (size_t i = 0; i < free.size(); ++i)
        value += t.digits[free[i]] * (*function)[i + 1];
      result.push_back(Constraint::eq(t.digits[d], value));
      continue;
    }
    auto [low, high] = std::minmax_element(points.begin(), points.end(),
                                           [d](const Extents& a, const Extents& b) { return a[d] < b[d]; });
    result.push_back(Constraint::le((*low)[d], t.digits[d]));
    result.push_back(Constraint::le(t.digits[d], (*high)[d]));
    size = checkedMul(size, (*high)[d] - (*low)[d] + 1);
    free.push_back(d);
  }
  if (size != static_cast<int64_t>(points.size())) return {};
  return result;
}

/// The same in the first order that has such constraints.
std::vector<Constraint> boxOf(const std::vector<Extents>& points, const Table& t) {
  std::vector<size_t> order(t.digits.size());
  std::iota(order.begin(), order.end(), 0);
  constexpr int kMostOrders = 120;
  for (int tried = 0; tried < kMostOrders; ++tried) {
    auto box = boxOf(points, t, order);
    if (!box.empty() || !std::next_permutation(order.begin(), order.end())) return box;
  }
  return {};
}

std::vector<Constraint> pointOf(const Extents& point, const Table& t) {
  std::vector<Constraint> result;
  for (size_t d = 0; d < point.size(); ++d)
    result.push_back(Constraint::eq(t.digits[d], point[d]));
  return result;
}

/// A value of a table's entries and where it stands.
struct Place {
  Rational value;
  std::vector<Constraint> where;
};

/// Nullopt: too many conditions.
std::optional<std::vector<Place>> placesOf(const Table& t) {
  std::vector<std::pair<int64_t, std::vector<Extents>>> byNumerator;
  Walk walk(t.extents);
  for (size_t i = 0; i < t.numerators.size(); ++i, walk.next()) {
    const int64_t numerator = t.numerators[i];
    if (numerator == 0) continue;
    auto it = std::find_if(byNumerator.begin(), byNumerator.end(), [&](const auto& v) { return v.first == numerator; });
    if (it == byNumerator.end()) it = byNumerator.insert(it, {numerator, {}});
    it->second.push_back(walk.at());
  }
  std::vector<Place> result;
  for (const auto& [numerator, points] : byNumerator) {
    const Rational value = Rational{numerator, 1} * Rational{1, t.denominator};
    auto box = boxOf(points, t);
    if (!box.empty() || t.digits.empty()) {
      result.push_back({value, std::move(box)});
      continue;
    }
    for (const Extents& point : points)
      result.push_back({value, pointOf(point, t)});
    if (result.size() > kMostPoints) return std::nullopt;
  }
  return result;
}

}  // namespace

std::vector<Partial> contracted(Partial p) {
  std::vector<Table> tables;
  for (const Factor& f : p.factors) {
    if (isTable(f)) tables.push_back(tableOf(f));
  }
  if (tables.empty()) return {std::move(p)};
  std::erase_if(p.factors, isTable);
  sumOut(p, tables);
  std::vector<Partial> result{std::move(p)};
  for (const Table& t : tables) {
    auto places = placesOf(t);
    if (!places) {
      for (Partial& q : result)
        q.multiply(factorOf(t));
      continue;
    }
    std::vector<Partial> next;
    for (const Partial& q : result) {
      for (const Place& place : *places) {
        Partial r = q;
        r.coefficient = r.coefficient * place.value;
        if (r.require(place.where)) next.push_back(std::move(r));
      }
    }
    result = std::move(next);
  }
  return result;
}

}  // namespace pet
