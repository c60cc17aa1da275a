#include <optional>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// What comes behind `shift` positions of a dimension, then these.
struct Roll {
  Value of;
  size_t dim;
  Expr shift;
};

/// A Slice along one dimension, by steps of 1.
struct Stretch {
  Value of;
  Expr dim, start, end;
};

std::optional<Stretch> stretchOf(const Node& n) {
  if (!n.is(ops::kSlice) || n.list("axes").size() != 1) return std::nullopt;
  if (!n.list("steps").empty() && n.list("steps")[0] != Expr(1)) return std::nullopt;
  return Stretch{n.operands[0], n.list("axes")[0], n.list("starts")[0], n.list("ends")[0]};
}

std::optional<Roll> rollOf(const Program& p, const Node& n) {
  if (!n.is(ops::kConcat) || n.operands.size() != 2) return std::nullopt;
  const auto first = stretchOf(p.node(n.operands[0])), second = stretchOf(p.node(n.operands[1]));
  if (!first || !second || first->of != second->of || first->dim != second->dim || n.scalar("axis") != first->dim)
    return std::nullopt;
  const auto dim = static_cast<size_t>(first->dim.constant());
  const bool isWhole = Dim(first->end) == p.shape(first->of)[dim] && first->start == second->end;
  if (!isWhole || second->start != Expr(0)) return std::nullopt;
  return Roll{first->of, dim, first->start};
}

/// Where the operand of a node that moves elements is read; nullopt where there are several cases.
std::optional<Index> readOf(const Program& p, const Node& n, const Index& at, NameSource& names) {
  if (!n.op->layout || n.operands.size() != 1) return std::nullopt;
  const std::vector<Shape> operands{p.shape(n.operands[0])};
  const auto pieces = n.op->access({n.attributes, operands, n.shapes}, 0, at, names);
  if (!pieces || pieces->size() != 1 || pieces->front().reads.size() != 1) return std::nullopt;
  return pieces->front().reads[0].at;
}

/// An axis for each digit.
std::vector<AxisGroup> digitsOf(const Shape& shape, const std::string& name) {
  std::vector<AxisGroup> groups;
  size_t next = 0;
  for (const Dim& dim : shape) {
    groups.emplace_back();
    for (const Expr& extent : dim.atoms())
      groups.back().push_back({fmt::format("{}{}", name, next++), extent});
  }
  return groups;
}

std::vector<AxisGroup> apart(const std::vector<AxisGroup>& groups) {
  std::vector<AxisGroup> axes;
  for (const AxisGroup& group : groups) {
    for (const LayoutAxis& axis : group)
      axes.push_back({axis});
  }
  return axes;
}

}  // namespace

std::vector<Template> rollTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.inputs().size() != 1) return {};
  const Value result = p.outputs()[0], input = p.inputs()[0];
  const auto written = digitsOf(p.shape(result), "a"), read = digitsOf(p.shape(input), "b");
  Index at;
  for (const AxisGroup& group : written) {
    at.emplace_back();
    for (const LayoutAxis& axis : group)
      at.back().push_back(Expr::variable(axis.name));
  }
  NameSource names;
  bool rolls = false;
  for (Value v = result; v != input;) {
    const Node& n = p.node(v);
    if (const auto roll = rollOf(p, n)) {
      at[roll->dim].back() += roll->shift;
      v = roll->of;
      rolls = true;
      continue;
    }
    auto next = readOf(p, n, at, names);
    if (!next) return {};
    at = std::move(*next);
    v = n.operands[0];
  }
  if (!rolls) return {};
  IndexMapSpec map{apart(written), {}, {}};
  for (const auto& digits : at) {
    for (const Expr& digit : digits)
      map.source.push_back({digit});
  }
  ProgramWriter form(p);
  const Value x = form.regrouped(input, read, apart(read));
  const Value y = form.add(ops::kCyclicMap.text, {x}, {{"map", std::move(map)}});
  auto program = std::move(form).finish(form.regrouped(y, apart(written), written));
  if (!program) return {};
  return {{"by-table", "by-table", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
