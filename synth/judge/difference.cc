#include "synth/judge/difference.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace pet {
namespace {

bool sameOperator(const Node& m, const Node& n) {
  return m.op == n.op && m.attributes == n.attributes;
}

/// The values of `b` that `a` computes by the same operators down to the inputs, with those of `a`.
std::map<Value, Value> commonValues(const Program& a, const Program& b) {
  std::map<Value, Value> common;
  auto isSame = [&common](Value x, Value y) {
    auto it = common.find(y);
    return it != common.end() && it->second == x;
  };
  auto computeSame = [&isSame](const Node& m, const Node& n) {
    if (!sameOperator(m, n)) return false;
    if (n.is(ops::kInput)) return m.names == n.names && m.shapes == n.shapes;
    return std::equal(m.operands.begin(), m.operands.end(), n.operands.begin(), n.operands.end(), isSame);
  };
  for (int j = 0; j < static_cast<int>(b.nodes().size()); ++j) {
    const Node& n = b.nodes()[static_cast<size_t>(j)];
    auto found = std::find_if(a.nodes().begin(), a.nodes().end(), [&](const Node& m) { return computeSame(m, n); });
    if (found == a.nodes().end()) continue;
    for (int o = 0; o < static_cast<int>(n.shapes.size()); ++o)
      common[{j, o}] = {static_cast<int>(found - a.nodes().begin()), o};
  }
  return common;
}

/// One value of each program.
using Pair = std::pair<Value, Value>;

/// Pairs of which it is enough that they are equal, for the programs' outputs to be so: what remains of these without
/// operators that are the same on both sides and of which one operand differs.
class Ends {
 public:
  Ends(const Program& a, const Program& b, const std::map<Value, Value>& common) : a_(a), b_(b), common_(common) {
    for (size_t o = 0; o < a.outputs().size(); ++o) {
      const Pair outputs{a.outputs()[o], b.outputs()[o]};
      if (!isCommon(outputs)) pairs_.push_back(followed(outputs));
    }
  }

  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  bool isCommon(const Pair& pair) const {
    auto it = common_.find(pair.second);
    return it != common_.end() && it->second == pair.first;
  }

  Pair followed(Pair pair) const {
    while (auto operands = onlyDifference(pair))
      pair = *operands;
    return pair;
  }

  /// The operands that differ of two values that the same operator computes; nullopt: not one pair.
  std::optional<Pair> onlyDifference(const Pair& pair) const {
    const auto& [x, y] = pair;
    const Node &m = a_.node(x), &n = b_.node(y);
    if (!sameOperator(m, n) || x.output != y.output || m.operands.size() != n.operands.size()) return std::nullopt;
    std::set<Pair> differing;
    for (size_t i = 0; i < m.operands.size(); ++i) {
      const Pair operands{m.operands[i], n.operands[i]};
      if (!isCommon(operands)) differing.insert(operands);
    }
    return differing.size() == 1 ? std::optional(*differing.begin()) : std::nullopt;
  }

  const Program &a_, &b_;
  const std::map<Value, Value>& common_;
  std::vector<Pair> pairs_;
};

/// Two IndexMaps that read the same elements, as maps of those: a value of which each axis is a dimension.
struct SameElements {
  Shape shape;
  IndexMapSpec a, b;
};

/// Those that are not of extent 1.
std::vector<LayoutAxis> axesOf(const IndexMapSpec& map) {
  std::vector<LayoutAxis> axes;
  for (const auto& dim : map.dims)
    axes.insert(axes.end(), dim.begin(), dim.end());
  std::erase_if(axes, [](const LayoutAxis& axis) { return axis.extent == Dim(1); });
  return axes;
}

/// What has to stand for an axis in `n`, so that it reads what `m` does: itself, or itself from its end.
Expr counterpart(const LayoutAxis& axis, const IndexMapSpec& m, const IndexMapSpec& n) {
  const Expr self = Expr::variable(axis.name);
  for (size_t d = 0; d < m.source.size(); ++d) {
    for (size_t i = 0; i < std::min(m.source[d].size(), n.source[d].size()); ++i) {
      if (m.source[d][i].coefficient(axis.name) != n.source[d][i].coefficient(axis.name))
        return axis.extent.affine() - 1 - self;
    }
  }
  return self;
}

/// nullopt unless the maps, of one value, differ only in the order of their axes, within and among dimensions, in the
/// direction of axes, and in axes of extent 1.
std::optional<SameElements> sameElements(const IndexMapSpec& m, const IndexMapSpec& n) {
  const std::vector<LayoutAxis> axes = axesOf(m), others = axesOf(n);
  if (!std::is_permutation(axes.begin(), axes.end(), others.begin(), others.end())) return std::nullopt;
  SameElements result{{}, m, n};
  result.a.source.clear(), result.b.source.clear();
  result.a.guards.clear(), result.b.guards.clear();
  std::map<std::string, Expr> ofB;
  for (const LayoutAxis& axis : axes) {
    ofB[axis.name] = counterpart(axis, m, n);
    result.shape.push_back(axis.extent);
    result.a.source.push_back({Expr::variable(axis.name)});
    result.b.source.push_back({ofB.at(axis.name)});
  }
  auto read = n.source;
  for (auto& dim : read) {
    for (Expr& e : dim)
      e = e.substitute(ofB);
  }
  auto guards = n.guards;
  for (Constraint& c : guards)
    c = c.substitute(ofB);
  if (read != m.source || guards != m.guards) return std::nullopt;
  return result;
}

/// One of the programs.
struct Side {
  const Program& program;
  std::map<Value, Value> common;                          ///< what stands in the first program for a value of this one
  std::map<Value, std::pair<size_t, IndexMapSpec>> maps;  ///< IndexMaps, as maps of elements that have this number
  std::vector<Value> ends;
};

/// What a side's ends are computed by, behind what both sides have.
class Rest {
 public:
  explicit Rest(const Side& side) : side_(side) {
    for (Value v : side.ends)
      need(v);
  }

  /// The values of the first program that it begins with.
  const std::set<Value>& begins() const { return begins_; }

  /// Continues a program of inputs, which stand for values of the first program and for elements.
  Program after(ProgramBuilder builder,
                const std::map<Value, Value>& inputs,
                const std::vector<Value>& elements) const {
    std::map<Value, Value> moved;
    for (const auto& [own, first] : side_.common) {
      if (auto it = inputs.find(first); it != inputs.end()) moved[own] = it->second;
    }
    for (int node : nodes_) {
      if (auto it = side_.maps.find({node, 0}); it != side_.maps.end()) {
        const auto& [number, map] = it->second;
        auto added = builder.add("IndexMap", {elements[number]}, {{"map", map}}, side_.program.name(it->first));
        assert(added && "each axis is a dimension");
        moved[it->first] = *added;
        continue;
      }
      [[maybe_unused]] auto added = copyNode(builder, side_.program, node, moved);
      assert(added && "a node that fitted once fits again");
    }
    std::vector<Value> outputs;
    for (Value v : side_.ends)
      outputs.push_back(moved.at(v));
    return std::move(builder).finish(std::move(outputs));
  }

 private:
  void need(Value v) {
    if (auto it = side_.common.find(v); it != side_.common.end()) {
      begins_.insert(it->second);
    } else if (nodes_.insert(v.node).second && !side_.maps.contains(v)) {
      for (Value operand : side_.program.node(v).operands)
        need(operand);
    }
  }

  const Side& side_;
  std::set<int> nodes_;
  std::set<Value> begins_;
};

/// Enters into both sides which of their IndexMaps of a common value read the same elements, and makes inputs of these.
std::vector<Value> shareElements(Side& sideA, Side& sideB, ProgramBuilder& builder) {
  auto mapsOf = [](const Side& side) {
    std::vector<Value> maps;
    for (int i = 0; i < static_cast<int>(side.program.nodes().size()); ++i) {
      const Node& n = side.program.nodes()[static_cast<size_t>(i)];
      if (n.is(ops::kIndexMap) && side.common.contains(n.operands[0]) && !side.common.contains({i, 0}))
        maps.push_back({i, 0});
    }
    return maps;
  };
  auto specOf = [](const Side& side, Value v) -> const IndexMapSpec& {
    return std::get<IndexMapSpec>(side.program.node(v).attributes.find("map")->second);
  };
  auto sourceOf = [](const Side& side, Value v) { return side.common.at(side.program.node(v).operands[0]); };
  std::vector<Value> elements;
  for (Value x : mapsOf(sideA)) {
    for (Value y : mapsOf(sideB)) {
      if (sourceOf(sideA, x) != sourceOf(sideB, y) || sideB.maps.contains(y)) continue;
      auto same = sameElements(specOf(sideA, x), specOf(sideB, y));
      if (!same) continue;
      sideA.maps.emplace(x, std::pair(elements.size(), std::move(same->a)));
      sideB.maps.emplace(y, std::pair(elements.size(), std::move(same->b)));
      elements.push_back(builder.input("elements" + std::to_string(elements.size()), std::move(same->shape),
                                       isConstant(sideA.program, x)));
      break;
    }
  }
  return elements;
}

}  // namespace

std::optional<Difference> difference(const Program& a, const Program& b) {
  if (a.outputs().size() != b.outputs().size()) return std::nullopt;
  Side sideA{a, {}, {}, {}}, sideB{b, commonValues(a, b), {}, {}};
  for (const auto& [ofB, ofA] : sideB.common)
    sideA.common[ofA] = ofA;
  const Ends ends(a, b, sideB.common);
  for (const auto& [x, y] : ends.pairs())
    sideA.ends.push_back(x), sideB.ends.push_back(y);

  ProgramBuilder builder;
  const std::vector<Value> elements = shareElements(sideA, sideB, builder);
  const Rest restOfA(sideA), restOfB(sideB);
  std::set<Value> begins = restOfA.begins();
  begins.insert(restOfB.begins().begin(), restOfB.begins().end());
  const auto isInput = [&a](Value v) { return a.node(v).is(ops::kInput); };
  if (elements.empty() && sideA.ends == a.outputs() && std::all_of(begins.begin(), begins.end(), isInput))
    return std::nullopt;

  std::map<Value, Value> inputs;
  for (Value v : begins)
    inputs[v] = builder.input(a.name(v), a.shape(v), isConstant(a, v));
  return Difference{restOfA.after(builder, inputs, elements), restOfB.after(builder, inputs, elements)};
}

}  // namespace pet
