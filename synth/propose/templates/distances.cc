#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// The matrix whose rows lie along one of two dimensions in front of the last one: what an Unsqueeze is of, or an input
/// that broadcasts along the first.
std::optional<Value> rowsAlong(const Program& p, Value v, int64_t missing) {
  const Node& n = p.node(v);
  if (n.is(ops::kInput) && missing == 0 && p.shape(v).size() == 2) return v;
  if (!n.is(ops::kUnsqueeze) || n.list("axes") != std::vector<Expr>{missing}) return std::nullopt;
  return p.node(n.operands[0]).is(ops::kInput) ? std::optional(n.operands[0]) : std::nullopt;
}

/// Σ_k f(x[m, k] - z[n, k]), f being this operator: x and z; empty if the program is another one.
std::vector<std::string> rowsOfDifferences(const Program& p, OpName f) {
  if (p.outputs().size() != 1) return {};
  const Node& sum = p.node(p.outputs()[0]);
  if (!sum.is(ops::kReduceSum) || sum.list("axes") != std::vector<Expr>{2} || sum.scalar("keepdims") != 0) return {};
  const Node& each = p.node(sum.operands[0]);
  if (!each.is(f) || !p.node(each.operands[0]).is(ops::kSub)) return {};
  const Node& difference = p.node(each.operands[0]);
  const auto x = rowsAlong(p, difference.operands[0], 1), z = rowsAlong(p, difference.operands[1], 0);
  return x && z ? std::vector{p.name(*x), p.name(*z)} : std::vector<std::string>();
}

/// |x[m, 0] - z[n, 0]| + … + |x[m, K - 1] - z[n, K - 1]|
std::optional<Template> byColumns(const Pattern& pattern, const std::string& columns, int64_t count) {
  const std::vector<std::pair<std::string, Expr>> where{{columns, count}};
  const auto source = pattern.program.substitute({where.begin(), where.end()});
  if (!source) return std::nullopt;
  const auto names = rowsOfDifferences(*source, ops::kAbs);
  ProgramWriter form(*source);
  const Value x = form.find(names[0]);
  const Value z = form.add(ops::kTranspose.text, {form.find(names[1])}, {{"perm", std::vector<Expr>{1, 0}}});
  std::optional<Value> sum;
  for (int64_t k = 0; k < count; ++k) {
    const Value difference = form.add(ops::kSub.text, {form.slice(x, 1, k, k + 1), form.slice(z, 0, k, k + 1)});
    const Value magnitude = form.add(ops::kAbs.text, {difference});
    sum = sum ? form.add(ops::kAdd.text, {*sum, magnitude}) : magnitude;
  }
  auto program = std::move(form).finish(*sum);
  if (!program) return std::nullopt;
  return Template{fmt::format("by-columns-{}", count), "column-by-column", where, classOf(pattern, where, *program),
                  *program};
}

}  // namespace

/// Σ_k (x[m, k] - z[n, k])² = Σ_k x[m, k]² + Σ_k z[n, k]² - 2 Σ_k x[m, k] z[n, k]
std::vector<Template> distanceTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto names = rowsOfDifferences(p, ops::kSquare);
  if (names.empty()) return {};
  ProgramWriter form(p);
  auto lengths = [&](Value rows, int64_t keepdims) {
    const Value squares = form.add(ops::kMul.text, {rows, rows});
    return form.add(ops::kReduceSum.text, {squares}, {{"axes", std::vector<Expr>{1}}, {"keepdims", Expr(keepdims)}});
  };
  const Value x = form.find(names[0]), z = form.find(names[1]);
  const Value both = form.add(ops::kAdd.text, {lengths(x, 1), lengths(z, 0)});
  const Value columns = form.add(ops::kTranspose.text, {z}, {{"perm", std::vector<Expr>{1, 0}}});
  const Value twice = form.add(ops::kMul.text, {x, form.constant(-2)});
  const Value products = form.add(ops::kMatMul.text, {twice, columns});
  const Value y = form.add(ops::kAdd.text, {both, products});
  auto program = std::move(form).finish(y);
  if (!program) return {};
  return {{"by-products", "expanded-square", {}, classOf(pattern, {}, *program), *program}};
}

std::vector<Template> columnTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto names = rowsOfDifferences(p, ops::kAbs);
  if (names.empty()) return {};
  const auto columns = p.shape(*p.find(names[0]))[1].affine().asVariable();
  if (!columns) return {};
  std::vector<Template> templates;
  for (int64_t count : {2, 3, 4}) {
    if (auto made = byColumns(pattern, *columns, count)) templates.push_back(std::move(*made));
  }
  return templates;
}

}  // namespace pet
