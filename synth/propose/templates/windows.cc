#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// An IndexMap of one dimension between others that stay,
///
///     [n, f, w, k] -> [n, step f + w, k].
struct Windows {
  Expr frames, window;
  int64_t step;
};

std::optional<Windows> windowsOf(const Program& p) {
  const Value y = p.outputs()[0];
  const Node& node = p.node(y);
  if (!node.is(ops::kIndexMap) || !p.node(node.operands[0]).is(ops::kInput)) return std::nullopt;
  const auto& map = std::get<IndexMapSpec>(node.attributes.find("map")->second);
  const auto isOneAxis = [](const AxisGroup& group) { return group.size() == 1; };
  if (map.dims.size() != 4 || map.source.size() != 3 || !map.guards.empty() ||
      !std::all_of(map.dims.begin(), map.dims.end(), isOneAxis))
    return std::nullopt;
  auto axis = [&](size_t d) { return Expr::variable(map.dims[d][0].name); };
  const int64_t step = map.source[1][0].coefficient(map.dims[1][0].name);
  const std::vector<std::vector<Expr>> wanted{{axis(0)}, {step * axis(1) + axis(2)}, {axis(3)}};
  if (step < 2 || map.source != wanted) return std::nullopt;
  return Windows{map.dims[1][0].extent.affine(), map.dims[2][0].extent.affine(), step};
}

}  // namespace

// Each window is as many blocks of `step` positions that follow each other as it takes.
std::vector<Template> windowTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 2) return {};
  const auto found = windowsOf(p);
  if (!found) return {};
  const auto& [frames, window, step] = *found;
  const Value input = p.node(p.outputs()[0]).operands[0];
  const Shape x = p.shape(input);
  const Expr parts = floorDiv(window + step - 1, step), blocks = frames + parts - 1;
  const LayoutAxis image{"n", x[0]}, block{"b", blocks}, inside{"r", step}, channel{"k", x[2]}, frame{"f", frames},
      part{"j", parts};
  auto read = [](const LayoutAxis& axis) { return Expr::variable(axis.name); };
  const IndexMapSpec map{{{image}, {frame}, {part}, {inside}, {channel}},
                         {{read(image)}, {read(frame) + read(part)}, {read(inside)}, {read(channel)}},
                         {}};
  std::vector<Template> templates;
  for (const bool pads : {false, true}) {
    ProgramWriter form(p);
    Value t = form.find(p.name(input));
    if (pads) t = form.pad(t, {{1, 0, step}});  // the last block may end behind the end
    t = form.slice(t, 1, 0, blocks * step);
    t = form.layout(t, {{image}, {block, inside}, {channel}}, {{image}, {block}, {inside}, {channel}});
    t = form.add(ops::kIndexMap.text, {t}, {{"map", map}});
    t = form.layout(t, {{image}, {frame}, {part}, {inside}, {channel}}, {{image}, {frame}, {part, inside}, {channel}});
    auto program = std::move(form).finish(form.slice(t, 2, 0, window));
    if (!program) return {};
    templates.push_back({pads ? "padded-blocks" : "blocks", "blocks", {}, classOf(pattern, {}, *program), *program});
  }
  return templates;
}

}  // namespace pet
