#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// What a LayerNormalization at the end normalises, if that is a sum.
std::optional<Value> normalisedSum(const Program& p) {
  if (p.outputs().size() != 1) return std::nullopt;
  const Node& last = p.node(p.outputs()[0]);
  if (!last.is(ops::kLayerNormalization) || !p.node(last.operands[0]).is(ops::kAdd)) return std::nullopt;
  return last.operands[0];
}

}  // namespace

std::vector<Template> differenceTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto sum = normalisedSum(p);
  if (!sum) return {};
  const Node& last = p.node(p.outputs()[0]);
  const std::vector<Value>& addends = p.node(*sum).operands;
  ProgramWriter form{ProgramBuilder(p)};
  std::vector<Value> operands = last.operands;
  operands[0] = form.add(ops::kSub.text, {addends[0], form.add(ops::kNeg.text, {addends[1]})});
  auto program = std::move(form).finish(form.add(last.op->name, operands, last.attributes));
  if (!program) return {};
  Program alive = program->withoutDeadNodes();
  ShapeClass shapes = classOf(pattern, {}, alive);
  return {{"difference", "difference", {}, std::move(shapes), std::move(alive)}};
}

}  // namespace pet
