#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Each position apart: σ(x[0] - x[1]) and σ(x[1] - x[0]), side by side.
Value apart(ProgramWriter& form, Value x, size_t axis) {
  const Value first = form.slice(x, axis, 0, 1), second = form.slice(x, axis, 1, 2);
  auto share = [&](Value mine, Value other) {
    return form.add(ops::kSigmoid.text, {form.add(ops::kSub.text, {mine, other})});
  };
  return form.concat({share(first, second), share(second, first)}, axis);
}

/// Both at once: σ(x - z), z being x with its positions exchanged.
Value atOnce(ProgramWriter& form, Value x, size_t axis) {
  const Value z = form.add(ops::kGather.text, {x},
                           {{"axis", Expr(static_cast<int64_t>(axis))}, {"indices", std::vector<Expr>{1, 0}}});
  return form.add(ops::kSigmoid.text, {form.add(ops::kSub.text, {x, z})});
}

}  // namespace

/// e^a / (e^a + e^b) = 1 / (1 + e^(b - a))
std::vector<Template> pairTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 2 || !p.node(p.outputs()[0]).is(ops::kSoftmax)) return {};
  const Node& softmax = p.node(p.outputs()[0]);
  const auto axis = static_cast<size_t>(*softmax.scalar("axis").asConstant());
  const Dim& extent = softmax.shapes[0][axis];
  const auto symbol = extent.isAffine() ? extent.affine().asVariable() : std::nullopt;
  if (!symbol) return {};
  const std::vector<std::pair<std::string, Expr>> where{{*symbol, 2}};
  const auto source = p.substitute({where.begin(), where.end()});
  if (!source) return {};
  std::vector<Template> templates;
  for (bool isAtOnce : {false, true}) {
    ProgramWriter form(*source);
    const Value x = form.find(source->name(source->inputs()[0]));
    const Value y = isAtOnce ? atOnce(form, x, axis) : apart(form, x, axis);
    auto program = std::move(form).finish(y);
    if (!program) continue;
    templates.push_back({isAtOnce ? "sigmoid-of-differences" : "sigmoids", "softmax-of-two", where,
                         classOf(pattern, where, *program), *program});
  }
  return templates;
}

}  // namespace pet
