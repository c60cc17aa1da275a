#include "rules/rewrite/equation.h"

#include <algorithm>
#include <cassert>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/terms.h"

namespace pet::rewrite {
namespace {

/// The replacement with its inputs in the order of the pattern's.
Program inOrder(const Program& replacement, const Program& pattern) {
  ProgramBuilder builder;
  std::map<Value, Value> meaning;
  for (Value p : pattern.inputs()) {
    bool constant = pattern.node(p).scalar("constant") == Expr(1);
    Value v = builder.input(pattern.name(p), pattern.shape(p), constant);
    if (auto own = replacement.find(pattern.name(p))) meaning[*own] = v;
  }
  const auto& nodes = replacement.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].is(ops::kInput)) continue;
    [[maybe_unused]] const auto copied = copyNode(builder, replacement, static_cast<int>(n), meaning);
    assert(copied && "it is of a program with these shapes");
  }
  std::vector<Value> outputs;
  for (Value v : replacement.outputs())
    outputs.push_back(meaning.at(v));
  return std::move(builder).finish(std::move(outputs));
}

/// Looks at each position of dimensions that its axis does not name by itself.
bool isPositionwise(const Node& n) {
  const bool isOfTwo = n.is(ops::kAdd) || n.is(ops::kSub) || n.is(ops::kMul) || n.is(ops::kDiv);
  return n.op->facts.elementwise || isOfTwo || n.is(ops::kInput) || n.is(ops::kConcat) || n.is(ops::kSplit);
}

/// The dimension that a Concat or Split goes along.
std::optional<int64_t> axisOf(const Node& n) {
  auto it = n.attributes.find("axis");
  return it == n.attributes.end() ? std::nullopt : std::get<Expr>(it->second).asConstant();
}

bool isPositionwise(const Program& p, size_t rank) {
  return std::all_of(p.nodes().begin(), p.nodes().end(), [&](const Node& n) {
    auto axis = axisOf(n);
    return isPositionwise(n) && (!axis || (0 <= *axis && *axis < static_cast<int64_t>(rank)));
  });
}

/// The program with other shapes of its inputs.
Expected<Program> withInputs(const Program& p, const std::vector<Shape>& shapes) {
  ProgramBuilder builder;
  size_t next = 0;
  for (const Node& n : p.nodes()) {
    if (n.is(ops::kInput)) {
      builder.input(n.names[0], shapes[next++], n.scalar("constant") == Expr(1));
    } else if (auto added = builder.add(*n.op, n.operands, n.attributes, n.names); !added) {
      return tl::unexpected(added.error());
    }
  }
  return std::move(builder).finish(p.outputs());
}

std::vector<Shape> inputShapes(const Program& p) {
  std::vector<Shape> shapes;
  for (Value v : p.inputs())
    shapes.push_back(p.shape(v));
  return shapes;
}

/// Both sides with these inputs.
std::optional<Equation> withInputs(Equation e, const std::vector<Shape>& shapes) {
  auto left = withInputs(e.left, shapes), right = withInputs(e.right, shapes);
  if (!left || !right) return std::nullopt;
  e.left = std::move(*left);
  e.right = std::move(*right);
  return e;
}

std::optional<Equation> withMoreDimensions(Equation e, size_t count, std::vector<Shape> shapes) {
  std::set<std::string> taken(e.shapes.symbols.begin(), e.shapes.symbols.end());
  for (size_t i = 0; i < count; ++i) {
    size_t number = 1;
    while (!taken.insert(fmt::format("D{}", number)).second)
      ++number;
    std::string symbol = fmt::format("D{}", number);
    e.shapes.symbols.push_back(symbol);
    e.shapes.require(Constraint::le(1, Expr::variable(symbol)));
    for (Shape& s : shapes)
      s.emplace_back(Expr::variable(symbol));
  }
  return withInputs(std::move(e), shapes);
}

/// The last dimension, the same symbol in all shapes, is 1 and goes.
std::optional<Equation> withoutLastDimension(Equation e, std::vector<Shape> shapes) {
  auto symbol = shapes[0].back().isAffine() ? shapes[0].back().affine().asVariable() : std::nullopt;
  if (!symbol) return std::nullopt;
  for (Shape& s : shapes) {
    if (s.back() != Dim(Expr::variable(*symbol))) return std::nullopt;
    s.pop_back();
    for (const Dim& d : s) {
      if (std::any_of(d.atoms().begin(), d.atoms().end(), [&](const Expr& a) { return a.mentions(*symbol); }))
        return std::nullopt;
    }
  }
  ShapeClass narrowed;
  for (const std::string& s : e.shapes.symbols) {
    if (s != *symbol) narrowed.symbols.push_back(s);
  }
  for (const Constraint& c : e.shapes.constraints) {
    Constraint one = c.substitute({{*symbol, Expr(1)}});
    if (one.decided() == false) return std::nullopt;
    narrowed.require(one);
  }
  e.shapes = std::move(narrowed);
  return withInputs(std::move(e), shapes);
}

}  // namespace

bool leavesOpen(const Equation& e, const std::vector<double>& anyNumbers) {
  auto has = [](const Program& program, double number) {
    return std::any_of(program.nodes().begin(), program.nodes().end(), [&](const Node& n) {
      return std::any_of(n.attributes.begin(), n.attributes.end(),
                         [&](const auto& a) { return a.second == Attribute(number); });
    });
  };
  return std::all_of(anyNumbers.begin(), anyNumbers.end(), [&](double number) {
    const bool isOpen = std::find(e.anyNumbers.begin(), e.anyNumbers.end(), number) != e.anyNumbers.end();
    return isOpen || (!has(e.left, number) && !has(e.right, number));
  });
}

Expected<Equation> equationOf(const Pattern& pattern, const Rule& rule) {
  auto source = instantiate(pattern, rule);
  if (!source) return tl::unexpected(source.error());
  auto left = normalised(*source), right = normalised(inOrder(rule.replacement, *source));
  if (!left) return tl::unexpected(left.error());
  if (!right) return tl::unexpected(right.error());
  return Equation{rule.name, std::move(*left), std::move(*right), rule.shapes, pattern.anyNumbers};
}

Claim claimOf(const Equation& e) {
  Claim c;
  c.pattern = {e.name, e.shapes, e.left, e.anyNumbers};
  c.rule.name = e.name;
  c.rule.pattern = e.name;
  c.rule.shapes = e.shapes;
  c.rule.mutant = e.right;
  c.rule.replacement = e.right;
  return c;
}

std::optional<size_t> rankOf(const Equation& e) {
  std::optional<size_t> rank;
  for (const Program* p : {&e.left, &e.right}) {
    for (const Node& n : p->nodes()) {
      for (const Shape& s : n.shapes) {
        if (rank.value_or(s.size()) != s.size()) return std::nullopt;
        rank = s.size();
      }
    }
  }
  return rank;
}

std::optional<Equation> atRank(const Equation& e, size_t rank) {
  auto own = rankOf(e);
  if (!own || rank == 0 || !isPositionwise(e.left, rank) || !isPositionwise(e.right, rank)) return std::nullopt;
  std::vector<Shape> shapes = inputShapes(e.left);
  if (shapes.empty()) return std::nullopt;
  if (rank >= *own) return withMoreDimensions(e, rank - *own, std::move(shapes));
  std::optional<Equation> result = e;
  for (size_t r = *own; result && r > rank; --r)
    result = withoutLastDimension(*result, inputShapes(result->left));
  return result;
}

}  // namespace pet::rewrite
