#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {

/// y[b, t, k, p] = Σ_n x[b, t·step + n] · u[(k p), n], where u is what the operator makes of the unit matrix: each of
/// its rows is a signal of one frame.
std::vector<Template> spectrumTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || !p.node(p.outputs()[0]).is(ops::kSTFT)) return {};
  const Node& stft = p.node(p.outputs()[0]);
  const Shape &signal = p.shape(stft.operands[0]), &y = stft.shapes[0];
  ProgramWriter form(p);
  const Value x = form.find(p.name(stft.operands[0])), window = form.find(p.name(stft.operands[1]));
  const LayoutAxis tap{"n", p.shape(stft.operands[1])[0]}, frequency{"k", y[2]}, part{"p", y[3]}, image{"b", y[0]},
      frame{"t", y[1]}, only{"c", 1}, position{"l", signal[1]};

  const Value unit = form.add(ops::kEye.text, {}, {{"extent", tap.extent.affine()}});
  const Value spectra = form.add(ops::kSTFT.text, {unit, window}, stft.attributes, "spectra");
  const Value kernel =
      form.layout(spectra, {{tap}, {only}, {frequency}, {part}}, {{frequency, part}, {only}, {tap}}, "u");
  const Value rows = form.layout(x, {{image}, {position}}, {{image}, {}, {position}});
  const Value z =
      form.add(ops::kConv.text, {rows, kernel}, {{"strides", std::vector<Expr>{stft.scalar("frame_step")}}});
  const Value back = form.layout(z, {{image}, {frequency, part}, {frame}}, {{image}, {frame}, {frequency}, {part}});
  auto program = std::move(form).finish(back);
  if (!program) return {};
  return {{"conv", "matrix-of-operator", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
