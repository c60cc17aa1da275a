// Relations of arithmetic with broadcasting, and of constants.

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rules/check/meaning/relation.h"

namespace pet::check {
namespace {

Clause times(int64_t factor, const Call& call, size_t operand, const Position& at) {
  return {.coefficient = {factor, 1}, .reads = {{operand, broadcast(call.operands[operand], at)}}};
}

}  // namespace

std::vector<Clause> addRelation(const Call& call, const Position& at, Names&) {
  return {times(1, call, 0, at), times(1, call, 1, at)};
}

std::vector<Clause> subRelation(const Call& call, const Position& at, Names&) {
  return {times(1, call, 0, at), times(-1, call, 1, at)};
}

std::vector<Clause> mulRelation(const Call& call, const Position& at, Names&) {
  return {{.reads = {{0, broadcast(call.operands[0], at)}, {1, broadcast(call.operands[1], at)}}}};
}

std::vector<Clause> negRelation(const Call& call, const Position& at, Names&) {
  return {times(-1, call, 0, at)};
}

std::vector<Clause> identityRelation(const Call& call, const Position& at, Names&) {
  return {times(1, call, 0, at)};
}

std::vector<Clause> constantRelation(const Call& call, const Position&, Names&) {
  double value = call.node.number("value");
  if (value == -std::numeric_limits<double>::infinity()) return {{.minusInfinity = true}};
  if (!std::isfinite(value)) throw Opaque(fmt::format("the constant {}", value));
  auto fraction = fractionOf(value);
  if (!fraction) return {{.constants = {{.kind = Factor::Kind::kConstant, .key = fmt::format("{}", value)}}}};
  if (fraction->over == 0) return {};
  return {{.coefficient = *fraction}};
}

std::vector<Clause> eyeRelation(const Call&, const Position& at, Names&) {
  return {{.domain = {Constraint::eq(at[0][0], at[1][0])}}};
}

std::vector<Clause> bandRelation(const Call& call, const Position& at, Names&) {
  Expr above = at[1][0] - at[0][0];
  return {{.domain = {Constraint::le(-call.node.scalar("lower"), above),
                      Constraint::le(above, call.node.scalar("upper"))}}};
}

/// Parameters: denominator, rank, extents, values; the key has them all, the denominator behind.
std::vector<Clause> tableRelation(const Call& call, const Position& at, Names&) {
  const Expr& under = call.node.scalar("denominator");
  const auto& shape = call.list("shape");
  Factor entry{.kind = Factor::Kind::kConstant, .key = "Table", .at = flat(at)};
  entry.parameters = {under, static_cast<int64_t>(shape.size())};
  for (const char* list : {"shape", "values"}) {
    for (const Expr& e : call.list(list)) {
      entry.key += " " + e.str();
      entry.parameters.push_back(e);
    }
  }
  entry.key += " / " + under.str();
  Clause clause;
  for (size_t d = 0; d < shape.size(); ++d)
    clause.inside(at[d], shape[d]);
  clause.constants = {std::move(entry)};
  return {clause};
}

}  // namespace pet::check
