#include "synth/analysis/seeing_taps.h"

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {

std::vector<Template> seeingTapTemplates(const Pattern& pattern) {
  const auto taps = tapsThatSee(pattern);
  if (!taps) return {};
  const Program& p = pattern.program;
  const Node& conv = p.node(p.outputs()[0]);
  std::vector<Expr> dims, starts, ends, pads = conv.list("pads"), dilations = conv.list("dilations");
  for (size_t a = 0; a < taps->size(); ++a) {
    const TapsOfAxis& t = (*taps)[a];
    if (!t.hasBlind) continue;
    dims.emplace_back(static_cast<int64_t>(a) + 2);
    starts.push_back(t.first);
    ends.push_back(t.last + 1);
    pads[a] = pads[a] - t.first * t.dilation;
    pads[taps->size() + a] = pads[taps->size() + a] - (t.count - 1 - t.last) * t.dilation;
    if (t.first == t.last) dilations[a] = 1;
  }
  if (dims.empty()) return {};
  ProgramWriter form(p);
  const Value kernel = form.add(ops::kSlice.text, {form.find(p.name(conv.operands[1]))},
                                {{"axes", dims}, {"starts", starts}, {"ends", ends}});
  Attributes attributes = conv.attributes;
  attributes.insert_or_assign("pads", std::move(pads));
  attributes.insert_or_assign("dilations", std::move(dilations));
  auto program =
      std::move(form).finish(form.add(ops::kConv.text, {form.find(p.name(conv.operands[0])), kernel}, attributes));
  if (!program) return {};
  return {{"seeing-taps", "seeing-taps", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
