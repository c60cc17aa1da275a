// Resize that interpolates. (To the nearest neighbour it is a view, see plan/views.cc.)

#include "ir/ops/resize.h"
#include "runtime/onednn/lowerings.h"

namespace pet::onednn {
namespace {

/// Whether positions are where oneDNN has them: centres of equal cells, the factor being out / in.
bool isByHalfPixels(const ResizeLine& line, int64_t in, int64_t out) {
  ResizeLine theirs = resizeLine("half_pixel", in, out, out, in);
  return line.slope * theirs.divisor == theirs.slope * line.divisor &&
         line.offset * theirs.divisor == theirs.offset * line.divisor;
}

bool lowerInterpolation(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  Extents x = p.extents(node.operands[0]), y = p.extents({n, 0}), scales = p.list(n, "scales");
  if (node.text("mode") != "linear" || x.size() < 3 || x.size() > 5 || x[0] != y[0] || x[1] != y[1])
    throw NotLowered{"an interpolation that oneDNN does not have"};
  for (size_t d = 2; d < x.size(); ++d) {
    int64_t numerator = scales.empty() ? y[d] : scales[2 * d], denominator = scales.empty() ? x[d] : scales[2 * d + 1];
    ResizeLine line = resizeLine(node.text("coordinate_transformation_mode"), x[d], y[d], numerator, denominator);
    if (!isByHalfPixels(line, x[d], y[d])) throw NotLowered{"an interpolation at other positions than oneDNN's"};
  }
  Form from = channelsLastForm(x), to = channelsLastForm(y);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::resampling_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::resampling_linear, from.desc,
                                      to.desc);
  dnnl::resampling_forward::primitive_desc how(desc, attributes, p.engine());
  Place source = p.as(node.operands[0], from.access), result = p.create(to.access);
  auto step = p.primitive(dnnl::resampling_forward(how), how.scratchpad_desc());
  step->add(DNNL_ARG_SRC, from.desc, p.engine(), source.buffer, source.access.offset);
  step->add(DNNL_ARG_DST, to.desc, p.engine(), result.buffer, 0);
  p.emit(std::move(step));
  p.define({n, 0}, std::move(result));
  p.note(n, how.impl_info_str());
  return true;
}

constexpr LowerRow kResampleRows[] = {{"Resize", lowerInterpolation}};

}  // namespace

std::span<const LowerRow> resampleLowerings() {
  return kResampleRows;
}

}  // namespace pet::onednn
