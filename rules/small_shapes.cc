#include "rules/small_shapes.h"

#include <algorithm>
#include <memory>
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

/// A class's constraints over the positions of its symbols: what the search for members asks many thousand times.
class Ranges {
 public:
  using Intervals = std::vector<Interval>;

  explicit Ranges(const ShapeClass& shapes) : names_(shapes.symbols) {
    for (const Constraint& c : shapes.constraints)
      constraints_.push_back({sumOf(c.expr), c.kind == Constraint::Kind::kZero});
  }

  /// Of all values. Symbols come first, in the class's order.
  Intervals any() const { return Intervals(names_.size()); }

  /// Narrows all ranges by all constraints; false if there is no member left.
  bool narrow(Intervals& of, int rounds) const {
    bool narrowed = true;
    for (int round = 0; round < rounds && narrowed; ++round) {
      narrowed = false;
      for (const auto& [sum, zero] : constraints_) {
        Interval range = rangeOf(sum, kNone, 1, of);
        if (range.high < 0 || (zero && range.low > 0)) return false;
        for (size_t i = 0; i < sum.terms.size(); ++i) {
          if (sum.terms[i].numerator) continue;
          narrowed |= tighten(sum, i, 1, of);
          if (zero) narrowed |= tighten(sum, i, -1, of);
          if (of[sum.terms[i].symbol].isEmpty()) return false;
        }
      }
    }
    return true;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  struct Sum;
  /// coefficient · symbol, or coefficient · floor(numerator / divisor).
  struct Term {
    size_t symbol = 0;
    std::shared_ptr<const Sum> numerator;
    int64_t divisor = 1, coefficient = 1;
  };
  struct Sum {
    int64_t constant = 0;
    std::vector<Term> terms;
  };

  size_t positionOf(const std::string& name) {
    auto it = std::find(names_.begin(), names_.end(), name);
    if (it == names_.end()) it = names_.insert(it, name);
    return static_cast<size_t>(it - names_.begin());
  }

  Sum sumOf(const Expr& e) {
    Sum sum{e.constant(), {}};
    for (const auto& [term, c] : e.terms()) {
      if (term.division) {
        auto numerator = std::make_shared<const Sum>(sumOf(term.division->numerator));
        sum.terms.push_back({0, std::move(numerator), term.division->divisor, c});
      } else {
        sum.terms.push_back({positionOf(term.name), nullptr, 1, c});
      }
    }
    return sum;
  }

  /// Of sign · (sum without one term).
  static Interval rangeOf(const Sum& sum, size_t without, int64_t sign, const Intervals& of) {
    Interval range{clamp(sign * sum.constant), clamp(sign * sum.constant)};
    for (size_t i = 0; i < sum.terms.size(); ++i) {
      if (i == without) continue;
      const Term& term = sum.terms[i];
      Interval t = term.numerator ? rangeOf(*term.numerator, kNone, 1, of) : of[term.symbol];
      if (term.numerator) t = {quotient(t.low, term.divisor), quotient(t.high, term.divisor)};
      range = range + t * (sign * term.coefficient);
    }
    return range;
  }
  static int64_t quotient(int64_t a, int64_t b) { return isInfinite(a) ? a : floorDivide(a, b); }

  /// Raises the lower bound of a term's symbol, or lowers its upper one, to what sign · sum >= 0 leaves; says whether
  /// that changed it.
  static bool tighten(const Sum& sum, size_t term, int64_t sign, Intervals& of) {
    Interval rest = rangeOf(sum, term, sign, of);
    if (isInfinite(rest.high)) return false;
    Interval& range = of[sum.terms[term].symbol];
    const Interval before = range;
    const int64_t c = sign * sum.terms[term].coefficient;
    if (c > 0) range.low = std::max(range.low, -floorDivide(rest.high, c));
    if (c < 0) range.high = std::min(range.high, floorDivide(rest.high, -c));
    return range.low != before.low || range.high != before.high;
  }

  struct Row {
    Sum sum;
    bool zero;
  };
  std::vector<std::string> names_;
  std::vector<Row> constraints_;
};

using Offsets = std::vector<int>;

/// The members of one class, by offsets.
class Members {
 public:
  explicit Members(const ShapeClass& shapes) : shapes_(shapes), ranges_(shapes), start_(ranges_.any()) {
    for (size_t i = 0; i < shapes.symbols.size(); ++i)
      start_[i] = {0, kInfinity};
    for (const Constraint& c : shapes.constraints) {  // a lower bound of its own may be negative
      if (c.expr.terms().size() != 1 || c.expr.terms()[0].second <= 0 || c.expr.hasDivision()) continue;
      auto symbol = std::find(shapes.symbols.begin(), shapes.symbols.end(), c.expr.terms()[0].first.name);
      if (symbol != shapes.symbols.end()) start_[static_cast<size_t>(symbol - shapes.symbols.begin())].low = -kInfinity;
    }
    possible_ = ranges_.narrow(start_, 20);
  }

  /// Gives every symbol, in this order, its least possible value plus its offset.
  std::optional<Bindings> at(const std::vector<size_t>& order, const Offsets& offsets) const {
    if (!possible_) return std::nullopt;
    Ranges::Intervals ranges = start_;
    Bindings member;
    for (size_t i = 0; i < order.size(); ++i) {
      auto value = assign(order[i], offsets[i], ranges);
      if (!value) return std::nullopt;
      member[shapes_.symbols[order[i]]] = *value;
    }
    return shapes_.contains(member) ? std::optional(member) : std::nullopt;
  }

 private:
  /// The value after `skip` possible ones, from the least; narrows the ranges by it.
  std::optional<int64_t> assign(size_t symbol, int skip, Ranges::Intervals& ranges) const {
    constexpr int64_t kTries = 24;
    Interval range = ranges[symbol];
    for (int64_t v = range.low; v <= std::min(range.high, range.low + kTries); ++v) {
      Ranges::Intervals next = ranges;
      next[symbol] = {v, v};
      if (!ranges_.narrow(next, 2) || skip-- > 0) continue;
      ranges = std::move(next);
      return v;
    }
    return std::nullopt;
  }

  const ShapeClass& shapes_;
  Ranges ranges_;
  Ranges::Intervals start_;
  bool possible_ = true;
};

/// The positions of the class's symbols.
std::vector<size_t> orderOf(const ShapeClass& shapes) {
  std::vector<size_t> order(shapes.symbols.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

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
  const std::vector<size_t> order = orderOf(shapes), reversed(order.rbegin(), order.rend());
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
  std::vector<size_t> order = orderOf(shapes);
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
