// Relations of the operators that only move elements: regrouping of dimensions, and index maps.

#include <algorithm>

#include "ir/limits.h"
#include "rules/check/meaning/relation.h"

namespace pet::check {
namespace {

std::vector<Clause> readEach(const std::vector<Place>& places) {
  std::vector<Clause> clauses;
  for (const Place& p : places)
    clauses.push_back({.domain = p.guards, .reads = {{0, p.at}}});
  return clauses;
}

/// Dimensions on either side, as lists of axes.
struct Regrouping {
  std::vector<Dim> axes;
  std::vector<std::vector<int>> operand, result;
};

std::vector<Dim> extents(const Regrouping& g, const std::vector<int>& group) {
  std::vector<Dim> dims;
  for (int a : group)
    dims.push_back(g.axes[static_cast<size_t>(a)]);
  return dims;
}

/// operand[the same digit on every axis].
std::vector<Clause> regroup(const Regrouping& g, const Position& at) {
  std::vector<Place> digits{{Position{}, {}}};
  std::vector<int> order;  // the axis that each entry of a place is of
  for (size_t d = 0; d < at.size(); ++d) {
    digits = crossed(digits, partsOf(extents(g, g.result[d]), at[d]));
    order.insert(order.end(), g.result[d].begin(), g.result[d].end());
  }
  std::vector<Place> sources;
  for (const Place& place : digits) {
    Position byAxis(g.axes.size(), {Expr(0)});  // an axis of the operand alone has the extent 1
    for (size_t i = 0; i < order.size(); ++i)
      byAxis[static_cast<size_t>(order[i])] = place.at[i];
    std::vector<Place> read{{Position{}, place.guards}};
    for (const auto& group : g.operand) {
      Position values;
      for (int a : group)
        values.push_back(byAxis[static_cast<size_t>(a)]);
      read = crossed(read, wholeOf(extents(g, group), values));
    }
    sources.insert(sources.end(), read.begin(), read.end());
    if (sources.size() > kMostCases) throw Opaque("a regrouping of dimensions with very many cases");
  }
  return readEach(sources);
}

/// From space, n c (h p) …, to depth, n (p … c) h …, or n (c p …) h … if the channel comes first; or back.
Regrouping blocks(
    const Dim& n, const Dim& c, const std::vector<Dim>& extents, int64_t block, bool channelFirst, bool toDepth) {
  Regrouping g{{n, c}, {{0}, {1}}, {{0}, {}}};
  auto& [axes, space, depth] = g;
  auto rank = static_cast<int>(extents.size());
  for (const Dim& e : extents)
    axes.push_back(e);
  for (int d = 0; d < rank; ++d) {
    axes.push_back(block);
    space.push_back({2 + d, 2 + rank + d});
    depth[1].push_back(2 + rank + d);
    depth.push_back({2 + d});
  }
  depth[1].insert(channelFirst ? depth[1].begin() : depth[1].end(), 1);
  if (!toDepth) std::swap(space, depth);
  return g;
}

}  // namespace

std::vector<Clause> layoutRelation(const Call& call, const Position& at, Names&) {
  const auto& spec = std::get<LayoutSpec>(call.node.attributes.find("layout")->second);
  Regrouping g{{}, spec.left, spec.right};
  for (const LayoutAxis& axis : spec.axes)
    g.axes.push_back(axis.extent);
  return regroup(g, at);
}

std::vector<Clause> spaceToDepthRelation(const Call& call, const Position& at, Names&) {
  const Shape &x = call.operands[0], &y = call.result();
  return regroup(blocks(x[0], x[1], {y.begin() + 2, y.end()}, call.integer("blocksize"), false, true), at);
}

std::vector<Clause> depthToSpaceRelation(const Call& call, const Position& at, Names&) {
  const Shape &x = call.operands[0], &y = call.result();
  bool crd = call.node.text("mode") == "CRD";
  return regroup(blocks(x[0], y[1], {x.begin() + 2, x.end()}, call.integer("blocksize"), crd, false), at);
}

std::vector<Clause> reshapeRelation(const Call& call, const Position& at, Names&) {
  const Shape &in = call.operands[0], &out = call.result();
  std::vector<Place> places{{Position{}, {}}};
  size_t a = 0, b = 0;  // what has been regrouped so far
  // The shortest run: the fewest dimensions together, then the fewest of the operand.
  auto nextRun = [&]() -> std::pair<std::vector<Dim>, std::vector<Dim>> {
    for (size_t length = 1; length <= in.size() - a + out.size() - b; ++length) {
      for (size_t n = 0; n <= length; ++n) {
        if (a + n > in.size() || b + length - n > out.size()) continue;
        std::vector<Dim> left(in.begin() + static_cast<std::ptrdiff_t>(a),
                              in.begin() + static_cast<std::ptrdiff_t>(a + n));
        std::vector<Dim> right(out.begin() + static_cast<std::ptrdiff_t>(b),
                               out.begin() + static_cast<std::ptrdiff_t>(b + length - n));
        if (Dim::product(left) == Dim::product(right)) return {left, right};
      }
    }
    throw Opaque("a Reshape that exchanges dimensions");
  };
  while (a < in.size() || b < out.size()) {
    auto [left, right] = nextRun();
    Position digits(at.begin() + static_cast<std::ptrdiff_t>(b),
                    at.begin() + static_cast<std::ptrdiff_t>(b + right.size()));
    std::vector<Place> run;
    for (const Place& whole : wholeOf(right, digits)) {
      for (Place& parts : partsOf(left, whole.at[0])) {
        parts.guards.insert(parts.guards.begin(), whole.guards.begin(), whole.guards.end());
        run.push_back(std::move(parts));
      }
      if (run.size() > kMostCases) throw Opaque("a regrouping of dimensions with very many cases");
    }
    places = crossed(places, run);
    a += left.size();
    b += right.size();
  }
  return readEach(places);
}

std::vector<Clause> tileRelation(const Call& call, const Position& at, Names&) {
  std::vector<Place> places{{Position{}, {}}};
  for (size_t d = 0; d < at.size(); ++d) {
    std::vector<Place> inner = partsOf({call.list("repeats")[d], call.operands[0][d]}, at[d]);
    for (Place& p : inner)
      p.at.erase(p.at.begin());
    places = crossed(places, inner);
  }
  return readEach(places);
}

std::vector<Clause> expandRelation(const Call& call, const Position& at, Names&) {
  return {{.reads = {{0, broadcast(call.operands[0], at)}}}};
}

std::vector<Clause> transposeRelation(const Call& call, const Position& at, Names&) {
  Position read(at.size());
  for (size_t d = 0; d < at.size(); ++d)
    read[static_cast<size_t>(call.integer("perm", d))] = at[d];
  return {{.reads = {{0, read}}}};
}

namespace {

/// What a map reads at a position of its result, in one case of the axes' digits. `guards`: the map's own.
struct MapRead {
  Position at;
  std::vector<Constraint> ofCase, guards;
};

const IndexMapSpec& mapOf(const Call& call) {
  return std::get<IndexMapSpec>(call.node.attributes.find("map")->second);
}

std::vector<MapRead> mapReads(const IndexMapSpec& spec, const Position& at) {
  std::vector<Place> places{{Position{}, {}}};
  std::vector<std::string> axes;
  for (size_t d = 0; d < at.size(); ++d) {
    std::vector<Dim> dims;
    for (const LayoutAxis& axis : spec.dims[d]) {
      dims.push_back(axis.extent);
      axes.push_back(axis.name);
    }
    places = crossed(places, partsOf(dims, at[d]));
  }
  std::vector<MapRead> reads;
  for (const Place& place : places) {
    std::map<std::string, Expr> by;
    for (size_t i = 0; i < axes.size(); ++i)
      by.emplace(axes[i], place.at[i][0]);
    MapRead read{spec.source, place.guards, {}};
    for (std::vector<Expr>& digits : read.at) {
      for (Expr& e : digits)
        e = e.substitute(by);
    }
    for (const Constraint& g : spec.guards)
      read.guards.push_back(g.substitute(by));
    reads.push_back(std::move(read));
  }
  return reads;
}

/// In the order in which a complement is taken: cases, ranges, guards.
Clause clauseOf(const Call& call, MapRead read) {
  Clause clause{.domain = std::move(read.ofCase)};
  for (size_t d = 0; d < read.at.size(); ++d)
    clause.inside(read.at[d], call.operands[0][d]);
  clause.domain.insert(clause.domain.end(), read.guards.begin(), read.guards.end());
  clause.reads = {{0, std::move(read.at)}};
  return clause;
}

/// The digits of the operand, by dimension and place in it, that are not read by one axis of their extent alone.
std::vector<std::pair<size_t, size_t>> digitsThatTurn(const IndexMapSpec& spec, const Shape& operand) {
  std::vector<std::pair<size_t, size_t>> digits;
  for (size_t d = 0; d < operand.size(); ++d) {
    for (size_t k = 0; k < operand[d].atoms().size(); ++k) {
      const auto name = spec.source[d][k].asVariable();
      bool liesSo = false;
      for (const auto& group : spec.dims) {
        for (const LayoutAxis& axis : group)
          liesSo = liesSo || (name == axis.name && axis.extent == Dim(operand[d].atoms()[k]));
      }
      if (!liesSo) digits.emplace_back(d, k);
    }
  }
  return digits;
}

}  // namespace

std::vector<Clause> indexMapRelation(const Call& call, const Position& at, Names&) {
  std::vector<Clause> clauses;
  for (MapRead& read : mapReads(mapOf(call), at))
    clauses.push_back(clauseOf(call, std::move(read)));
  return clauses;
}

std::vector<Clause> cyclicMapRelation(const Call& call, const Position& at, Names&) {
  std::vector<Clause> clauses;
  for (const MapRead& first : mapReads(mapOf(call), at)) {
    std::vector<MapRead> reads{first};
    for (const auto& [d, k] : digitsThatTurn(mapOf(call), call.operands[0])) {
      if (reads.size() * 2 > kMostCases) throw Opaque("a CyclicMap with very many cases");
      std::vector<MapRead> both;
      for (MapRead& read : reads) {
        both.push_back(read);
        both.push_back(std::move(read));
        both.back().at[d][k] = both.back().at[d][k] - call.operands[0][d].atoms()[k];
      }
      reads = std::move(both);
    }
    for (MapRead& read : reads)
      clauses.push_back(clauseOf(call, std::move(read)));
  }
  return clauses;
}

}  // namespace pet::check
