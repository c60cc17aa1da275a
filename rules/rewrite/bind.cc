#include "rules/rewrite/bind.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/solve.h"

namespace pet::rewrite {
namespace {

bool areNumbers(const Symbols& symbols) {
  return std::all_of(symbols.begin(), symbols.end(), [](const auto& s) { return s.second.asConstant().has_value(); });
}

bool areAffine(const Symbols& symbols) {
  return std::all_of(symbols.begin(), symbols.end(), [](const auto& s) { return s.second.isAffine(); });
}

/// Symbols that `where` does not list keep their name.
Expected<Symbols> solveWhere(const Rule& rule, const Symbols& pattern) {
  std::vector<DimEquation> equations;
  for (const auto& [symbol, value] : rule.where) {
    auto given = pattern.find(symbol);
    if (given == pattern.end()) return fail(ErrorKind::kCheck, "the pattern does not bind " + symbol);
    equations.push_back({Dim(value), given->second, symbol});
  }
  for (const auto& [symbol, value] : pattern) {
    bool listed =
        std::any_of(rule.where.begin(), rule.where.end(), [&name = symbol](const auto& w) { return w.first == name; });
    if (!listed) equations.push_back({Dim(Expr::variable(symbol)), value, symbol});
  }
  return solve(equations);
}

}  // namespace

bool holds(const Constraint& constraint, const Symbols& values, const Implied& implied) {
  auto needed = sufficient(constraint, values);
  return needed && std::all_of(needed->begin(), needed->end(), implied);
}

Expected<Symbols> bindRule(const Rule& rule, const Symbols& pattern, const Implied& implied) {
  if (areNumbers(pattern)) {
    auto bound = bindRuleOrExplain(rule, numbersAt(pattern, {}));
    if (!bound) return tl::unexpected(bound.error());
    return symbolsOf(*bound);
  }
  auto bound = solveWhere(rule, pattern);
  if (!bound) return bound;
  for (const std::string& symbol : rule.shapes.symbols) {
    if (!bound->contains(symbol)) return fail(ErrorKind::kCheck, symbol + " is not determined");
  }
  for (const Constraint& c : rule.shapes.constraints) {
    if (!holds(c, *bound, implied))
      return fail(ErrorKind::kCheck, fmt::format("{} is not known to hold for all sizes", c.str()));
  }
  return bound;
}

Expected<Program> instantiate(const Program& program, const Symbols& by) {
  if (areAffine(by)) {
    std::map<std::string, Expr> exprs;
    for (const auto& [symbol, value] : by)
      exprs.emplace(symbol, value.affine());
    return program.substitute(exprs);
  }
  auto product = [] { return fail(ErrorKind::kUnsupported, "an attribute would be a product of extents"); };
  ProgramBuilder builder;
  for (const Node& n : program.nodes()) {
    if (n.is(ops::kInput)) {
      Shape shape;
      for (const Dim& d : n.shapes[0]) {
        auto own = substitute(d, by);
        if (!own) return product();
        shape.push_back(std::move(*own));
      }
      builder.input(n.names[0], std::move(shape), n.scalar("constant") == Expr(1));
      continue;
    }
    Attributes attributes;
    for (const auto& [name, value] : n.attributes) {
      auto own = substitute(value, by);
      if (!own) return product();
      attributes.emplace(name, std::move(*own));
    }
    auto added = builder.add(*n.op, n.operands, std::move(attributes), n.names);
    if (!added) return tl::unexpected(added.error());
  }
  return std::move(builder).finish(program.outputs());
}

Bindings numbersAt(const Symbols& symbols, const Bindings& at) {
  Bindings numbers;
  for (const auto& [name, value] : symbols)
    numbers.emplace(name, value.evaluate(at).value());
  return numbers;
}

Symbols symbolsOf(const Bindings& numbers) {
  Symbols symbols;
  for (const auto& [name, value] : numbers)
    symbols.emplace(name, Dim(value));
  return symbols;
}

}  // namespace pet::rewrite
