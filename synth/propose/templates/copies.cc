#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {

std::vector<Template> copyTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 2 || !p.node(p.outputs()[0]).is(ops::kResize)) return {};
  const Node& resize = p.node(p.outputs()[0]);
  const Shape &from = p.shape(resize.operands[0]), &to = resize.shapes[0];
  std::vector<std::pair<std::string, Expr>> where;
  std::vector<Expr> extents;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!from[d].isAffine() || !to[d].isAffine()) return {};
    extents.push_back(to[d].affine());
    if (from[d] == to[d] || from[d] == Dim(1)) continue;
    const auto symbol = from[d].affine().asVariable();
    if (!symbol || to[d].affine().mentions(*symbol)) return {};
    where.emplace_back(*symbol, 1);
  }
  const auto source = p.substitute({where.begin(), where.end()});
  if (!source) return {};
  ProgramWriter form(*source);
  const Value y = form.add(ops::kExpand.text, {form.find(source->name(source->inputs()[0]))}, {{"shape", extents}});
  auto program = std::move(form).finish(y);
  if (!program) return {};
  return {{"copies", "copies", where, classOf(pattern, where, *program), *program}};
}

}  // namespace pet
