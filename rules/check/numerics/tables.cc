#include <algorithm>
#include <numeric>

#include "rules/check/numerics/numerics.h"

// Tables of numbers before they are summed: whole numbers over a common denominator, which drops out of every ratio.
namespace pet::check {
namespace {

constexpr int64_t kMostPoints = 2097152;

/// A digit of some tables, and who else reads it.
struct Axis {
  enum class Reader {
    kNone,        ///< tables only: what is summed away
    kActivation,  ///< also activations, all of which one bound stands for
    kOther,       ///< weights, numbers, or no index at all
  };
  Expr digit;
  int64_t extent;
  Reader reader;
};

/// Numbers over some of the axes, by place.
struct Numbers {
  std::vector<size_t> axes;
  std::vector<int64_t> entries;

  bool over(size_t axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }
  void dropSigns() {
    for (int64_t& e : entries)
      e = std::abs(e);
  }
};

/// A box of points and the offset of each in several arrays.
class Walk {
 public:
  Walk(const std::vector<Axis>& all, std::vector<size_t> axes) : axes_(std::move(axes)), at_(axes_.size()) {
    for (size_t a : axes_) {
      extents_.push_back(all[a].extent);
      points_ = checkedMul(points_, all[a].extent);
    }
  }
  int64_t points() const { return points_; }
  /// Adds an array over these axes, row by row.
  void follow(const std::vector<Axis>& all, const std::vector<size_t>& axes) {
    std::vector<int64_t> steps(axes_.size());
    int64_t step = 1;
    for (size_t i = axes.size(); i-- > 0; step *= all[axes[i]].extent) {
      auto place = std::find(axes_.begin(), axes_.end(), axes[i]) - axes_.begin();
      steps[static_cast<size_t>(place)] += step;
    }
    steps_.push_back(std::move(steps));
    offsets_.push_back(0);
  }
  size_t offset(size_t array) const { return static_cast<size_t>(offsets_[array]); }
  void next() {
    for (size_t d = axes_.size(); d-- > 0;) {
      bool wraps = ++at_[d] == extents_[d];
      for (size_t a = 0; a < steps_.size(); ++a)
        offsets_[a] += wraps ? -steps_[a][d] * (extents_[d] - 1) : steps_[a][d];
      if (!wraps) return;
      at_[d] = 0;
    }
  }

 private:
  std::vector<size_t> axes_;
  std::vector<int64_t> extents_, at_, offsets_;
  std::vector<std::vector<int64_t>> steps_;
  int64_t points_ = 1;
};

std::vector<size_t> unionOf(const std::vector<Numbers>& all) {
  std::set<size_t> axes;
  for (const Numbers& n : all)
    axes.insert(n.axes.begin(), n.axes.end());
  return {axes.begin(), axes.end()};
}

class Sums {
 public:
  explicit Sums(const std::vector<Axis>& axes) : axes_(axes) {}

  /// Σ over the axes that have this reader; false if there are too many points.
  bool sumOver(Axis::Reader reader, std::vector<Numbers>& all) const {
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a].reader == reader && !sumOver(a, all)) return false;
    }
    return true;
  }

  /// Π, at every point of the axes that are left.
  std::optional<std::vector<int64_t>> products(const std::vector<Numbers>& all, std::vector<size_t> axes) const {
    Walk walk(axes_, std::move(axes));
    if (walk.points() > kMostPoints) return std::nullopt;
    for (const Numbers& n : all)
      walk.follow(axes_, n.axes);
    std::vector<int64_t> result;
    for (int64_t i = 0; i < walk.points(); ++i, walk.next())
      result.push_back(product(all, walk));
    return result;
  }

 private:
  const std::vector<Axis>& axes_;

  static int64_t product(const std::vector<Numbers>& all, const Walk& walk) {
    int64_t result = 1;
    for (size_t n = 0; n < all.size(); ++n)
      result = checkedMul(result, all[n].entries[walk.offset(n)]);
    return result;
  }

  bool sumOver(size_t axis, std::vector<Numbers>& all) const {
    auto end = std::stable_partition(all.begin(), all.end(), [&](const Numbers& n) { return n.over(axis); });
    std::vector<Numbers> those(all.begin(), end);
    if (those.empty()) return true;
    std::vector<size_t> axes = unionOf(those);
    Numbers sum{axes, {}};
    std::erase(sum.axes, axis);
    Walk walk(axes_, axes);
    if (walk.points() > kMostPoints) return false;
    for (const Numbers& n : those)
      walk.follow(axes_, n.axes);
    walk.follow(axes_, sum.axes);
    sum.entries.assign(static_cast<size_t>(walk.points() / axes_[axis].extent), 0);
    for (int64_t i = 0; i < walk.points(); ++i, walk.next()) {
      int64_t& entry = sum.entries[walk.offset(those.size())];
      entry = checkedAdd(entry, product(those, walk));
    }
    all.erase(all.begin(), end);
    all.push_back(std::move(sum));
    return true;
  }
};

/// The tables of a piece over their digits.
class TablesOf {
 public:
  TablesOf(const Piece& piece, const std::vector<Attributes>& tables, int first, const std::set<int>& weights)
      : piece_(piece) {
    for (const Factor& f : piece.factors) {
      if (f.kind == Factor::Kind::kInput && f.number >= first) continue;
      bool fixed = f.kind == Factor::Kind::kConstant || (f.kind == Factor::Kind::kInput && weights.contains(f.number));
      for (const std::vector<Expr>* list : {&f.at, &f.parameters}) {
        for (const Expr& e : *list)
          e.collectVariables(fixed ? readByOthers_ : readByActivations_);
      }
    }
    for (const Factor& f : piece.factors) {
      if (f.kind == Factor::Kind::kInput && f.number >= first)
        read(tables[static_cast<size_t>(f.number - first)], f.at);
    }
  }

  std::vector<Axis> axes;
  std::vector<Numbers> numbers;
  bool known = true;  ///< false: some index is read in a way that is not looked into

 private:
  const Piece& piece_;
  std::set<std::string> readByActivations_, readByOthers_;

  void read(const Attributes& table, const std::vector<Expr>& at) {
    Numbers n;
    const auto& shape = std::get<std::vector<Expr>>(table.find("shape")->second);
    for (size_t d = 0; d < at.size(); ++d) {
      auto it = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.digit == at[d]; });
      n.axes.push_back(static_cast<size_t>(it - axes.begin()));
      if (it == axes.end()) axes.push_back({at[d], shape[d].constant(), readerOf(at[d], shape[d].constant())});
    }
    for (const Expr& e : std::get<std::vector<Expr>>(table.find("values")->second))
      n.entries.push_back(e.constant());
    numbers.push_back(std::move(n));
  }

  bool isReduced(const std::string& r) const {
    return std::find(piece_.reduction.begin(), piece_.reduction.end(), r) != piece_.reduction.end();
  }

  Axis::Reader readerOf(const Expr& digit, int64_t extent) {
    std::string name = digit.asVariable().value_or("");
    if (!isReduced(name)) {
      // An index that would be summed elsewhere must not be part of another digit.
      for (const std::string& v : digit.variables())
        known = known && (!isReduced(v) || readByOthers_.contains(v));
      return Axis::Reader::kOther;
    }
    if (readByOthers_.contains(name)) return Axis::Reader::kOther;
    if (readByActivations_.contains(name)) return Axis::Reader::kActivation;
    for (const Constraint& c : piece_.domain) {
      bool range = c == Constraint::le(0, digit) || c == Constraint::le(digit, extent - 1);
      known = known && (range || !c.expr.mentions(name));
    }
    return Axis::Reader::kNone;
  }
};

}  // namespace

std::optional<TableSum> amplificationOf(const Piece& piece,
                                        const std::vector<Attributes>& tables,
                                        int firstTable,
                                        const std::set<int>& weights) {
  TablesOf of(piece, tables, firstTable, weights);
  if (!of.known) return std::nullopt;
  Sums sums(of.axes);
  std::vector<Numbers> left = of.numbers, all = of.numbers;
  if (!sums.sumOver(Axis::Reader::kNone, left)) return std::nullopt;
  TableSum result;
  for (Numbers& n : left) {
    result.hasNegatives =
        result.hasNegatives || std::any_of(n.entries.begin(), n.entries.end(), [](int64_t e) { return e < 0; });
    n.dropSigns();
  }
  for (Numbers& n : all)
    n.dropSigns();
  bool fits = sums.sumOver(Axis::Reader::kActivation, left) && sums.sumOver(Axis::Reader::kActivation, all) &&
              sums.sumOver(Axis::Reader::kNone, all);
  std::vector<size_t> kept;
  for (size_t a = 0; a < of.axes.size(); ++a) {
    if (of.axes[a].reader == Axis::Reader::kOther) kept.push_back(a);
  }
  auto before = fits ? sums.products(all, kept) : std::nullopt, after = fits ? sums.products(left, kept) : std::nullopt;
  if (!before || !after) return std::nullopt;
  for (size_t i = 0; i < before->size(); ++i) {
    if ((*before)[i] == 0) continue;
    if ((*after)[i] == 0) return std::nullopt;
    Fraction ratio = reduced((*before)[i], (*after)[i]);
    result.factor = std::max(result.factor, static_cast<double>(ratio.over) / static_cast<double>(ratio.under));
  }
  return result;
}

}  // namespace pet::check
