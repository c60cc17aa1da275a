#include "ir/contract.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace pet {
namespace {

constexpr int64_t kMostEntries = 1 << 21;  // before the sum
constexpr size_t kMostPoints = 64;         // of a value whose entries form no box

/// Entries at digits; digit d is in [0, extents[d]).
struct Table {
  std::vector<Expr> digits;
  Extents extents;
  std::vector<Rational> entries;
};

bool isTable(const Factor& f) {
  return f.kind == Factor::Kind::kConstant && f.key.rfind("Table", 0) == 0;
}

/// Of a constant's parameters: denominator, rank, extents, values.
Table tableOf(const Factor& f) {
  Table t{f.at, {}, {}};
  auto rank = static_cast<size_t>(f.parameters[1].constant());
  for (size_t d = 0; d < rank; ++d)
    t.extents.push_back(f.parameters[2 + d].constant());
  for (size_t i = 2 + rank; i < f.parameters.size(); ++i)
    t.entries.push_back(Rational{f.parameters[i].constant(), 1} * Rational{1, f.parameters[0].constant()});
  return t;
}

Factor factorOf(const Table& t) {
  Factor f{Factor::Kind::kConstant, 0, "Table", {}, t.digits};
  int64_t denominator = 1;
  for (const Rational& r : t.entries)
    denominator = checkedMul(denominator / std::gcd(denominator, r.denominator), r.denominator);
  f.parameters = {denominator, static_cast<int64_t>(t.extents.size())};
  f.parameters.insert(f.parameters.end(), t.extents.begin(), t.extents.end());
  for (const Rational& r : t.entries)
    f.parameters.emplace_back(checkedMul(r.numerator, denominator / r.denominator));
  for (size_t i = 2; i < f.parameters.size(); ++i)
    f.key += " " + f.parameters[i].str();
  f.key += " / " + std::to_string(denominator);
  return f;
}

/// Calls `visit` with every position of a box, last digit fastest.
void forEachPosition(const Extents& extents, const std::function<void(const Extents&)>& visit) {
  Extents at(extents.size());
  for (int64_t left = elementCount(extents); left > 0; --left) {
    visit(at);
    for (size_t d = extents.size(); d-- > 0;) {
      if (++at[d] < extents[d]) break;
      at[d] = 0;
    }
  }
}

/// The product of tables, and the sum over one of its digits if there is one that equals `over`.
std::optional<Table> product(const std::vector<Table>& tables, const std::optional<Expr>& over) {
  Table all;
  std::vector<std::vector<size_t>> places;
  for (const Table& t : tables) {
    places.emplace_back();
    for (size_t d = 0; d < t.digits.size(); ++d) {
      auto it = std::find(all.digits.begin(), all.digits.end(), t.digits[d]);
      places.back().push_back(static_cast<size_t>(it - all.digits.begin()));
      if (it != all.digits.end()) continue;
      all.digits.push_back(t.digits[d]);
      all.extents.push_back(t.extents[d]);
    }
  }
  if (elementCount(all.extents) > kMostEntries) return std::nullopt;
  Table result;
  for (size_t d = 0; d < all.digits.size(); ++d) {
    if (over && all.digits[d] == *over) continue;
    result.digits.push_back(all.digits[d]);
    result.extents.push_back(all.extents[d]);
  }
  result.entries.assign(static_cast<size_t>(elementCount(result.extents)), Rational{0, 1});
  forEachPosition(all.extents, [&](const Extents& at) {
    Rational entry;
    for (size_t t = 0; t < tables.size(); ++t) {
      int64_t offset = 0;
      for (size_t d = 0; d < places[t].size(); ++d)
        offset = offset * tables[t].extents[d] + at[places[t][d]];
      entry = entry * tables[t].entries[static_cast<size_t>(offset)];
      if (entry.numerator == 0) return;
    }
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      if (!over || all.digits[d] != *over) offset = offset * all.extents[d] + at[d];
    }
    Rational& sum = result.entries[static_cast<size_t>(offset)];
    sum = sum + entry;
  });
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
    auto sum = product(with, Expr::variable(r));
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
  std::vector<std::pair<Rational, std::vector<Extents>>> byValue;
  size_t position = 0;
  forEachPosition(t.extents, [&](const Extents& at) {
    const Rational& value = t.entries[position++];
    if (value.numerator == 0) return;
    auto it = std::find_if(byValue.begin(), byValue.end(), [&](const auto& v) { return v.first == value; });
    if (it == byValue.end()) it = byValue.insert(it, {value, {}});
    it->second.push_back(at);
  });
  std::vector<Place> result;
  for (const auto& [value, points] : byValue) {
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
