#include "synth/analysis/seeing_taps.h"

#include <algorithm>

#include "ir/ops/op.h"
#include "synth/analysis/typical_shape.h"
#include "synth/poly/poly.h"

namespace pet {
namespace {

constexpr int64_t kSampleExtent = 17;

/// The expression without those divisions that have one value over the class.
Expr withKnownDivisions(const poly::Context& context, const Bindings& typical, const Expr& e) {
  Expr result = e.constant();
  for (const auto& [term, coefficient] : e.terms()) {
    const Expr part =
        term.division ? floorDiv(term.division->numerator, term.division->divisor) : Expr::variable(term.name);
    const auto value = term.division ? part.evaluate(typical) : std::nullopt;
    const bool isOne =
        value && context.implies(Constraint::le(part, *value)) && context.implies(Constraint::le(*value, part));
    result += (isOne ? Expr(*value) : part) * coefficient;
  }
  return result;
}

}  // namespace

// y[h] = Σ_r x[h·stride + r·dilation - begin] w[r], 0 <= h < out: tap r reads from r·dilation - begin on, up to
// (out - 1)·stride + r·dilation - begin.
std::optional<std::vector<TapsOfAxis>> tapsThatSee(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1 || p.nodes().size() != 3) return std::nullopt;
  const Node& conv = p.node(p.outputs()[0]);
  if (!conv.is(ops::kConv) || conv.text("auto_pad") != "NOTSET" || conv.operands[0] == conv.operands[1] ||
      !isConstant(p, conv.operands[1]))
    return std::nullopt;
  const Shape &x = p.shape(conv.operands[0]), &w = p.shape(conv.operands[1]), &y = conv.shapes[0];
  const size_t spatial = x.size() - 2;
  const poly::Context context(pattern.shapes);
  const auto typical = typicalShape(context, p, kSampleExtent);
  if (!typical) return std::nullopt;
  std::vector<TapsOfAxis> taps;
  for (size_t a = 0; a < spatial; ++a) {
    const size_t d = a + 2;
    if (!x[d].isAffine() || !w[d].isAffine() || !y[d].isAffine()) return std::nullopt;
    const int64_t stride = conv.list("strides")[a].constant(), dilation = conv.list("dilations")[a].constant();
    const Expr& begin = conv.list("pads")[a];
    auto number = [&](const Expr& e) { return withKnownDivisions(context, *typical, e); };
    TapsOfAxis t{number(ceilDiv(begin - (y[d].affine() - 1) * stride, dilation)),
                 number(floorDiv(begin + x[d].affine() - 1, dilation)), w[d].affine(), dilation};
    t.hasBlind = context.implies(Constraint::le(1, t.first)) || context.implies(Constraint::le(t.last + 2, t.count));
    taps.push_back(std::move(t));
  }
  return taps;
}

bool hasBlindTaps(const Pattern& pattern) {
  const auto taps = tapsThatSee(pattern);
  return taps && std::all_of(taps->begin(), taps->end(), [](const TapsOfAxis& t) { return t.hasBlind; });
}

}  // namespace pet
