#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// y[m, (j v)] = Σ_{k <= v} x[m, (j k)] + Σ_{i < j} Σ_k x[m, (i k)], of blocks of so many positions.
std::optional<Template> inBlocks(const Pattern& pattern, const std::string& length, int64_t block) {
  const std::vector<std::pair<std::string, Expr>> where{{length, Expr::variable(length + "2") * block}};
  const auto source = pattern.program.substitute({where.begin(), where.end()});
  if (!source) return std::nullopt;
  const Node& sum = source->node(source->outputs()[0]);
  const Shape& shape = sum.shapes[0];
  std::vector<AxisGroup> rows, blocks;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows.push_back({{fmt::format("m{}", d), shape[d]}});
  blocks = rows;
  const LayoutAxis outer{"j", Expr::variable(length + "2")}, inner{"k", block};
  rows.push_back({outer, inner});
  blocks.push_back({outer});
  blocks.push_back({inner});

  ProgramWriter form(*source);
  const Value x = form.layout(form.find(source->name(sum.operands[0])), rows, blocks);
  const Value triangle = form.add(
      ops::kBand.text, {}, {{"shape", std::vector<Expr>{block, block}}, {"lower", Expr(0)}, {"upper", Expr(block - 1)}},
      "triangle");
  const Value within = form.add(ops::kMatMul.text, {x, triangle});
  const Value whole = form.slice(within, shape.size(), block - 1, block);
  const Value before = form.add(ops::kCumSum.text, {whole},
                                {{"axis", Expr(static_cast<int64_t>(shape.size()) - 1)}, {"exclusive", Expr(1)}});
  const Value y = form.add(ops::kAdd.text, {within, before});
  const Value back = form.layout(y, blocks, rows);
  auto program = std::move(form).finish(back);
  if (!program) return std::nullopt;
  return Template{fmt::format("blocks-{}", block), "sums-in-blocks", where, classOf(pattern, where, *program),
                  *program};
}

}  // namespace

std::vector<Template> runningSumTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 2) return {};
  const Node& sum = p.node(p.outputs()[0]);
  if (!sum.is(ops::kCumSum) || sum.scalar("exclusive") != 0 || sum.scalar("reverse") != 0) return {};
  const Shape& shape = sum.shapes[0];
  const auto length = shape.back().affine().asVariable();
  if (!length || sum.scalar("axis") != static_cast<int64_t>(shape.size()) - 1) return {};
  std::vector<Template> templates;
  for (int64_t block : {16, 32, 64}) {
    if (auto made = inBlocks(pattern, *length, block)) templates.push_back(std::move(*made));
  }
  return templates;
}

}  // namespace pet
