#include "rules/rewrite/bind.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/solve.h"

namespace pet::rewrite {
namespace {

bool areAffine(const Symbols& symbols) {
  return std::all_of(symbols.begin(), symbols.end(), [](const auto& s) { return s.second.isAffine(); });
}

/// Symbols that `where` does not list keep their name.
Expected<Symbols> solveWhere(const Rule& rule, const Symbols& pattern) {
  Symbols kept = pattern;
  std::vector<DimEquation> equations;
  for (const auto& [symbol, value] : rule.where) {
    auto given = pattern.find(symbol);
    if (given == pattern.end()) return fail(ErrorKind::kCheck, "the pattern does not bind " + symbol);
    equations.push_back({Dim(value), given->second, symbol});
    kept.erase(symbol);
  }
  return solve(equations, std::move(kept));
}

Bindings numbersAmong(const Symbols& symbols) {
  Bindings numbers;
  for (const auto& [name, value] : symbols) {
    if (auto number = value.asConstant()) numbers.emplace(name, *number);
  }
  return numbers;
}

Expected<Symbols> insideClass(const Rule& rule, Symbols bound, const Implied& implied) {
  for (const std::string& symbol : rule.shapes.symbols) {
    if (!bound.contains(symbol)) return fail(ErrorKind::kCheck, symbol + " is not determined");
  }
  const Bindings numbers = numbersAmong(bound);
  for (const Constraint& c : rule.shapes.constraints) {
    const auto decided = c.evaluate(numbers);
    if (decided ? *decided : holds(c, bound, implied)) continue;
    return fail(ErrorKind::kCheck,
                fmt::format("{} {}", c.str(), decided ? "does not hold" : "is not known to hold for all sizes"));
  }
  return bound;
}

}  // namespace

bool holds(const Constraint& constraint, const Symbols& values, const Implied& implied) {
  auto needed = sufficient(constraint, values);
  return needed && std::all_of(needed->begin(), needed->end(), implied);
}

Expected<Symbols> bindRule(const Rule& rule, const Symbols& pattern, const Implied& implied) {
  try {
    auto bound = solveWhere(rule, pattern);
    return bound ? insideClass(rule, std::move(*bound), implied) : bound;
  } catch (const OverflowError&) {
    return fail(ErrorKind::kCheck, "extents beyond 64 bits");
  }
}

Expected<Bindings> bindRule(const Rule& rule, const Bindings& pattern) {
  auto bound = bindRule(rule, symbolsOf(pattern), [](const Constraint&) { return false; });
  if (!bound) return tl::unexpected(bound.error());
  return numbersAt(*bound, {});
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
