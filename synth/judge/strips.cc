#include "synth/judge/strips.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/analysis/typical_shape.h"

namespace pet {
namespace {

constexpr int64_t kTypicalExtent = 48;
/// Strips that take more of their dimension than this are not worth writing back.
constexpr double kThinShare = 0.5;

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

void addNew(std::vector<Strip>& strips, Strip strip) {
  if (std::find(strips.begin(), strips.end(), strip) == strips.end()) strips.push_back(std::move(strip));
}

Strip between(size_t dim,
              const poly::Set::BoundPiece& lower,
              const poly::Set::BoundPiece& greatest,
              bool beforeLayout) {
  Strip strip{dim, lower.value, greatest.value + 1, beforeLayout, lower.when};
  strip.when.insert(strip.when.end(), greatest.when.begin(), greatest.when.end());
  return strip;
}

/// What the candidate does with its main operator's output, as a program of its own.
Program closingLayout(const Program& candidate, Value main) {
  ProgramBuilder b;
  std::map<Value, Value> renamed{{main, b.input("u", candidate.shape(main))}};
  for (size_t i = static_cast<size_t>(main.node) + 1; i < candidate.nodes().size(); ++i) {
    const Node& n = candidate.nodes()[i];
    std::vector<Value> operands;
    operands.reserve(n.operands.size());
    for (Value v : n.operands) {
      auto it = renamed.find(v);
      if (it == renamed.end()) stop("the closing layout reads more than the main operator");
      operands.push_back(it->second);
    }
    renamed[{static_cast<int>(i), 0}] = copied(b, n, std::move(operands));
  }
  auto it = renamed.find(candidate.outputs()[0]);
  if (it == renamed.end()) stop("the closing layout is not a function of the main operator");
  return std::move(b).finish({it->second});
}

}  // namespace

bool operator==(const Strip& a, const Strip& b) {
  return std::tie(a.dim, a.lower, a.upper, a.beforeLayout) == std::tie(b.dim, b.lower, b.upper, b.beforeLayout);
}

Value copied(ProgramBuilder& b, const Node& n, std::vector<Value> operands) {
  auto v = b.add(*n.op, std::move(operands), n.attributes, n.names);
  if (!v) stop(v.error().what);
  return *v;
}

StripCover::StripCover(const poly::Context& context,
                       const Uncorrected& candidate,
                       const MainOperator& source,
                       WriteBack where)
    : context_(context),
      candidate_(candidate),
      main_(candidate.main.value_or(candidate.program.outputs()[0])),
      source_(source) {
  if (!allAffine(outputShape())) stop("the output has product dimensions");
  auto typical = typicalShape(context_, source_, kTypicalExtent);
  if (!typical) stop("the class is empty");
  typical_ = *typical;
  if (where == WriteBack::kBeforeLayout && allAffine(mainShape())) closing_ = closingMap();
}

poly::Map StripCover::closingMap() const {
  Program closing = closingLayout(candidate_.program, main_);
  NameSource names;
  auto d = denote(closing, closing.outputs()[0], names);
  if (!d) stop(d.error().what);
  auto to = indexNames(mainShape(), "u");
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

// --- The choice of strips ---

std::vector<Strip> StripCover::of(const poly::Set& bad) const {
  std::optional<Pieces> pieces;  // costly, and not always wanted
  auto piecesOfBad = [&]() -> const Pieces& {
    if (!pieces) pieces = bad.disjointPieces();
    return *pieces;
  };
  if (closing_) {  // along one dimension of the main operator's output, if each strip is a box of the output
    auto strips = thinnest(inMainOperator(bad), mainShape(), true);
    if (!areBoxes(strips)) {
      strips = thinnestOfPieces(piecesOfBad());
      if (!areBoxes(strips)) strips.clear();
    }
    if (!strips.empty()) return necessary(std::move(strips), bad);
  }
  auto strips = thinnest(bad, outputShape(), false);
  if (strips.empty()) strips = stripsOfPieces(piecesOfBad());
  return necessary(std::move(strips), bad);
}

/// Strips along the thinnest dimension that has bounds; empty if there is none.
std::vector<Strip> StripCover::thinnest(const poly::Set& part, const Shape& shape, bool beforeLayout) const {
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
      addNew(strips, std::move(strip));
    }
    if (!bounded || strips.empty()) continue;
    strips[0].when.insert(strips[0].when.end(), condition.begin(), condition.end());
    return strips;
  }
  return {};
}

/// Neighbours in the main operator's coordinates may stand apart in the output: a strip for each piece, all along one
/// dimension.
std::vector<Strip> StripCover::thinnestOfPieces(const Pieces& bad) const {
  std::vector<Strip> all;
  for (const poly::Set& piece : bad) {
    for (const Strip& s : thinnest(inMainOperator(piece), mainShape(), true)) {
      if (!all.empty() && all[0].dim != s.dim) return {};
      addNew(all, s);
    }
  }
  return all;
}

std::vector<Strip> StripCover::stripsOfPieces(const Pieces& bad) const {
  std::vector<Strip> strips;
  for (const poly::Set& piece : bad) {
    if (!piece.at(typical_).isEmpty()) addNew(strips, stripOf(piece));
  }
  return strips;
}

Strip StripCover::stripOf(const poly::Set& piece) const {
  if (closing_) {
    if (auto s = narrowest(inMainOperator(piece), mainShape(), true)) {
      s->beforeLayout = true;
      return *s;
    }
  }
  auto s = narrowest(piece, outputShape(), false);
  if (!s) stop("the mismatch covers whole dimensions");
  return *s;
}

/// The narrow dimension of a set of positions; all others are taken whole. Nullopt where several are cut and it is to
/// be `alone`.
std::optional<Strip> StripCover::narrowest(const poly::Set& piece, const Shape& shape, bool alone) const {
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

/// Without the strips that the others make superfluous at the typical shape.
std::vector<Strip> StripCover::necessary(std::vector<Strip> strips, const poly::Set& bad) const {
  std::vector<poly::Set> positions;
  positions.reserve(strips.size());
  for (const Strip& s : strips)
    positions.push_back(positionsOf(boxOf(s).box));
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

// --- How thin a set is ---

/// Share of a dimension that [lower, upper) takes at the typical shape.
double StripCover::share(const Expr& lower, const Expr& upper, const Dim& dim) const {
  double extent = static_cast<double>(dim.evaluate(typical_).value_or(1));
  return static_cast<double>(upper.evaluate(typical_).value_or(0) - lower.evaluate(typical_).value_or(0)) / extent;
}

/// The bound that holds at the typical shape, with the condition under which it does.
const poly::Set::BoundPiece* StripCover::typicalBound(const std::vector<poly::Set::BoundPiece>& pieces) const {
  for (const auto& p : pieces) {
    if (std::all_of(p.when.begin(), p.when.end(), [&](const Constraint& c) { return c.evaluate(typical_) == true; }))
      return &p;
  }
  return nullptr;
}

/// Share of a dimension that the values of a variable span, in a set at the typical shape.
double StripCover::hull(const poly::Set& typical, int position, const Dim& dim) const {
  auto minima = typical.minima(position), maxima = typical.maxima(position);
  const auto *lower = typicalBound(minima), *greatest = typicalBound(maxima);
  return lower && greatest ? share(lower->value, greatest->value + 1, dim) : 0;
}

/// The dimensions of which the set takes less than kThinShare at the typical shape, thinnest first.
std::vector<size_t> StripCover::thinDimensions(const poly::Set& part, const Shape& shape) const {
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
  dims.reserve(thin.size());
  for (const auto& [taken, d] : thin)
    dims.push_back(d);
  return dims;
}

// --- Strips as boxes of the output ---

ConditionalBox StripCover::boxOf(const Strip& s) const {
  const Shape &y = outputShape(), &u = mainShape();
  ConditionalBox result;
  auto& [box, when] = result;
  if (!s.beforeLayout) {
    for (size_t d = 0; d < y.size(); ++d) {
      box.ranges.push_back(d == s.dim ? BoxRange{s.lower, s.upper, 1} : BoxRange{0, y[d].affine(), 1});
    }
    return result;
  }
  auto names = indexNames(u, "u");
  poly::Conjunction c;
  for (size_t d = 0; d < u.size(); ++d) {
    Expr at = Expr::variable(names[d]);
    c.push_back(Constraint::le(d == s.dim ? s.lower : Expr(0), at));
    c.push_back(Constraint::lt(at, d == s.dim ? s.upper : u[d].affine()));
  }
  poly::Set positions = closing_->reversed().intersectDomain(context_.set(names, c)).range();
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

bool StripCover::areBoxes(const std::vector<Strip>& strips) const {
  return !strips.empty() && std::all_of(strips.begin(), strips.end(), [&](const Strip& s) { return isBox(s); });
}

/// At the typical shape a strip before the layout has as many positions as the box that it is taken for.
bool StripCover::isBox(const Strip& s) const {
  const Shape& u = mainShape();
  double strip = 1, positions = 1;
  for (size_t d = 0; d < u.size(); ++d) {
    strip *= static_cast<double>(*(d == s.dim ? Dim(s.upper - s.lower) : u[d]).evaluate(typical_));
  }
  try {
    for (const BoxRange& r : boxOf(s).box.ranges) {
      positions *= static_cast<double>(*ceilDiv(r.upper - r.lower, r.step).evaluate(typical_));
    }
  } catch (const NoCover&) {
    return false;
  }
  return strip == positions;
}

/// Of a box at the typical shape.
poly::Set StripCover::positionsOf(const Box& box) const {
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

}  // namespace pet
