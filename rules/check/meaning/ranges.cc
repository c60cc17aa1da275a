// Relations of the operators that move ranges: Pad, Slice, Split, Concat, Resize.

#include <cmath>
#include <limits>

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
  if (mode == "round_prefer_floor") return ceilDiv(2 * n - d, 2 * d);
  throw Opaque("Resize with the nearest_mode " + mode);
}

/// The operand's coordinate (scale · x + offset) / under of ONNX's Resize.
struct Coordinate {
  int64_t scale = 1, offset = 0, under = 1;
};

Coordinate coordinateOf(const Call& call, size_t d) {
  const Expr &in = line(call.operands[0][d]), &out = line(call.result()[d]);
  const auto& scales = call.list("scales");
  const std::string& mode = call.node.text("coordinate_transformation_mode");
  auto opaque = [&] {
    return Opaque(fmt::format("Resize of {} to {} by a symbolic factor", str(call.operands[0]), str(call.result())));
  };
  if (mode == "align_corners" || mode == "pytorch_half_pixel") {
    if (!in.isConstant() || !out.isConstant()) throw opaque();
    if (out.constant() == 1) return {0, 0, 1};
    if (mode == "align_corners") return {in.constant() - 1, 0, out.constant() - 1};
  }
  int64_t up = 0, down = 0;  // the factor is up / down
  if (!scales.empty()) {
    up = Call::number(scales[2 * d]);
    down = Call::number(scales[2 * d + 1]);
  } else {
    up = out.content();
    down = in.content();
    if (up < 1 || down < 1 || in * up != out * down) throw opaque();
  }
  if (mode == "asymmetric") return {down, 0, up};
  // (x + 1/2) · down / up - 1/2
  return {2 * down, down - up, 2 * up};
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

std::vector<Clause> resizeRelation(const Call& call, const Position& at, Names&) {
  if (call.node.text("mode") != "nearest") throw Opaque("Resize in mode " + call.node.text("mode"));
  const auto& scales = call.list("scales");
  std::vector<Place> places{{Position{}, {}}};
  for (size_t d = 0; d < at.size(); ++d) {
    bool keeps = call.operands[0][d] == call.result()[d] && (scales.empty() || scales[2 * d] == scales[2 * d + 1]);
    if (keeps) {
      places = crossed(places, {{{at[d]}, {}}});
      continue;
    }
    Coordinate c = coordinateOf(call, d);
    auto nearest = [&](const Expr& x) {
      return rounded(c.scale * x + c.offset, c.under, call.node.text("nearest_mode"));
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
  for (const Place& p : places)
    clauses.push_back({.domain = p.guards, .reads = {{0, p.at}}});
  return clauses;
}

}  // namespace pet::check
