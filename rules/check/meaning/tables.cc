#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "rules/check/meaning/normal_form.h"

// Tables of numbers in a product: summed out where nothing else reads an index, and written as conditions where their
// values form boxes. Winograd's matrices come out as 1 where j = o + k.
namespace pet::check {
namespace {

constexpr int64_t kMostEntries = 2097152;
constexpr size_t kMostConditions = 64;
constexpr int kMostOrders = 120;

using Point = std::vector<int64_t>;

struct Table {
  std::vector<Expr> digits;
  Point extents;
  int64_t under = 1;          ///< of all entries
  std::vector<int64_t> over;  ///< row-major

  int64_t size() const {
    int64_t n = 1;
    for (int64_t e : extents)
      n = checkedMul(n, e);
    return n;
  }
  Point pointAt(int64_t entry) const {
    Point p(extents.size());
    for (size_t d = p.size(); d-- > 0; entry /= extents[d])
      p[d] = entry % extents[d];
    return p;
  }
  /// How many entries further each of these digits leads; 0: it is none of this table's.
  Point stepsIn(const std::vector<Expr>& all) const {
    Point steps(all.size());
    int64_t step = 1;
    for (size_t d = digits.size(); d-- > 0; step *= extents[d])
      steps[static_cast<size_t>(std::find(all.begin(), all.end(), digits[d]) - all.begin())] += step;
    return steps;
  }
  /// Divides by what all entries have in common with the denominator.
  void reduce() {
    int64_t common = under;
    for (size_t i = 0; i < over.size() && common != 1; ++i)
      common = std::gcd(common, over[i]);
    under /= common;
    for (int64_t& n : over)
      n /= common;
  }
};

bool isTable(const Factor& f) {
  return f.kind == Factor::Kind::kConstant && f.key.rfind("Table", 0) == 0;
}

/// Parameters: denominator, rank, extents, numerators.
Table read(const Factor& f) {
  Table t{.digits = f.at, .extents = {}, .under = f.parameters[0].constant(), .over = {}};
  size_t rank = f.at.size();
  for (size_t i = 2; i < f.parameters.size(); ++i)
    (i < 2 + rank ? t.extents : t.over).push_back(f.parameters[i].constant());
  t.reduce();
  return t;
}

Factor write(const Table& t) {
  Factor f{.kind = Factor::Kind::kConstant, .key = "Table", .at = t.digits};
  f.parameters = {t.under, static_cast<int64_t>(t.extents.size())};
  f.parameters.insert(f.parameters.end(), t.extents.begin(), t.extents.end());
  f.parameters.insert(f.parameters.end(), t.over.begin(), t.over.end());
  for (size_t i = 2; i < f.parameters.size(); ++i)
    f.key += " " + f.parameters[i].str();
  f.key += fmt::format(" / {}", t.under);
  return f;
}

/// Σ_r Π tables, r being one of their digits. Nullopt: too large on the way.
std::optional<Table> summed(const std::vector<Table>& tables, const Expr& r) {
  Table all;  // without entries: the product's digits
  for (const Table& t : tables) {
    all.under = checkedMul(all.under, t.under);
    for (size_t d = 0; d < t.digits.size(); ++d) {
      if (std::find(all.digits.begin(), all.digits.end(), t.digits[d]) != all.digits.end()) continue;
      all.digits.push_back(t.digits[d]);
      all.extents.push_back(t.extents[d]);
    }
  }
  const int64_t size = all.size();
  if (size > kMostEntries) return std::nullopt;
  Table result = all;
  const auto gone = std::find(all.digits.begin(), all.digits.end(), r) - all.digits.begin();
  result.digits.erase(result.digits.begin() + gone);
  result.extents.erase(result.extents.begin() + gone);
  result.over.assign(static_cast<size_t>(result.size()), 0);
  std::vector<Point> steps;  // per table
  for (const Table& t : tables)
    steps.push_back(t.stepsIn(all.digits));
  const Point stepsOfResult = result.stepsIn(all.digits);
  Point at(all.digits.size()), entryOf(tables.size());
  int64_t entryOfResult = 0;
  for (int64_t i = 0; i < size; ++i) {
    int64_t product = 1;
    for (size_t t = 0; t < tables.size() && product != 0; ++t)
      product = checkedMul(product, tables[t].over[static_cast<size_t>(entryOf[t])]);
    if (product != 0) {
      int64_t& sum = result.over[static_cast<size_t>(entryOfResult)];
      sum = checkedAdd(sum, product);
    }
    // To the next point, the last digit first.
    for (size_t d = at.size(); d-- > 0;) {
      const bool wraps = ++at[d] == all.extents[d];
      const int64_t by = wraps ? 1 - all.extents[d] : 1;
      for (size_t t = 0; t < tables.size(); ++t)
        entryOf[t] += by * steps[t][d];
      entryOfResult += by * stepsOfResult[d];
      if (!wraps) break;
      at[d] = 0;
    }
  }
  result.reduce();
  return result;
}

bool mentions(const std::vector<Expr>& all, const std::string& r) {
  return std::any_of(all.begin(), all.end(), [&](const Expr& e) { return e.mentions(r); });
}

/// r is a digit of some tables over the whole of its range, and nothing else speaks of it.
bool isOfTablesOnly(const Product& p, const std::vector<Table>& tables, const std::string& r) {
  Expr variable = Expr::variable(r);
  std::set<int64_t> extents;
  for (const Table& t : tables) {
    for (size_t d = 0; d < t.digits.size(); ++d) {
      if (t.digits[d] == variable) extents.insert(t.extents[d]);
      if (t.digits[d] != variable && t.digits[d].mentions(r)) return false;
    }
  }
  if (extents.size() != 1) return false;
  for (const Factor& f : p.factors) {
    if (mentions(f.at, r) || mentions(f.parameters, r)) return false;
  }
  return std::all_of(p.domain.begin(), p.domain.end(), [&](const Constraint& c) {
    return !c.expr.mentions(r) || c == Constraint::le(0, variable) || c == Constraint::lt(variable, *extents.begin());
  });
}

void sumOut(Product& p, std::vector<Table>& tables) {
  for (const std::string& r : std::vector<std::string>(p.reduction)) {
    if (!isOfTablesOnly(p, tables, r)) continue;
    auto reads = [&](const Table& t) { return mentions(t.digits, r); };
    std::vector<Table> those;
    std::copy_if(tables.begin(), tables.end(), std::back_inserter(those), reads);
    auto sum = summed(those, Expr::variable(r));
    if (!sum) continue;
    std::erase_if(tables, reads);
    tables.push_back(std::move(*sum));
    std::erase(p.reduction, r);
    std::erase_if(p.domain, [&](const Constraint& c) { return c.expr.mentions(r); });
  }
}

/// The slopes and the value at 0 of digit d as a function of the free digits.
std::optional<std::pair<Point, int64_t>> affine(const std::vector<Point>& points,
                                                const std::vector<size_t>& free,
                                                size_t d) {
  const Point& first = points[0];
  std::pair<Point, int64_t> f{{}, first[d]};
  for (size_t digit : free) {
    auto step = std::find_if(points.begin(), points.end(), [&](const Point& p) {
      return p[digit] != first[digit] && std::all_of(free.begin(), free.end(), [&](size_t other) {
               return other == digit || p[other] == first[other];
             });
    });
    if (step == points.end()) return std::nullopt;
    int64_t run = (*step)[digit] - first[digit], rise = (*step)[d] - first[d];
    if (rise % run != 0) return std::nullopt;
    f.first.push_back(rise / run);
    f.second -= rise / run * first[digit];
  }
  bool everywhere = std::all_of(points.begin(), points.end(), [&](const Point& p) {
    int64_t value = f.second;
    for (size_t i = 0; i < free.size(); ++i)
      value += f.first[i] * p[free[i]];
    return value == p[d];
  });
  return everywhere ? std::optional(f) : std::nullopt;
}

/// The points as a box in some digits, the other digits being functions of these. Nullopt: they are none in this order.
std::optional<Conjunction> boxIn(const std::vector<size_t>& order, const Table& t, const std::vector<Point>& points) {
  Conjunction box;
  std::vector<size_t> free;
  int64_t size = 1;
  for (size_t d : order) {
    if (auto f = affine(points, free, d)) {
      Expr value = f->second;
      for (size_t i = 0; i < free.size(); ++i)
        value += t.digits[free[i]] * f->first[i];
      box.push_back(Constraint::eq(t.digits[d], value));
      continue;
    }
    auto less = [d](const Point& a, const Point& b) { return a[d] < b[d]; };
    auto [low, high] = std::minmax_element(points.begin(), points.end(), less);
    box.push_back(Constraint::le((*low)[d], t.digits[d]));
    box.push_back(Constraint::le(t.digits[d], (*high)[d]));
    size = checkedMul(size, (*high)[d] - (*low)[d] + 1);
    free.push_back(d);
  }
  return size == static_cast<int64_t>(points.size()) ? std::optional(box) : std::nullopt;
}

std::optional<Conjunction> box(const Table& t, const std::vector<Point>& points) {
  std::vector<size_t> order(t.digits.size());
  std::iota(order.begin(), order.end(), 0);
  for (int tried = 0; tried < kMostOrders; ++tried) {
    if (auto found = boxIn(order, t, points)) return found;
    if (!std::next_permutation(order.begin(), order.end())) break;
  }
  return std::nullopt;
}

/// Where which value stands. Nullopt: too many conditions.
std::optional<std::vector<std::pair<Fraction, Conjunction>>> conditions(const Table& t) {
  std::vector<std::pair<int64_t, std::vector<Point>>> byNumerator;
  for (size_t i = 0; i < t.over.size(); ++i) {
    if (t.over[i] == 0) continue;
    auto it = std::find_if(byNumerator.begin(), byNumerator.end(), [&](const auto& v) { return v.first == t.over[i]; });
    if (it == byNumerator.end()) it = byNumerator.insert(it, {t.over[i], {}});
    it->second.push_back(t.pointAt(static_cast<int64_t>(i)));
  }
  std::vector<std::pair<Fraction, Conjunction>> result;
  for (const auto& [numerator, points] : byNumerator) {
    const Fraction value = reduced(numerator, t.under);
    if (auto all = box(t, points)) {
      result.emplace_back(value, std::move(*all));
      continue;
    }
    for (const Point& p : points) {
      Conjunction here;
      for (size_t d = 0; d < p.size(); ++d)
        here.push_back(Constraint::eq(t.digits[d], p[d]));
      result.emplace_back(value, std::move(here));
    }
    if (result.size() > kMostConditions) return std::nullopt;
  }
  return result;
}

}  // namespace

std::vector<Product> withoutTables(Product p) {
  std::vector<Table> tables;
  for (const Factor& f : p.factors) {
    if (isTable(f)) tables.push_back(read(f));
  }
  std::erase_if(p.factors, isTable);
  sumOut(p, tables);
  std::vector<Product> result{std::move(p)};
  for (const Table& t : tables) {
    auto cases = conditions(t);
    std::vector<Product> next;
    for (Product& q : result) {
      if (!cases) {
        q.factors.push_back(write(t));
        next.push_back(std::move(q));
        continue;
      }
      for (const auto& [value, where] : *cases) {
        Product r = q;
        r.coefficient = r.coefficient * value;
        if (r.require(where)) next.push_back(std::move(r));
      }
    }
    result = std::move(next);
  }
  return result;
}

}  // namespace pet::check
