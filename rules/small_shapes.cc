#include "rules/small_shapes.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace pet {
namespace {

/// Bounds beyond which a value counts as unbounded; sums and products of them stay in 64 bits by clamping.
constexpr int64_t kInfinity = int64_t{1} << 40;

int64_t clamp(int64_t v) {
  return std::clamp(v, -kInfinity, kInfinity);
}
int64_t times(int64_t a, int64_t b) {
  int64_t r;
  bool overflow = __builtin_mul_overflow(a, b, &r);
  return overflow ? ((a < 0) == (b < 0) ? kInfinity : -kInfinity) : clamp(r);
}
bool isInfinite(int64_t v) {
  return v <= -kInfinity || v >= kInfinity;
}

struct Interval {
  int64_t low = -kInfinity, high = kInfinity;

  bool isEmpty() const { return low > high; }
  friend Interval operator+(Interval a, Interval b) { return {plus(a.low, b.low), plus(a.high, b.high)}; }
  friend Interval operator*(Interval a, int64_t c) {
    Interval r{times(a.low, c), times(a.high, c)};
    return c < 0 ? Interval{r.high, r.low} : r;
  }

 private:
  static int64_t plus(int64_t a, int64_t b) { return isInfinite(a) ? a : isInfinite(b) ? b : clamp(a + b); }
};

using Intervals = std::map<std::string, Interval, std::less<>>;

Interval rangeOf(const Expr& e, const Intervals& of) {
  Interval sum{clamp(e.constant()), clamp(e.constant())};
  for (const auto& [term, c] : e.terms()) {
    Interval t;
    if (term.division) {
      t = rangeOf(term.division->numerator, of);
      int64_t d = term.division->divisor;
      t = {isInfinite(t.low) ? t.low : floorDivide(t.low, d), isInfinite(t.high) ? t.high : floorDivide(t.high, d)};
    } else if (auto it = of.find(term.name); it != of.end()) {
      t = it->second;
    }
    sum = sum + t * c;
  }
  return sum;
}

/// Raises the symbol's lower bound, or lowers its upper one, to what `expr >= 0` leaves: expr = c·symbol + rest.
void tighten(const Expr& expr, const std::string& symbol, int64_t c, Intervals& of) {
  Interval rest = rangeOf(expr - Expr::variable(symbol) * c, of);
  if (isInfinite(rest.high)) return;
  Interval& range = of[symbol];
  if (c > 0) range.low = std::max(range.low, -floorDivide(rest.high, c));
  if (c < 0) range.high = std::min(range.high, floorDivide(rest.high, -c));
}

/// Narrows all ranges by all constraints; false if there is no member left.
bool propagate(const std::vector<Constraint>& constraints, Intervals& of, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Intervals before = of;
    for (const Constraint& c : constraints) {
      bool zero = c.kind == Constraint::Kind::kZero;
      Interval range = rangeOf(c.expr, of);
      if (range.high < 0 || (zero && range.low > 0)) return false;
      for (const auto& [term, coefficient] : c.expr.terms()) {
        if (term.division) continue;
        tighten(c.expr, term.name, coefficient, of);
        if (zero) tighten(-c.expr, term.name, -coefficient, of);
        if (of[term.name].isEmpty()) return false;
      }
    }
    auto same = [](const auto& a, const auto& b) {
      return a.second.low == b.second.low && a.second.high == b.second.high;
    };
    if (std::equal(of.begin(), of.end(), before.begin(), same)) break;
  }
  return true;
}

using Offsets = std::vector<int>;

/// The members of one class, by offsets.
class Members {
 public:
  explicit Members(const ShapeClass& shapes) : shapes_(shapes) {
    for (const std::string& s : shapes.symbols)
      start_[s] = {0, kInfinity};
    for (const Constraint& c : shapes.constraints) {  // a lower bound of its own may be negative
      if (c.expr.terms().size() == 1 && c.expr.terms()[0].second > 0 && !c.expr.hasDivision()) {
        start_[c.expr.terms()[0].first.name].low = -kInfinity;
      }
    }
    possible_ = propagate(shapes.constraints, start_, 20);
  }

  /// Gives every symbol, in this order, its least possible value plus its offset.
  std::optional<Bindings> at(const std::vector<std::string>& order, const Offsets& offsets) const {
    if (!possible_) return std::nullopt;
    Intervals ranges = start_;
    Bindings member;
    for (size_t i = 0; i < order.size(); ++i) {
      auto value = assign(order[i], offsets[i], ranges);
      if (!value) return std::nullopt;
      member[order[i]] = *value;
    }
    return shapes_.contains(member) ? std::optional(member) : std::nullopt;
  }

 private:
  /// The value after `skip` possible ones, from the least; narrows the ranges by it.
  std::optional<int64_t> assign(const std::string& symbol, int skip, Intervals& ranges) const {
    constexpr int64_t kTries = 24;
    Interval range = ranges[symbol];
    for (int64_t v = range.low; v <= std::min(range.high, range.low + kTries); ++v) {
      Intervals next = ranges;
      next[symbol] = {v, v};
      if (!propagate(shapes_.constraints, next, 2) || skip-- > 0) continue;
      ranges = std::move(next);
      return v;
    }
    return std::nullopt;
  }

  const ShapeClass& shapes_;
  Intervals start_;
  bool possible_ = true;
};

/// All offsets of n symbols with this sum, in lexicographical order.
std::vector<Offsets> offsetsOfSum(size_t n, int sum) {
  std::vector<Offsets> result;
  Offsets offsets(n);
  std::function<void(size_t, int)> fill = [&](size_t i, int rest) {
    if (i + 1 == n) {
      offsets[i] = rest;
      result.push_back(offsets);
      return;
    }
    for (int o = 0; o <= rest; ++o) {
      offsets[i] = o;
      fill(i + 1, rest - o);
    }
  };
  if (n > 0) fill(0, sum);
  if (n == 0 && sum == 0) result.emplace_back();
  return result;
}

/// Collects distinct members.
class Collector {
 public:
  Collector(size_t count, const std::function<bool(const Bindings&)>& accepts) : count_(count), accepts_(accepts) {}

  bool isFull() const { return result.members.size() >= count_; }
  /// True if the member is new and accepted.
  bool add(const std::optional<Bindings>& member) {
    if (!member || isFull() || !seen_.insert(*member).second || !accepts_(*member)) return false;
    result.members.push_back(*member);
    return true;
  }

  SmallShapes result;

 private:
  size_t count_;
  const std::function<bool(const Bindings&)>& accepts_;
  std::set<Bindings> seen_;
};

/// Level by level of the offsets' sum; of a level with more than is wanted, an even selection.
void addLeast(const ShapeClass& shapes, size_t wanted, int levels, Collector& into) {
  Members members(shapes);
  std::vector<std::string> order = shapes.symbols, reversed(order.rbegin(), order.rend());
  size_t end = into.result.members.size() + wanted;
  for (int sum = 0; sum < levels && into.result.members.size() < end; ++sum) {
    std::vector<Offsets> level = offsetsOfSum(order.size(), sum);
    size_t step = std::max<size_t>(1, level.size() / (end - into.result.members.size()));
    for (size_t i = 0; i < level.size() && into.result.members.size() < end; i += step) {
      into.add(members.at(order, level[i]));
      into.add(members.at(reversed, level[i]));
    }
  }
}

bool touches(const Constraint& c, const Bindings& member) {
  return c.expr.evaluate(member) == 0;
}

/// For every constraint that no member meets with equality yet, a few that do.
void addTouching(const ShapeClass& shapes, Collector& into) {
  for (const Constraint& c : shapes.constraints) {
    auto touched = [&] {
      const auto& members = into.result.members;
      return std::any_of(members.begin(), members.end(), [&](const Bindings& m) { return touches(c, m); });
    };
    if (!touched()) {
      ShapeClass tight = shapes;
      tight.constraints.push_back({c.expr, Constraint::Kind::kZero});
      addLeast(tight, 4, 4, into);
    }
    into.result.touched += touched();
  }
}

void addRandom(const ShapeClass& shapes, uint64_t seed, size_t attempts, Collector& into) {
  Members members(shapes);
  std::mt19937_64 random(seed);
  std::vector<std::string> order = shapes.symbols;
  Offsets offsets(order.size(), 1);  // first of all, every symbol one above its least value
  for (size_t attempt = 0; attempt < attempts && !into.isFull(); ++attempt) {
    into.add(members.at(order, offsets));
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[random() % (i + 1)]);
    for (int& o : offsets)
      o = static_cast<int>(random() % 4);
  }
}

}  // namespace

SmallShapes smallShapes(const ShapeClass& shapes,
                        size_t count,
                        uint64_t seed,
                        const std::function<bool(const Bindings&)>& accepts,
                        size_t attempts) {
  Collector collector(count, accepts);
  addLeast(shapes, count / 2, 6, collector);
  addTouching(shapes, collector);
  addRandom(shapes, seed, attempts, collector);
  return std::move(collector.result);
}

}  // namespace pet
