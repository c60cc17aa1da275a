#include "synth/numerics/table_growth.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace pet {
namespace {

constexpr int64_t kMostEntries = 1 << 21;

/// Integers at digits; a common denominator of all entries does not matter to ratios.
struct Grid {
  std::vector<Expr> digits;
  Extents extents;
  std::vector<int64_t> entries;

  bool has(const Expr& digit) const { return std::find(digits.begin(), digits.end(), digit) != digits.end(); }
  void makePositive() {
    for (int64_t& e : entries)
      e = std::abs(e);
  }
};

Grid gridOf(const Attributes& table, const std::vector<Expr>& at) {
  Grid g{at, {}, {}};
  for (const Expr& e : std::get<std::vector<Expr>>(table.find("shape")->second))
    g.extents.push_back(e.constant());
  for (const Expr& e : std::get<std::vector<Expr>>(table.find("values")->second))
    g.entries.push_back(e.constant());
  return g;
}

/// The product, over the digits of both.
std::optional<Grid> product(const Grid& a, const Grid& b) {
  Grid all = a;
  std::vector<size_t> places;
  for (size_t d = 0; d < b.digits.size(); ++d) {
    auto it = std::find(all.digits.begin(), all.digits.end(), b.digits[d]);
    places.push_back(static_cast<size_t>(it - all.digits.begin()));
    if (it != all.digits.end()) continue;
    all.digits.push_back(b.digits[d]);
    all.extents.push_back(b.extents[d]);
  }
  if (elementCount(all.extents) > kMostEntries) return std::nullopt;
  std::vector<int64_t> ownStrides = rowMajorStrides(all.extents), strides = rowMajorStrides(b.extents);
  int64_t inner = elementCount(all.extents) / std::max<int64_t>(1, elementCount(a.extents));
  all.entries.assign(static_cast<size_t>(elementCount(all.extents)), 0);
  for (size_t i = 0; i < all.entries.size(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < places.size(); ++d)
      offset += static_cast<int64_t>(i) / ownStrides[places[d]] % all.extents[places[d]] * strides[d];
    all.entries[i] = checkedMul(a.entries[i / static_cast<size_t>(inner)], b.entries[static_cast<size_t>(offset)]);
  }
  return all;
}

Grid summed(const Grid& g, const Expr& over) {
  auto d = static_cast<size_t>(std::find(g.digits.begin(), g.digits.end(), over) - g.digits.begin());
  int64_t stride = rowMajorStrides(g.extents)[d], extent = g.extents[d];
  Grid result = g;
  result.digits.erase(result.digits.begin() + static_cast<std::ptrdiff_t>(d));
  result.extents.erase(result.extents.begin() + static_cast<std::ptrdiff_t>(d));
  result.entries.assign(g.entries.size() / static_cast<size_t>(extent), 0);
  for (size_t i = 0; i < g.entries.size(); ++i) {
    auto n = static_cast<int64_t>(i);
    int64_t& sum = result.entries[static_cast<size_t>(n / (stride * extent) * stride + n % stride)];
    sum = checkedAdd(sum, g.entries[i]);
  }
  return result;
}

using Grids = std::vector<Grid>;

/// The grids that have the digit become one without it.
std::optional<Grids> sumOut(const Grids& grids, const Expr& digit) {
  Grids rest;
  std::optional<Grid> all;
  for (const Grid& g : grids) {
    if (!g.has(digit)) {
      rest.push_back(g);
      continue;
    }
    all = all ? product(*all, g) : g;
    if (!all) return std::nullopt;
  }
  if (all) rest.push_back(summed(*all, digit));
  return rest;
}

std::optional<Grids> sumOut(Grids grids, const std::vector<Expr>& digits) {
  for (const Expr& d : digits) {
    auto next = sumOut(grids, d);
    if (!next) return std::nullopt;
    grids = std::move(*next);
  }
  return grids;
}

/// One grid over the digits, in this order; entries that do not depend on a digit repeat along it.
std::optional<Grid> together(const Grids& grids, const std::vector<Expr>& digits, const Extents& extents) {
  Grid all{digits, extents, {}};
  if (elementCount(extents) > kMostEntries) return std::nullopt;
  all.entries.assign(static_cast<size_t>(elementCount(extents)), 1);
  for (const Grid& g : grids) {
    auto next = product(all, g);
    if (!next) return std::nullopt;
    all = std::move(*next);
  }
  return all;
}

bool mention(const std::vector<Expr>& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return e.mentions(name); });
}

/// What the digits of a piece's tables are.
class Roles {
 public:
  Roles(const Piece& piece, const std::vector<Attributes>& tables, const PieceReaders& readers) : piece_(piece) {
    for (const Factor& f : piece.factors) {
      bool isTable = f.kind == Factor::Kind::kInput && f.number >= readers.firstTable;
      if (isTable) grids.push_back(gridOf(tables[static_cast<size_t>(f.number - readers.firstTable)], f.at));
      bool moves = f.kind == Factor::Kind::kApplication ||
                   (f.kind == Factor::Kind::kInput && !isTable && !readers.weights.contains(f.number));
      if (!isTable) (moves ? activations_ : others_).push_back(f);
    }
  }

  /// False: an index is read in a way of which nothing is known.
  bool assign() {
    for (const Grid& g : grids) {
      for (size_t d = 0; d < g.digits.size(); ++d) {
        if (!assign(g.digits[d], g.extents[d])) return false;
      }
    }
    return true;
  }

  Grids grids;
  std::vector<Expr> ofTables, ofActivations, kept;
  Extents keptExtents;

 private:
  const Piece& piece_;
  std::vector<Factor> activations_, others_;

  static bool read(const std::vector<Factor>& factors, const std::string& name) {
    return std::any_of(factors.begin(), factors.end(),
                       [&](const Factor& f) { return mention(f.at, name) || mention(f.parameters, name); });
  }

  /// Everything said of the index is 0 <= r < extent, or not even that.
  bool isFree(const std::string& r, int64_t extent) const {
    return std::all_of(piece_.domain.begin(), piece_.domain.end(), [&](const Constraint& c) {
      return !c.expr.mentions(r) || c == Constraint::le(0, Expr::variable(r)) ||
             c == Constraint::lt(Expr::variable(r), extent);
    });
  }

  bool assign(const Expr& digit, int64_t extent) {
    for (const auto* list : {&ofTables, &ofActivations, &kept}) {
      if (std::find(list->begin(), list->end(), digit) != list->end()) return true;
    }
    auto name = digit.asVariable();
    bool bound = name && std::find(piece_.reduction.begin(), piece_.reduction.end(), *name) != piece_.reduction.end();
    if (!bound || read(others_, *name)) {
      for (const std::string& r : piece_.reduction) {
        if (digit.mentions(r) && !read(others_, r)) return false;
      }
      kept.push_back(digit);
      keptExtents.push_back(extent);
      return true;
    }
    if (read(activations_, *name)) {
      ofActivations.push_back(digit);
      return true;
    }
    ofTables.push_back(digit);
    return isFree(*name, extent);
  }
};

}  // namespace

std::optional<TableGrowth> tableGrowth(const Piece& piece,
                                       const std::vector<Attributes>& tables,
                                       const PieceReaders& readers) {
  Roles roles(piece, tables, readers);
  if (!roles.assign()) return std::nullopt;
  TableGrowth result;
  auto left = sumOut(roles.grids, roles.ofTables);
  if (!left) return std::nullopt;
  for (Grid& g : *left) {
    result.cancels = result.cancels || std::any_of(g.entries.begin(), g.entries.end(), [](int64_t e) { return e < 0; });
    g.makePositive();
  }
  for (Grid& g : roles.grids)
    g.makePositive();
  // Activations first: their digits stand in one table each, mostly.
  auto before = sumOut(roles.grids, roles.ofActivations);
  if (before) before = sumOut(std::move(*before), roles.ofTables);
  left = sumOut(std::move(*left), roles.ofActivations);
  if (!before || !left) return std::nullopt;
  auto more = together(*before, roles.kept, roles.keptExtents), less = together(*left, roles.kept, roles.keptExtents);
  if (!more || !less) return std::nullopt;
  for (size_t i = 0; i < more->entries.size(); ++i) {
    int64_t a = more->entries[i], b = less->entries[i], g = std::gcd(a, b);
    if (a == 0) continue;
    if (b == 0) return std::nullopt;
    result.ratio = std::max(result.ratio, static_cast<double>(a / g) / static_cast<double>(b / g));
  }
  return result;
}

}  // namespace pet
