#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// y = x / z^(3/4), z = bias + Σ_k band[c, k] x[k]². The band is alpha times what a mean over windows of channels makes
/// of the unit matrix, and z a pointwise Conv or a product with it.
class ChannelWindow {
 public:
  ChannelWindow(const Program& pattern, const Node& lrn)
      : view_{lrn.attributes, {}, lrn.shapes}, x_(lrn.shapes[0]), form_(pattern) {
    input_ = form_.find(pattern.name(lrn.operands[0]));
  }

  std::optional<Program> byConv() && {
    const Value kernel = form_.layout(band(), {{filter_}, {channel_}}, {{filter_}, {channel_}, {}, {}});
    return quotient(form_.add(ops::kConv.text, {form_.add(ops::kSquare.text, {input_}), kernel}));
  }

  std::optional<Program> byMatMul() && {
    const AxisGroup image{{"n", x_[0]}}, row{{"h", x_[2]}}, column{{"w", x_[3]}};
    const std::vector<AxisGroup> apart{image, {channel_}, row, column}, merged{image, {channel_}, row + column};
    const Value squares = form_.layout(form_.add(ops::kSquare.text, {input_}), apart, merged);
    return quotient(form_.layout(form_.add(ops::kMatMul.text, {band(), squares}), merged, apart));
  }

 private:
  /// [output channel, input channel]
  Value band() {
    const Expr channels = x_[1].affine(), size = view_.scalar("size"), before = floorDiv(size - 1, 2);
    const Value unit = form_.layout(form_.add(ops::kEye.text, {}, {{"extent", channels}}), {{channel_}, {filter_}},
                                    {{channel_}, {}, {filter_}});
    const Value mean = form_.add(ops::kAveragePool.text, {unit},
                                 {{"kernel_shape", std::vector<Expr>{size}},
                                  {"pads", std::vector<Expr>{before, size - 1 - before}},
                                  {"count_include_pad", Expr(1)}});
    const Value means = form_.layout(mean, {{channel_}, {}, {filter_}}, {{filter_}, {channel_}});
    return form_.add(ops::kMul.text, {means, form_.constant(view_.number("alpha"))});
  }

  std::optional<Program> quotient(Value scaled) {
    const Value bias = form_.constant(view_.number("bias"), {x_[1].affine(), 1, 1});
    const Value root = form_.add(ops::kSqrt.text, {form_.add(ops::kAdd.text, {scaled, bias})});
    const Value power = form_.add(ops::kMul.text, {root, form_.add(ops::kSqrt.text, {root})});
    auto program = std::move(form_).finish(form_.add(ops::kDiv.text, {input_, power}));
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

  const OpView view_;
  const Shape& x_;
  const LayoutAxis filter_{"f", x_[1]}, channel_{"c", x_[1]};
  ProgramWriter form_;
  Value input_;
};

}  // namespace

std::vector<Template> channelWindowTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1) return {};
  const Node& n = p.node(p.outputs()[0]);
  const bool isOfImages = n.is(ops::kLRN) && n.shapes[0].size() == 4 && p.node(n.operands[0]).is(ops::kInput);
  if (!isOfImages || n.attributes.find("beta")->second != Attribute(0.75)) return {};
  std::vector<Template> templates;
  auto add = [&](const char* name, std::optional<Program> program) {
    if (program) templates.push_back({name, "channel-window", {}, classOf(pattern, {}, *program), *program});
  };
  add("band-conv", ChannelWindow(p, n).byConv());
  add("band-matmul", ChannelWindow(p, n).byMatMul());
  return templates;
}

}  // namespace pet
