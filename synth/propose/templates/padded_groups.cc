#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Engines keep channels in blocks of 4, 8 or 16; what is a multiple of 4 they pad to a block themselves.
constexpr int64_t kChannelBlock = 4;

/// A Conv of images that is all of the program, of each of `channels` by itself.
std::optional<std::string> depthwiseChannels(const Program& p) {
  if (p.outputs().size() != 1 || p.nodes().size() != 3) return std::nullopt;
  const Node& conv = p.node(p.outputs()[0]);
  if (!conv.is(ops::kConv) || conv.shapes[0].size() != 4) return std::nullopt;
  const Dim &x = p.shape(conv.operands[0])[1], &w = p.shape(conv.operands[1])[0];
  const bool isDepthwise = x.isAffine() && w == x && conv.scalar("group") == x.affine();
  return isDepthwise ? x.affine().asVariable() : std::nullopt;
}

}  // namespace

// Of 4 k + r channels: as many zeros behind them as are missing to 4 (k + 1), and the first ones of the result.
std::vector<Template> paddedGroupTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto channels = depthwiseChannels(p);
  if (!channels) return {};
  const Expr blocks = Expr::variable(*channels + std::to_string(kChannelBlock));
  std::vector<Template> templates;
  for (int64_t more = 1; more < kChannelBlock; ++more) {
    const std::vector<std::pair<std::string, Expr>> where{{*channels, blocks * kChannelBlock - more}};
    const auto source = p.substitute({where.begin(), where.end()});
    if (!source) continue;
    const Node& conv = source->node(source->outputs()[0]);
    const Value w = conv.operands[1];
    ProgramWriter form(*source);
    const Value x = form.pad(form.find(source->name(conv.operands[0])), {{1, 0, more}});
    IndexMapSpec zeros;
    for (const Dim& extent : source->shape(w)) {
      const std::string name = fmt::format("d{}", zeros.dims.size());
      zeros.dims.push_back({{name, zeros.dims.empty() ? blocks * kChannelBlock : extent.affine()}});
      zeros.source.push_back({Expr::variable(name)});
    }
    const Value kernel = form.add(ops::kIndexMap.text, {form.find(source->name(w))}, {{"map", std::move(zeros)}}, "k");
    Attributes attributes = conv.attributes;
    attributes["group"] = blocks * kChannelBlock;
    const Value y = form.add(ops::kConv.text, {x, kernel}, std::move(attributes));
    auto program = std::move(form).finish(form.crop(y, 1, {blocks * kChannelBlock - more}));
    if (!program) continue;
    templates.push_back(
        {fmt::format("channels-and-{}", more), "padded-channels", where, classOf(pattern, where, *program), *program});
  }
  return templates;
}

}  // namespace pet
