#include "synth/prove/boxes.h"

#include <algorithm>

#include "rules/text.h"

namespace pet {
namespace {

/// Beyond so many pieces they are neither split further nor are their pairs looked at.
constexpr size_t kFewPieces = 16;
/// A piece that is no box is split by the residues of a digit, so often.
constexpr int kSplits = 2;

class Cover {
 public:
  Cover(const poly::Context& context, const poly::Set& positions, const Shape& output)
      : context_(context), positions_(positions), output_(output) {
    for (const BoxRange& r : wholeOf(output).ranges) {
      names_.push_back("v" + std::to_string(names_.size()));
      extents_.push_back(r.upper);
    }
  }

  std::vector<Box> run() const {
    if (positions_.isEmpty()) return {};
    Box all = hull(positions_);
    if (adds(all)) {
      std::vector<Box> boxes = joined();
      for (Box& b : boxes)
        widen(b);
      dropCovered(boxes);
      if (positions_.isSubset(setOf(boxes))) {
        std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return print(a) < print(b); });
        return boxes;
      }
    }
    return {all};
  }

 private:
  poly::Set setOf(const std::vector<Box>& boxes) const { return positionsOf(context_, boxes, output_); }

  /// The box holds more than the positions to cover.
  bool adds(const Box& box) const { return !setOf({box}).isSubset(positions_); }

  /// No point of the set satisfies the constraint.
  bool never(const poly::Set& set, const Constraint& c) const {
    return set.intersect(context_.set(names_, {c})).isEmpty();
  }

  Box hull(const poly::Set& piece) const {
    Box box;
    for (size_t d = 0; d < names_.size(); ++d)
      box.ranges.push_back(range(piece, d));
    return box;
  }

  /// Where a bound has several pieces, one that holds for all shapes is taken: what is beyond the output's edge does
  /// not count, so that of max(0, W - Q) the W - Q is as good as the whole.
  BoxRange range(const poly::Set& piece, size_t d) const {
    auto position = static_cast<int>(d);
    Expr v = Expr::variable(names_[d]);
    BoxRange r{0, extents_[d], 1};
    for (const auto& bound : piece.minima(position)) {
      if (r.lower == Expr(0) && never(piece, Constraint::lt(v, bound.value))) r.lower = bound.value;
    }
    for (const auto& bound : piece.maxima(position)) {
      if (r.upper == extents_[d] && never(piece, Constraint::lt(bound.value, v))) r.upper = bound.value + 1;
    }
    int64_t step = piece.stride(position);
    auto width = (r.upper - r.lower).asConstant();
    if (step > 1 && !(width && *width <= step) && isCongruent(piece, v - r.lower, step)) r.step = step;
    // 0:2M:2 rather than 0:2M - 1:2.
    if (context_.implies(Constraint::le(r.upper, extents_[d])) &&
        context_.implies(Constraint::le(extents_[d], r.upper - 1 + r.step))) {
      r.upper = extents_[d];
    }
    return r;
  }

  bool isCongruent(const poly::Set& piece, const Expr& distance, int64_t step) const {
    Expr rest = modulo(distance, step);
    return never(piece, Constraint::le(1, rest));
  }

  bool isBox(const poly::Set& piece) const { return !adds(hull(piece)); }

  /// The pieces by the values of a digit modulo m.
  std::vector<poly::Set> byResidue(const std::vector<poly::Set>& pieces, size_t d, int64_t m) const {
    std::vector<poly::Set> parts;
    for (int64_t r = 0; r < m; ++r) {
      auto one = context_.set(names_, {Constraint::eq(modulo(Expr::variable(names_[d]), m), r)});
      for (const poly::Set& piece : pieces) {
        poly::Set part = piece.intersect(one);
        if (!part.isEmpty()) parts.push_back(part);
      }
    }
    return parts;
  }

  /// The ways to split a piece by one digit, or by two.
  std::vector<std::vector<poly::Set>> splitsOf(const poly::Set& piece, bool byTwo) const {
    std::vector<std::vector<poly::Set>> ways;
    for (size_t d = 0; d < names_.size(); ++d) {
      auto halves = byResidue({piece}, d, 2);
      for (size_t e = d + 1; byTwo && e < names_.size(); ++e)
        ways.push_back(byResidue(halves, e, 2));
      if (byTwo) continue;
      ways.push_back(std::move(halves));
      ways.push_back(byResidue({piece}, d, 3));
    }
    return ways;
  }

  /// The piece as boxes, as far as splitting it by the residues of digits makes it some: where images or phases are
  /// exchanged, every other row is wrong in other columns.
  void split(const poly::Set& piece, int splits, std::vector<poly::Set>& into) const {
    if (splits == 0 || into.size() >= kFewPieces || isBox(piece)) return into.push_back(piece);
    std::vector<poly::Set> best;
    std::ptrdiff_t most = 0;
    for (bool byTwo : {false, true}) {
      for (auto& parts : splitsOf(piece, byTwo)) {
        auto boxes = std::count_if(parts.begin(), parts.end(), [&](const poly::Set& p) { return isBox(p); });
        if (boxes <= most) continue;
        most = boxes;
        best = std::move(parts);
      }
      if (!best.empty()) break;
    }
    if (best.empty()) return into.push_back(piece);
    for (const poly::Set& part : best)
      split(part, splits - 1, into);
  }

  /// A hull for each piece, or for two where it holds no more than they do.
  std::vector<Box> joined() const {
    std::vector<poly::Set> pieces;
    for (const poly::Set& p : positions_.disjointPieces())
      split(p, kSplits, pieces);
    for (size_t i = 0; i < pieces.size() && pieces.size() <= kFewPieces; ++i) {
      for (size_t j = i + 1; j < pieces.size(); ++j) {
        poly::Set both = pieces[i].unite(pieces[j]);
        if (adds(hull(both))) continue;
        pieces[i] = both;
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(j));
        j = i;  // what did not go with the piece may go with the larger one
      }
    }
    std::vector<Box> boxes;
    for (const poly::Set& p : pieces)
      boxes.push_back(hull(p));
    return boxes;
  }

  /// Takes whole dimensions where all their positions are to be covered anyhow.
  void widen(Box& box) const {
    for (size_t d = 0; d < box.ranges.size(); ++d) {
      Box wider = box;
      wider.ranges[d] = {0, extents_[d], 1};
      if (!(wider == box) && !adds(wider)) box = wider;
    }
  }

  void dropCovered(std::vector<Box>& boxes) const {
    for (size_t i = boxes.size(); i-- > 0 && boxes.size() > 1;) {
      std::vector<Box> others = boxes;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      if (setOf({boxes[i]}).isSubset(setOf(others))) boxes = std::move(others);
    }
  }

  const poly::Context& context_;
  const poly::Set& positions_;
  const Shape& output_;
  std::vector<std::string> names_;
  std::vector<Expr> extents_;
};

}  // namespace

Box wholeOf(const Shape& output) {
  Box box;
  for (const Dim& d : output) {
    for (const Expr& atom : d.atoms())
      box.ranges.push_back({0, atom, 1});
  }
  return box;
}

poly::Set positionsOf(const poly::Context& context, const std::vector<Box>& boxes, const Shape& output) {
  std::vector<std::string> names;
  poly::Conjunction inside;
  auto addRange = [](const Expr& v, const BoxRange& r, poly::Conjunction& to) {
    to.insert(to.end(), {Constraint::le(r.lower, v), Constraint::lt(v, r.upper)});
    if (r.step != 1) to.push_back(Constraint::eq(modulo(v - r.lower, r.step), 0));
  };
  for (const BoxRange& r : wholeOf(output).ranges) {
    names.push_back("v" + std::to_string(names.size()));
    addRange(Expr::variable(names.back()), r, inside);
  }
  poly::Set all = context.emptySet(static_cast<int>(names.size()));
  for (const Box& box : boxes) {
    poly::Conjunction c = inside;
    for (size_t d = 0; d < names.size(); ++d)
      addRange(Expr::variable(names[d]), box.ranges[d], c);
    all = all.unite(context.set(names, c));
  }
  return all;
}

std::vector<Box> boxesOf(const poly::Context& context, const poly::Set& positions, const Shape& output) {
  return Cover(context, positions, output).run();
}

}  // namespace pet
