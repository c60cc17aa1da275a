#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// A transposed Conv along one axis, without pads, of one group, with a stride.
bool isLongStep(const Node& n) {
  if (!n.is(ops::kConvTranspose) || n.shapes[0].size() != 3 || n.text("auto_pad") != "NOTSET") return false;
  return n.list("strides")[0].constant() > 1 && n.list("dilations")[0] == 1 && n.scalar("group") == 1 &&
         n.list("pads") == std::vector<Expr>{0, 0} && n.list("output_padding")[0] == 0 &&
         n.list("output_shape").empty();
}

}  // namespace

// y[n, f, s a + p] = Σ_{c, j < M} x[n, c, a - j] w[c, f, s j + p]
std::vector<Template> longStrideTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 3) return {};
  const Node& step = p.node(p.outputs()[0]);
  if (!isLongStep(step)) return {};
  const int64_t stride = step.list("strides")[0].constant();
  const auto taps = p.shape(step.operands[1])[2].affine().asVariable();
  if (!taps) return {};
  const Expr each = Expr::variable(*taps + "2");
  const std::vector<std::pair<std::string, Expr>> where{{*taps, each * stride}};
  const auto source = p.substitute({where.begin(), where.end()});
  if (!source) return {};
  const Shape x = source->shape(step.operands[0]), w = source->shape(step.operands[1]);

  const LayoutAxis filter{"f", w[1]}, phase{"p", stride}, channel{"c", w[0]}, tap{"j", each};
  auto read = [](const LayoutAxis& axis) { return Expr::variable(axis.name); };
  const IndexMapSpec kernel{{{filter, phase}, {channel}, {tap}},
                            {{read(channel)}, {read(filter)}, {(each - 1 - read(tap)) * stride + read(phase)}},
                            {}};
  ProgramWriter form(*source);
  const Value k = form.add(ops::kIndexMap.text, {form.find(source->name(step.operands[1]))}, {{"map", kernel}}, "k");
  const Value phases = form.add(ops::kConv.text, {form.find(source->name(step.operands[0])), k},
                                {{"pads", std::vector<Expr>{each - 1, each - 1}}});
  const LayoutAxis image{"n", x[0]}, position{"a", x[2].affine() + each - 1};
  const Value y = form.layout(phases, {{image}, {filter, phase}, {position}}, {{image}, {filter}, {position, phase}});
  auto program = std::move(form).finish(y);
  if (!program) return {};
  return {{"phases", "phases-as-channels", where, classOf(pattern, where, *program), *program}};
}

}  // namespace pet
