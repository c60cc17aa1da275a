#include "synth/propose/templates/plain_conv.h"

#include <algorithm>

#include "ir/ops/op.h"

namespace pet {
namespace {

bool isAffine(const Shape& s) {
  return std::all_of(s.begin(), s.end(), [](const Dim& d) { return d.isAffine(); });
}

}  // namespace

std::optional<PlainConv> plainConv(const Program& p, const Node& n) {
  if (!n.is(ops::kConv) || n.operands[0] == n.operands[1]) return std::nullopt;
  Value x = n.operands[0], w = n.operands[1];
  const Shape &xs = p.shape(x), &ws = p.shape(w), &ys = n.shapes[0];
  if (!isConstant(p, w) || n.scalar("group") != Expr(1) || !isAffine(xs) || !isAffine(ws) || !isAffine(ys))
    return std::nullopt;
  PlainConv conv{p.name(x), p.name(w), xs[0].affine(), xs[1].affine(), ws[0].affine(), std::nullopt, {}};
  const size_t axes = xs.size() - 2;
  for (size_t i = 0; i < axes; ++i) {
    if (n.list("strides")[i] != Expr(1)) return std::nullopt;
    conv.spatial.push_back({xs[2 + i].affine(), ys[2 + i].affine(), ws[2 + i].affine(), n.list("pads")[i],
                            n.list("pads")[axes + i], *n.list("dilations")[i].asConstant()});
  }
  if (axes == 3) {
    conv.frames = conv.spatial[0];
    conv.spatial.erase(conv.spatial.begin());
    bool isImage = conv.frames->in == Expr(1);  // a Conv 2-d does, see synth/propose/skeletons/frames.cc
    if (!conv.frames->taps.asConstant() || isImage) return std::nullopt;
  }
  return conv;
}

std::optional<PlainConv> plainConv(const Program& p) {
  return p.nodes().size() == 3 ? plainConv(p, p.node(p.outputs()[0])) : std::nullopt;
}

std::optional<std::vector<std::pair<std::string, Expr>>> withTaps(const std::vector<ConvAxis>& axes, int taps) {
  std::vector<std::pair<std::string, Expr>> where;
  for (const ConvAxis& a : axes) {
    if (a.taps == Expr(taps)) continue;
    auto symbol = a.taps.asVariable();
    if (!symbol) return std::nullopt;
    bool known = std::any_of(where.begin(), where.end(), [&](const auto& w) { return w.first == *symbol; });
    if (!known) where.emplace_back(*symbol, taps);
  }
  return where;
}

}  // namespace pet
