#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// A transposed Conv along one axis, of one group, with a stride.
bool isStep(const Node& n) {
  if (!n.is(ops::kConvTranspose) || n.shapes[0].size() != 3 || n.text("auto_pad") != "NOTSET") return false;
  return n.list("strides")[0].constant() > 1 && n.list("dilations")[0] == 1 && n.scalar("group") == 1 &&
         n.list("output_padding")[0] == 0 && n.list("output_shape").empty();
}

}  // namespace

// y[n, f, s a + p] = Σ_{c, j < M} x[n, c, a - j] w[c, f, s j + p], cut by the pads.
std::vector<Template> signalPhaseTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 3) return {};
  const Node& step = p.node(p.outputs()[0]);
  if (!isStep(step)) return {};
  const int64_t stride = step.list("strides")[0].constant();
  const auto taps = p.shape(step.operands[1])[2].affine().asVariable();
  if (!taps) return {};
  const Expr each = Expr::variable(*taps + "2");
  const std::vector<std::pair<std::string, Expr>> where{{*taps, each * stride}};
  const auto source = p.substitute({where.begin(), where.end()});
  if (!source) return {};
  const Shape x = source->shape(step.operands[0]), w = source->shape(step.operands[1]);
  const auto& pads = step.list("pads");

  const LayoutAxis image{"n", x[0]}, filter{"f", w[1]}, phase{"p", stride}, channel{"c", w[0]}, tap{"j", each},
      position{"a", x[2].affine() + each - 1}, sample{"l", x[2]};
  auto read = [](const LayoutAxis& axis) { return Expr::variable(axis.name); };
  std::vector<Template> templates;
  for (const bool asRow : {false, true}) {
    const AxisGroup row{{"r", 1}};
    auto along = [&](std::vector<AxisGroup> groups) {
      if (asRow) groups.insert(groups.begin() + 2, row);
      return groups;
    };
    const IndexMapSpec kernel{along({{filter, phase}, {channel}, {tap}}),
                              {{read(channel)}, {read(filter)}, {(each - 1 - read(tap)) * stride + read(phase)}},
                              {}};
    ProgramWriter form(*source);
    const Value k = form.add(ops::kIndexMap.text, {form.find(source->name(step.operands[1]))}, {{"map", kernel}}, "k");
    Value signal = form.find(source->name(step.operands[0]));
    const std::vector<AxisGroup> signalAxes{{image}, {channel}, {sample}};
    if (asRow) signal = form.layout(signal, signalAxes, along(signalAxes));
    const Expr ends = each - 1;
    const Value phases =
        form.add(ops::kConv.text, {signal, k},
                 {{"pads", asRow ? std::vector<Expr>{0, ends, 0, ends} : std::vector<Expr>{ends, ends}}});
    Value y =
        form.layout(phases, along({{image}, {filter, phase}, {position}}), {{image}, {filter}, {position, phase}});
    const Expr whole = (x[2].affine() + each - 1) * stride;
    if (pads != std::vector<Expr>{0, 0}) y = form.slice(y, 2, pads[0], whole - pads[1]);
    auto program = std::move(form).finish(y);
    if (!program) return {};
    templates.push_back(
        {asRow ? "row-phases" : "phases", "phases-as-channels", where, classOf(pattern, where, *program), *program});
  }
  return templates;
}

}  // namespace pet
