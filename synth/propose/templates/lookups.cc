#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// The OneHot of which a value is 1 where it holds and 0 elsewhere; null: it is another value.
const Node* oneHotOf(const Program& p, Value v, int64_t negative) {
  const Node& chosen = p.node(v);
  if (!chosen.is(ops::kWhere)) return nullptr;
  auto is = [&](size_t operand, double number) {
    const Node& n = p.node(chosen.operands[operand]);
    return n.is(ops::kConstant) && n.number("value") == number;
  };
  const Node& n = p.node(chosen.operands[0]);
  return is(1, 1) && is(2, 0) && n.is(ops::kOneHot) && n.scalar("negative") == Expr(negative) ? &n : nullptr;
}

/// The index that a sum of two is of, from the front and from the end; nullopt: it is another sum.
std::optional<Value> indexFromBothEnds(const Program& p, const Node& sum) {
  const Node* front = oneHotOf(p, sum.operands[0], 0);
  const Node* end = oneHotOf(p, sum.operands[1], 1);
  return front && end && front->operands == end->operands ? std::optional(front->operands[0]) : std::nullopt;
}

}  // namespace

std::vector<Template> lookupTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1) return {};
  const Node& product = p.node(p.outputs()[0]);
  if (!product.is(ops::kMatMul) || p.shape(product.operands[1]).size() != 2) return {};
  const Node& hot = p.node(product.operands[0]);
  const Node* oneHot = oneHotOf(p, product.operands[0], 0);
  const auto both = hot.is(ops::kAdd) ? indexFromBothEnds(p, hot) : std::nullopt;
  if (!oneHot && !both) return {};
  const Value rows = product.operands[1];
  const Dim& count = p.shape(rows)[0];
  ProgramWriter form{ProgramBuilder(p)};
  const Value ended = form.pad(rows, {{0, 0, 1}}), table = both ? form.concat({ended, rows}, 0) : ended;
  const Value y = form.add(ops::kLookup.text, {both ? *both : oneHot->operands[0], table},
                           {{"negative", both ? count.affine() : Expr(0)}});
  auto program = std::move(form).finish(y);
  if (!program) return {};
  return {{"lookup", "lookup", {}, classOf(pattern, {}, *program), program->withoutDeadNodes()}};
}

}  // namespace pet
