// Relations of the operators that move ranges: Pad, Slice, Split, Concat, Gather, ScatterND, Resize.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "rules/check/meaning/relation.h"

namespace pet::check {
namespace {

/// A number instead of a read.
void fill(Clause& clause, double value) {
  if (value == -std::numeric_limits<double>::infinity()) {
    clause.minusInfinity = true;
  } else if (auto fraction = fractionOf(value)) {
    clause.coefficient = *fraction;
  } else if (std::isfinite(value)) {
    clause.constants.push_back({.kind = Factor::Kind::kConstant, .key = fmt::format("{}", value)});
  } else {
    throw Opaque(fmt::format("the constant {}", value));
  }
}

/// The clauses of dimensions d, d + 1, … behind what is known of the earlier ones.
void padFrom(const Call& call, size_t d, const Position& at, const Clause& so, std::vector<Clause>& into) {
  const Shape& x = call.operands[0];
  if (d == x.size()) return into.push_back(so);
  const Expr &begin = call.list("pads")[d], &end = call.list("pads")[x.size() + d];
  auto with = [&](const std::vector<Expr>& digits, const Conjunction& guards) {
    Clause c = so;
    c.reads[0].at.push_back(digits);
    c.add(guards);
    padFrom(call, d + 1, at, c, into);
  };
  if (begin == Expr(0) && end == Expr(0)) return with(at[d], {});
  Expr p = at[d][0] - begin, last = line(x[d]) - 1;
  Conjunction front{Constraint::lt(p, 0)}, behind{Constraint::lt(last, p)};
  with({p}, {Constraint::le(0, p), Constraint::le(p, last)});
  const std::string& mode = call.node.text("mode");
  if (mode == "edge") {
    with({0}, front);
    with({last}, behind);
  } else if (mode == "reflect") {
    with({-p}, front);
    with({2 * last - p}, behind);
  } else if (call.node.number("value") != 0) {
    for (const Conjunction& guards : {front, behind}) {
      Clause c = so;
      c.reads.clear();
      c.add(guards);
      fill(c, call.node.number("value"));
      into.push_back(std::move(c));
    }
  }
}

/// floor or ceil of n / d, by ONNX's name.
Expr rounded(const Expr& n, int64_t d, const std::string& mode) {
  if (mode == "floor") return floorDiv(n, d);
  if (mode == "ceil") return ceilDiv(n, d);
  if (mode == "round_prefer_ceil") return floorDiv(2 * n + d, 2 * d);
  return ceilDiv(2 * n - d, 2 * d);  // round_prefer_floor
}

/// The operand's coordinate (scale · x + offset) / under of ONNX's Resize.
struct Coordinate {
  int64_t scale = 1, offset = 0, under = 1;
};

/// The factor up / down, as small as possible if it is a number.
struct Factors {
  Expr up, down;
  bool isNumber() const { return up.isConstant() && down.isConstant(); }
};

Factors factorsOf(const Call& call, size_t d) {
  const auto& scales = call.list("scales");
  Expr up = scales.empty() ? line(call.result()[d]) : scales[2 * d];
  Expr down = scales.empty() ? line(call.operands[0][d]) : scales[2 * d + 1];
  int64_t a = up.content(), b = down.content();
  if (a < 1 || b < 1 || down * a != up * b) return {up, down};
  return {a / std::gcd(a, b), b / std::gcd(a, b)};
}

/// How coordinates are found along a dimension. Only where a single position is made is pytorch_half_pixel no
/// half_pixel; where extents are made twice as large, or more, there are two.
std::string_view coordinatesOf(const Call& call, size_t d) {
  std::string_view mode = call.node.text("coordinate_transformation_mode");
  if (mode != "pytorch_half_pixel") return mode;
  const Factors factors = factorsOf(call, d);
  const bool isOneFactor = call.list("sizes").empty() != call.list("scales").empty();
  const bool isDoubled = isOneFactor && factors.isNumber() && factors.up.constant() / factors.down.constant() >= 2;
  return isDoubled ? "half_pixel" : mode;
}

/// Where it is the same for all shapes.
std::optional<Coordinate> coordinateOf(const Call& call, size_t d) {
  const Expr &in = line(call.operands[0][d]), &out = line(call.result()[d]);
  const std::string_view mode = coordinatesOf(call, d);
  if (mode == "align_corners" || mode == "pytorch_half_pixel") {
    if (!in.isConstant() || !out.isConstant()) return std::nullopt;
    if (out.constant() == 1) return Coordinate{0, 0, 1};
    if (mode == "align_corners") return Coordinate{in.constant() - 1, 0, out.constant() - 1};
  }
  Factors factors = factorsOf(call, d);
  if (!factors.isNumber()) return std::nullopt;
  int64_t up = factors.up.constant(), down = factors.down.constant();
  if (mode == "asymmetric") return Coordinate{down, 0, up};
  // (x + 1/2) · down / up - 1/2, and half_pixel_symmetric adds (in - out · down / up) / 2
  Expr more = mode == "half_pixel_symmetric" ? in * up - out * down : Expr(0);
  if (!more.isConstant()) return std::nullopt;
  return Coordinate{2 * down, down - up + more.constant(), 2 * up};
}

int64_t placeOf(std::string_view word, std::initializer_list<std::string_view> words) {
  const auto* it = std::find(words.begin(), words.end(), word);
  if (it == words.end()) throw Opaque(fmt::format("Resize with '{}'", word));
  return it - words.begin();
}

/// How much of the operand's position u is in the result's: a constant.
Factor resampling(const Call& call, size_t d, const Expr& at, const Expr& u) {
  const std::string &mode = call.node.text("mode"), &nearest = call.node.text("nearest_mode");
  const std::string_view coordinates = coordinatesOf(call, d);
  double cubic = call.node.number("cubic_coeff_a");
  Factors factors = coordinates == "align_corners" ? Factors{1, 1} : factorsOf(call, d);
  Factor f{.kind = Factor::Kind::kConstant, .key = fmt::format("Resize {} {}", mode, coordinates), .at = {at, u}};
  Fraction a;
  int64_t nearestPlace = 0;
  if (mode == "nearest") {
    f.key += " " + nearest;
    nearestPlace = placeOf(nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  } else if (mode == "cubic") {
    f.key += fmt::format(" {}", cubic);
    auto fraction = fractionOf(cubic);
    if (!fraction) throw Opaque("Resize whose cubic_coeff_a is no small fraction");
    a = *fraction;
  }
  f.parameters = {
      line(call.operands[0][d]),
      line(call.result()[d]),
      factors.up,
      factors.down,
      a.over,
      a.under,
      placeOf(mode, {"nearest", "linear", "cubic"}),
      placeOf(coordinates, {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}),
      nearestPlace};
  return f;
}

}  // namespace

std::vector<Clause> padRelation(const Call& call, const Position& at, Names&) {
  std::vector<Clause> clauses;
  padFrom(call, 0, at, {.reads = {{0, {}}}}, clauses);
  return clauses;
}

std::vector<Clause> sliceRelation(const Call& call, const Position& at, Names&) {
  Position read = at;
  for (size_t i = 0; i < call.list("axes").size(); ++i) {
    Expr& digit = read[static_cast<size_t>(call.integer("axes", i))][0];
    int64_t step = call.list("steps").empty() ? 1 : call.integer("steps", i);
    digit = call.list("starts")[i] + step * digit;
  }
  return {{.reads = {{0, read}}}};
}

std::vector<Clause> splitRelation(const Call& call, const Position& at, Names&) {
  Position read = at;
  for (size_t i = 0; i < call.output; ++i)
    read[static_cast<size_t>(call.integer("axis"))][0] += call.list("split")[i];
  return {{.reads = {{0, read}}}};
}

std::vector<Clause> concatRelation(const Call& call, const Position& at, Names&) {
  auto axis = static_cast<size_t>(call.integer("axis"));
  std::vector<Clause> clauses;
  Expr before = 0;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    const Dim& extent = call.operands[o][axis];
    Clause clause{.reads = {{o, at}}};
    clause.reads[0].at[axis][0] = at[axis][0] - before;
    clause.inside({clause.reads[0].at[axis][0]}, extent);
    before += line(extent);
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

/// Rows of the second operand in the place of as many of the first.
std::vector<Clause> scatterRowsRelation(const Call& call, const Position& at, Names&) {
  const Expr &row = at[0][0], &start = call.node.scalar("start");
  const Expr behind = start + line(call.operands[1][0]);
  Clause before{.domain = {Constraint::le(row + 1, start)}, .reads = {{0, at}}};
  Clause after{.domain = {Constraint::le(behind, row)}, .reads = {{0, at}}};
  Clause within{.domain = {Constraint::le(start, row), Constraint::le(row + 1, behind)}, .reads = {{1, at}}};
  within.reads[0].at[0] = {row - start};
  return {before, within, after};
}

/// One clause for each stretch of indices with one distance.
std::vector<Clause> gatherRelation(const Call& call, const Position& at, Names&) {
  auto axis = static_cast<size_t>(call.integer("axis"));
  const auto& indices = call.list("indices");
  std::vector<Clause> clauses;
  for (size_t first = 0; first < indices.size();) {
    int64_t step = 0;
    size_t last = first;
    while (last + 1 < indices.size()) {
      auto distance = (indices[last + 1] - indices[last]).asConstant();
      if (!distance || (last > first && *distance != step)) break;
      step = *distance;
      ++last;
    }
    const Expr& v = at[axis][0];
    auto from = static_cast<int64_t>(first), to = static_cast<int64_t>(last);
    Clause clause{.domain = {Constraint::le(from, v), Constraint::le(v, to)}, .reads = {{0, at}}};
    clause.reads[0].at[axis] = {indices[first] + step * (v - from)};
    clauses.push_back(std::move(clause));
    first = last + 1;
  }
  return clauses;
}

std::vector<Clause> resizeRelation(const Call& call, const Position& at, Names& names) {
  bool isNearest = call.node.text("mode") == "nearest";
  const auto& scales = call.list("scales");
  Clause all;
  std::vector<Place> places{{Position{}, {}}};
  for (size_t d = 0; d < at.size(); ++d) {
    bool keeps = call.operands[0][d] == call.result()[d] && (scales.empty() || scales[2 * d] == scales[2 * d + 1]);
    if (keeps) {
      places = crossed(places, {{{at[d]}, {}}});
      continue;
    }
    if (call.operands[0][d] == Dim(1)) {
      places = crossed(places, {{{{Expr(0)}}, {}}});
      continue;
    }
    auto c = isNearest ? coordinateOf(call, d) : std::nullopt;
    if (!c) {
      Expr u = all.draw("u", line(call.operands[0][d]), names);
      all.addsUpToOne.emplace_back(all.constants.size(), all.reduction.back());
      all.constants.push_back(resampling(call, d, at[d][0], u));
      places = crossed(places, {{{{u}}, {}}});
      continue;
    }
    auto nearest = [&](const Expr& x) {
      return rounded(c->scale * x + c->offset, c->under, call.node.text("nearest_mode"));
    };
    Expr here = nearest(at[d][0]), last = line(call.operands[0][d]) - 1;
    Expr beyond = nearest(line(call.result()[d]) - 1) - last;
    Place inside{{{here}}, {}};
    std::vector<Place> clamped;
    if (nearest(0).constant() < 0) {
      inside.guards.push_back(Constraint::le(0, here));
      clamped.push_back({{{0}}, {Constraint::lt(here, 0)}});
    }
    if (!beyond.isConstant() || beyond.constant() > 0) {
      inside.guards.push_back(Constraint::le(here, last));
      clamped.push_back({{{last}}, {Constraint::lt(last, here)}});
    }
    clamped.insert(clamped.begin(), inside);
    places = crossed(places, clamped);
  }
  std::vector<Clause> clauses;
  for (const Place& p : places) {
    clauses.push_back(all);
    clauses.back().add(p.guards);
    clauses.back().reads = {{0, p.at}};
  }
  return clauses;
}

}  // namespace pet::check
