#include "synth/correct.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/shapes.h"

namespace pet {
namespace {

constexpr int64_t kTypicalExtent = 48;
/// Strips that take more of their dimension than this are not worth writing back.
constexpr double kThinShare = 0.5;

struct NoCover {
  std::string why;
};
[[noreturn]] void stop(std::string why) {
  throw NoCover{std::move(why)};
}

/// lower <= position < upper along one dimension.
struct Strip {
  size_t dim = 0;
  Expr lower, upper;
  bool beforeLayout = false;  ///< in the main operator's coordinates, else in the output's
  poly::Conjunction when;     ///< for the shapes at which these are the bounds
  friend bool operator==(const Strip& a, const Strip& b) {
    return std::tie(a.dim, a.lower, a.upper, a.beforeLayout) == std::tie(b.dim, b.lower, b.upper, b.beforeLayout);
  }
};

std::vector<std::string> indexNames(const Shape& shape, std::string_view stem) {
  std::vector<std::string> names;
  for (const Dim& d : shape) {
    for (size_t a = 0; a < d.atoms().size(); ++a)
      names.push_back(fmt::format("{}{}", stem, names.size()));
  }
  return names;
}

bool allAffine(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.isAffine(); });
}

class Corrector {
 public:
  Corrector(const poly::Context& context, const Mutant& mutant, const MainOperator& source)
      : context_(context), mutant_(mutant), source_(source), shapes_(mutant.shapes) {}

  Corrected run(const poly::Set& bad, WriteBack where) {
    const Shape& y = source_.program.shape(source_.y);
    const Shape& u = mutant_.program.shape(main());
    if (!allAffine(y)) stop("the output has product dimensions");
    auto typical = typicalShape(context_, source_, kTypicalExtent);
    if (!typical) stop("the class is empty");
    typical_ = *typical;
    auto closing = where == WriteBack::kBeforeLayout && allAffine(u) ? std::optional(closingMap()) : std::nullopt;
    auto strips = stripsAlongOneDimension(bad, closing);
    if (strips.empty()) strips = stripsOfPieces(bad, closing);
    strips = necessary(std::move(strips), bad, closing);
    for (const Strip& strip : strips) {
      for (const Constraint& c : strip.when)
        shapes_.require(c);
    }
    build(strips, closing);
    Corrected result{shapes_, std::move(*program_), boxes_};
    for (const Constraint& c : obligations(result.replacement)) {
      if (c.decided() == false) stop("an extent of the correction is never positive");
      result.shapes.require(c);
    }
    return result;
  }

 private:
  Value main() const { return *mutant_.program.find(mutant_.program.name(mutant_.main)); }

  /// A node of the mutant on other operands, whose shapes may not fit.
  static Value copied(ProgramBuilder& b, const Node& n, std::vector<Value> operands) {
    auto v = b.add(*n.op, std::move(operands), n.attributes, n.names);
    if (!v) stop(v.error().what);
    return *v;
  }

  /// v -> position in the main operator's output that the closing layout reads.
  poly::Map closingMap() const {
    ProgramBuilder b;
    std::map<Value, Value> renamed{{main(), b.input("u", mutant_.program.shape(main()))}};
    for (size_t i = static_cast<size_t>(main().node) + 1; i < mutant_.program.nodes().size(); ++i) {
      const Node& n = mutant_.program.nodes()[i];
      std::vector<Value> operands;
      for (Value v : n.operands) {
        auto it = renamed.find(v);
        if (it == renamed.end()) stop("the closing layout reads more than the main operator");
        operands.push_back(it->second);
      }
      renamed[{static_cast<int>(i), 0}] = copied(b, n, std::move(operands));
    }
    auto it = renamed.find(mutant_.program.outputs()[0]);
    if (it == renamed.end()) stop("the closing layout is not a function of the main operator");
    Program closing = std::move(b).finish({it->second});
    NameSource names;
    auto d = denote(closing, closing.outputs()[0], names);
    if (!d) stop(d.error().what);
    auto to = indexNames(mutant_.program.shape(main()), "u");
    std::optional<poly::Map> all;
    for (const Piece& p : d->pieces) {
      poly::Conjunction c = p.domain;
      for (size_t i = 0; i < to.size(); ++i)
        c.push_back(Constraint::eq(Expr::variable(to[i]), p.factors[0].at[i]));
      poly::Map m = context_.map(d->index, to, c, p.reduction);
      all = all ? all->unite(m) : m;
    }
    return *all;
  }

  /// Share of a dimension that [lower, upper) takes at the typical shape.
  double share(const Expr& lower, const Expr& upper, const Dim& dim) const {
    double extent = static_cast<double>(dim.evaluate(typical_).value_or(1));
    return static_cast<double>(upper.evaluate(typical_).value_or(0) - lower.evaluate(typical_).value_or(0)) / extent;
  }

  /// The bound that holds at the typical shape, with the condition under which it does.
  const poly::Set::BoundPiece* typicalBound(const std::vector<poly::Set::BoundPiece>& pieces) const {
    for (const auto& p : pieces) {
      if (std::all_of(p.when.begin(), p.when.end(), [&](const Constraint& c) { return c.evaluate(typical_) == true; }))
        return &p;
    }
    return nullptr;
  }

  /// Share of a dimension that the values of a variable span, in a set at the typical shape.
  double hull(const poly::Set& typical, int position, const Dim& dim) const {
    auto minima = typical.minima(position), maxima = typical.maxima(position);
    const auto *lower = typicalBound(minima), *greatest = typicalBound(maxima);
    return lower && greatest ? share(lower->value, greatest->value + 1, dim) : 0;
  }

  static Strip between(size_t dim,
                       const poly::Set::BoundPiece& lower,
                       const poly::Set::BoundPiece& greatest,
                       bool beforeLayout) {
    Strip strip{dim, lower.value, greatest.value + 1, beforeLayout, lower.when};
    strip.when.insert(strip.when.end(), greatest.when.begin(), greatest.when.end());
    return strip;
  }

  /// The narrow dimension of a set of positions; all others are taken whole. Nullopt where several are cut.
  std::optional<Strip> narrowest(const poly::Set& piece, const Shape& shape, bool alone) const {
    poly::Set typical = piece.at(typical_);
    std::optional<size_t> dim;
    double thinnest = kThinShare;
    int cut = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      double part = hull(typical, static_cast<int>(d), shape[d]);
      if (part >= 1) continue;
      ++cut;
      if (part < thinnest) {
        dim = d;
        thinnest = part;
      }
    }
    if (!dim || (alone && cut > 1)) return std::nullopt;
    auto minima = piece.minima(static_cast<int>(*dim)), maxima = piece.maxima(static_cast<int>(*dim));
    const auto *lower = typicalBound(minima), *greatest = typicalBound(maxima);
    if (!lower || !greatest) return std::nullopt;
    return between(*dim, *lower, *greatest, false);
  }

  /// Strips along one dimension, all others whole: before the closing layout, if each strip is a box of the output
  /// there, else after it. Empty where no dimension serves.
  std::vector<Strip> stripsAlongOneDimension(const poly::Set& bad, const std::optional<poly::Map>& closing) const {
    if (closing) {
      auto strips = thinnest(closing->intersectDomain(bad).range(), mutant_.program.shape(main()), true);
      if (areBoxes(strips, closing)) return strips;
      strips = thinnestOfPieces(bad, *closing);
      if (areBoxes(strips, closing)) return strips;
    }
    return thinnest(bad, source_.program.shape(source_.y), false);
  }

  /// Neighbours in the main operator's coordinates may stand apart in the output: a strip for each piece.
  std::vector<Strip> thinnestOfPieces(const poly::Set& bad, const poly::Map& closing) const {
    std::vector<Strip> all;
    for (const poly::Set& piece : bad.disjointPieces()) {
      for (const Strip& s : thinnest(closing.intersectDomain(piece).range(), mutant_.program.shape(main()), true)) {
        if (!all.empty() && all[0].dim != s.dim) return {};
        if (std::find(all.begin(), all.end(), s) == all.end()) all.push_back(s);
      }
    }
    return all;
  }

  bool areBoxes(const std::vector<Strip>& strips, const std::optional<poly::Map>& closing) const {
    const Shape& u = mutant_.program.shape(main());
    return !strips.empty() &&
           std::all_of(strips.begin(), strips.end(), [&](const Strip& s) { return isBox(s, closing, u); });
  }

  std::vector<Strip> stripsOfPieces(const poly::Set& bad, const std::optional<poly::Map>& closing) const {
    std::vector<Strip> strips;
    for (const poly::Set& piece : bad.disjointPieces()) {
      if (piece.at(typical_).isEmpty()) continue;
      Strip strip = stripOf(piece, closing);
      if (std::find(strips.begin(), strips.end(), strip) == strips.end()) strips.push_back(std::move(strip));
    }
    return strips;
  }

  /// Without the strips that the others make superfluous at the typical shape.
  std::vector<Strip> necessary(std::vector<Strip> strips,
                               const poly::Set& bad,
                               const std::optional<poly::Map>& closing) const {
    std::vector<poly::Set> positions;
    for (const Strip& s : strips)
      positions.push_back(positionsOf(boxOf(s, closing, mutant_.program.shape(main())).box));
    poly::Set typical = bad.at(typical_);
    for (size_t i = strips.size(); i-- > 0;) {
      poly::Set rest = typical;
      for (size_t j = 0; j < strips.size(); ++j) {
        if (j != i) rest = rest.subtract(positions[j]);
      }
      if (!rest.isEmpty()) continue;
      strips.erase(strips.begin() + static_cast<std::ptrdiff_t>(i));
      positions.erase(positions.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return strips;
  }

  /// Of a box at the typical shape.
  poly::Set positionsOf(const Box& box) const {
    std::vector<std::string> names;
    poly::Conjunction c;
    for (const BoxRange& r : box.ranges) {
      names.push_back(fmt::format("v{}", names.size()));
      Expr at = Expr::variable(names.back());
      int64_t lower = *r.lower.evaluate(typical_);
      c.push_back(Constraint::le(lower, at));
      c.push_back(Constraint::lt(at, *r.upper.evaluate(typical_)));
      if (r.step != 1) c.push_back(Constraint::eq(modulo(at - lower, r.step), 0));
    }
    return context_.set(names, c);
  }

  /// The dimensions of which the set takes less than kThinShare at the typical shape, thinnest first.
  std::vector<size_t> thinDimensions(const poly::Set& part, const Shape& shape) const {
    poly::Set typical = part.at(typical_);
    std::vector<std::pair<double, size_t>> thin;
    for (size_t d = 0; d < shape.size(); ++d) {
      double taken = 0;
      for (const poly::Set& interval : typical.onto(static_cast<int>(d)).outline().disjointPieces()) {
        taken += hull(interval, 0, shape[d]);
      }
      if (0 < taken && taken < kThinShare) thin.emplace_back(taken, d);
    }
    std::sort(thin.begin(), thin.end());
    std::vector<size_t> dims;
    for (const auto& [taken, d] : thin)
      dims.push_back(d);
    return dims;
  }

  /// Strips along the thinnest dimension that has bounds; empty if there is none.
  std::vector<Strip> thinnest(const poly::Set& part, const Shape& shape, bool beforeLayout) const {
    for (size_t d : thinDimensions(part, shape)) {
      std::vector<Strip> strips;
      poly::Conjunction condition;
      bool bounded = true;
      for (const poly::Set& interval : part.onto(static_cast<int>(d)).outline().disjointPieces()) {
        auto minima = interval.minima(0), maxima = interval.maxima(0);
        const auto *lower = typicalBound(minima), *greatest = typicalBound(maxima);
        if (!lower && !greatest) continue;  // empty at the typical shape
        bounded = bounded && lower && greatest && (!beforeLayout || interval.stride(0) == 1);
        if (!bounded) break;
        Strip strip = between(d, *lower, *greatest, beforeLayout);
        if (*strip.upper.evaluate(typical_) <= *strip.lower.evaluate(typical_)) {
          condition.push_back(Constraint::le(strip.upper, strip.lower));  // … and to stay so
          continue;
        }
        if (std::find(strips.begin(), strips.end(), strip) != strips.end()) continue;
        strips.push_back(std::move(strip));
      }
      if (!bounded || strips.empty()) continue;
      strips[0].when.insert(strips[0].when.end(), condition.begin(), condition.end());
      return strips;
    }
    return {};
  }

  /// At the typical shape the strip has as many positions as the box that it is taken for.
  bool isBox(const Strip& s, const std::optional<poly::Map>& closing, const Shape& shape) const {
    double strip = 1, positions = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      strip *= static_cast<double>(*(d == s.dim ? Dim(s.upper - s.lower) : shape[d]).evaluate(typical_));
    }
    try {
      for (const BoxRange& r : boxOf(s, closing, shape).box.ranges) {
        positions *= static_cast<double>(*ceilDiv(r.upper - r.lower, r.step).evaluate(typical_));
      }
    } catch (const NoCover&) {
      return false;
    }
    return strip == positions;
  }

  Strip stripOf(const poly::Set& piece, const std::optional<poly::Map>& closing) const {
    if (closing) {
      auto image = closing->intersectDomain(piece).range();
      if (auto s = narrowest(image, mutant_.program.shape(main()), true)) {
        s->beforeLayout = true;
        return *s;
      }
    }
    auto s = narrowest(piece, source_.program.shape(source_.y), false);
    if (!s) stop("the mismatch covers whole dimensions");
    return *s;
  }

  // --- The corrected program ---

  void build(const std::vector<Strip>& strips, const std::optional<poly::Map>& closing) {
    ProgramBuilder b;
    std::map<Value, Value> renamed;
    for (size_t i = 0; i < mutant_.program.nodes().size(); ++i) {
      const Node& n = mutant_.program.nodes()[i];
      Value here{static_cast<int>(i), 0};
      if (n.op->name == "Input") {
        renamed[here] = b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
        continue;
      }
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(renamed.at(v));
      renamed[here] = copied(b, n, std::move(operands));
      if (here == main()) renamed[here] = writeBack(b, renamed[here], strips, true, closing);
    }
    Value y = renamed.at(mutant_.program.outputs()[0]);
    y = writeBack(b, y, strips, false, closing);
    program_ = std::move(b).finish({y}).withoutDeadNodes();
    if (!program_->find(mutant_.program.name(main()))) stop("the corrections recompute everything");
  }

  Value add(ProgramBuilder& b,
            std::string_view op,
            std::vector<Value> operands,
            Attributes attributes,
            std::string name = "") {
    if (name.empty()) name = fmt::format("c{}", ++names_);
    auto v = b.add(op, std::move(operands), std::move(attributes), std::move(name));
    if (!v) stop(v.error().what);
    return *v;
  }

  Value slice(ProgramBuilder& b, Value v, size_t dim, const Expr& lower, const Expr& upper, int64_t step = 1) {
    if (lower == Expr(0) && step == 1 && Dim(upper) == b.shape(v)[dim]) return v;
    Attributes a{{"axes", std::vector<Expr>{static_cast<int64_t>(dim)}},
                 {"starts", std::vector<Expr>{lower}},
                 {"ends", std::vector<Expr>{upper}}};
    if (step != 1) a.emplace("steps", std::vector<Expr>{step});
    return add(b, "Slice", {v}, a);
  }

  /// Replaces the strips of one coordinate system, dimension by dimension: Concat of what stays and what is recomputed.
  Value writeBack(ProgramBuilder& b,
                  Value v,
                  const std::vector<Strip>& strips,
                  bool beforeLayout,
                  const std::optional<poly::Map>& closing) {
    for (size_t dim = 0; dim < b.shape(v).size(); ++dim) {
      std::vector<Strip> here;
      for (const Strip& s : strips) {
        if (s.dim == dim && s.beforeLayout == beforeLayout) here.push_back(s);
      }
      if (here.empty()) continue;
      sortAndMerge(here);
      Expr extent = b.shape(v)[dim].affine();
      if (!beforeLayout && near(0, here.front().lower)) here.front().lower = 0;
      if (!beforeLayout && near(here.back().upper, extent)) here.back().upper = extent;
      std::vector<Value> parts;
      Expr done = 0;
      for (const Strip& s : here) {
        if (!(s.lower == done)) parts.push_back(slice(b, v, dim, done, s.lower));
        parts.push_back(recompute(b, s, closing, b.shape(v)));
        done = s.upper;
      }
      if (!(done == extent)) parts.push_back(slice(b, v, dim, done, extent));
      v = add(b, "Concat", parts, {{"axis", Expr(static_cast<int64_t>(dim))}});
    }
    return v;
  }

  /// What lies between is not worth a slice of its own: after the layout it is recomputed as well.
  bool near(const Expr& upper, const Expr& lower) const {
    return *lower.evaluate(typical_) - *upper.evaluate(typical_) <= 1;
  }

  /// In their order at the typical shape, which becomes a condition where the class does not imply it.
  void sortAndMerge(std::vector<Strip>& strips) {
    std::sort(strips.begin(), strips.end(), [&](const Strip& a, const Strip& b) {
      return *a.lower.evaluate(typical_) < *b.lower.evaluate(typical_);
    });
    std::vector<Strip> merged;
    for (const Strip& s : strips) {
      if (merged.empty()) {
        merged.push_back(s);
        continue;
      }
      Strip& last = merged.back();
      if (firstHolds(Constraint::le(last.upper, s.lower), Constraint::le(s.lower, last.upper))) {
        if (s.beforeLayout || !near(last.upper, s.lower)) {
          merged.push_back(s);
          continue;
        }
      } else if (!firstHolds(Constraint::le(last.lower, s.lower), Constraint::le(s.lower, last.lower))) {
        last.lower = s.lower;
      }
      if (firstHolds(Constraint::le(last.upper, s.upper), Constraint::le(s.upper, last.upper))) last.upper = s.upper;
    }
    strips = merged;
  }

  Value recompute(ProgramBuilder& b, const Strip& s, const std::optional<poly::Map>& closing, const Shape& shape) {
    auto [box, when] = boxOf(s, closing, shape);
    for (const Constraint& c : when)
      shapes_.require(c);
    boxes_.push_back(box);
    Value v = patternOn(b, box);
    const Shape& got = b.shape(v);
    for (size_t d = 0; d < shape.size(); ++d) {
      Dim want = d == s.dim ? Dim(s.upper - s.lower) : shape[d];
      if (got.size() != shape.size() || got[d] != want) {
        stop(fmt::format("a correction of shape {} does not fit its strip", str(got)));
      }
    }
    return v;
  }

  struct ConditionalBox {
    Box box;
    poly::Conjunction when;
  };

  /// The positions of the output that a strip stands for, and the shapes for which they do.
  ConditionalBox boxOf(const Strip& s, const std::optional<poly::Map>& closing, const Shape& shape) const {
    const Shape& y = source_.program.shape(source_.y);
    ConditionalBox result;
    auto& [box, when] = result;
    if (!s.beforeLayout) {
      for (size_t d = 0; d < y.size(); ++d) {
        box.ranges.push_back(d == s.dim ? BoxRange{s.lower, s.upper, 1} : BoxRange{0, y[d].affine(), 1});
      }
      return result;
    }
    auto names = indexNames(shape, "u");
    poly::Conjunction c;
    for (size_t d = 0; d < shape.size(); ++d) {
      Expr at = Expr::variable(names[d]);
      c.push_back(Constraint::le(d == s.dim ? s.lower : Expr(0), at));
      c.push_back(Constraint::lt(at, d == s.dim ? s.upper : shape[d].affine()));
    }
    poly::Set positions = closing->reversed().intersectDomain(context_.set(names, c)).range();
    for (size_t d = 0; d < y.size(); ++d) {
      auto minima = positions.minima(static_cast<int>(d)), maxima = positions.maxima(static_cast<int>(d));
      const auto *lower = typicalBound(minima), *greatest = typicalBound(maxima);
      if (!lower || !greatest) stop("a strip's positions in the output are no box");
      for (const auto* bound : {lower, greatest}) {
        when.insert(when.end(), bound->when.begin(), bound->when.end());
      }
      box.ranges.push_back({lower->value, greatest->value + 1, positions.stride(static_cast<int>(d))});
    }
    return result;
  }

  // --- The pattern's operator on the part of the input that a box reads ---

  struct WindowSlice {
    Expr begin, end, padBegin, padEnd;
    int64_t step = 1, stride = 1, dilation = 1;
  };

  /// Which of two inequalities that cover all shapes holds: over the class, else at the typical shape, to which the
  /// class is then restricted.
  bool firstHolds(const Constraint& first, const Constraint& second) {
    poly::Context context(shapes_);
    if (context.implies(first)) return true;
    if (context.implies(second)) return false;
    bool typically = first.evaluate(typical_) == true;
    shapes_.require(typically ? first : second);
    return typically;
  }

  WindowSlice windowSlice(const Axis& axis, const BoxRange& range) {
    int64_t sv = -axis.relation.coefficient("v"), sr = -axis.relation.coefficient("r");
    if (axis.relation.coefficient("x") != 1 || sv < 1 || sr < 0)
      stop("corrections for this operator's windows are not derived");
    sr = std::max<int64_t>(sr, 1);
    Expr offset = -axis.relation.substitute({{"v", 0}, {"x", 0}, {"r", 0}});
    Expr first = range.lower * sv + offset;  // x at the box's first output and the first tap
    Expr count = ceilDiv(range.upper - range.lower, range.step);
    WindowSlice s;
    s.step = range.step == 1 ? 1 : std::gcd(sv * range.step, sr);
    s.stride = sv * range.step / s.step;
    s.dilation = sr / s.step;
    Expr span = (count - 1) * s.stride + (axis.taps - 1) * s.dilation + 1;  // positions read, in steps
    if (firstHolds(Constraint::le(first, 0), Constraint::le(0, first))) {
      s.padBegin = ceilDiv(-first, s.step);
      s.begin = first + s.padBegin * s.step;
    } else {
      s.begin = first;
    }
    Expr last = first + (span - 1) * s.step + 1;  // one behind the last position read
    if (firstHolds(Constraint::le(axis.inExtent, last), Constraint::le(last, axis.inExtent))) {
      s.end = axis.inExtent;
      s.padEnd = span - s.padBegin - ceilDiv(s.end - s.begin, s.step);
    } else {
      s.end = last;
    }
    return s;
  }

  Value patternOn(ProgramBuilder& b, const Box& box) {
    const Program& p = source_.program;
    Value x = *b.peek().find(p.name(source_.x));
    const Node& op = p.node(source_.y);
    Attributes attributes = op.attributes;
    for (const Axis& axis : source_.axes) {
      if (axis.out.dim < 0) continue;
      const BoxRange& range = box.ranges[static_cast<size_t>(axis.out.dim)];
      bool whole = range.lower == Expr(0) && range.step == 1 && range.upper == axis.outExtent;
      if (whole) continue;
      auto dim = static_cast<size_t>(axis.in.dim);
      if (axis.kind == Axis::Kind::kEqual) {
        x = slice(b, x, dim, range.lower, range.upper, range.step);
      } else if (axis.kind == Axis::Kind::kWindow) {
        WindowSlice s = windowSlice(axis, range);
        x = slice(b, x, dim, s.begin, s.end, s.step);
        auto set = [&](std::string_view name, size_t i, const Expr& value) {
          std::get<std::vector<Expr>>(attributes.find(name)->second)[i] = value;
        };
        size_t spatial = p.shape(source_.x).size() - 2;
        set("strides", dim - 2, s.stride);
        set("dilations", dim - 2, s.dilation);
        set("pads", dim - 2, s.padBegin);
        set("pads", dim - 2 + spatial, s.padEnd);
      } else {
        stop("a strip along channels");
      }
    }
    return add(b, op.op->name, {x, *b.peek().find(p.name(source_.w))}, attributes);
  }

  const poly::Context& context_;
  const Mutant& mutant_;
  const MainOperator& source_;
  ShapeClass shapes_;
  Bindings typical_;
  std::vector<Box> boxes_;
  std::optional<Program> program_;
  int names_ = 0;
};

}  // namespace

tl::expected<Corrected, std::string> correct(const poly::Context& context,
                                             const Mutant& mutant,
                                             const MainOperator& source,
                                             const poly::Set& bad,
                                             WriteBack where) {
  try {
    return Corrector(context, mutant, source).run(bad, where);
  } catch (const NoCover& n) {
    return tl::unexpected(n.why);
  } catch (const poly::BudgetExceeded& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

}  // namespace pet
