// Resize that interpolates. (To the nearest neighbour it is a view, see plan/views.cc.)

#include "ir/ops/resize.h"
#include "runtime/onednn/interpolation.h"
#include "runtime/onednn/lowerings.h"

namespace pet::onednn {
namespace {

/// Whether positions are where oneDNN has them: centres of equal cells, the factor being out / in.
bool isByHalfPixels(const ResizeLine& line, int64_t in, int64_t out) {
  ResizeLine theirs = resizeLine("half_pixel", in, out, out, in);
  return line.slope * theirs.divisor == theirs.slope * line.divisor &&
         line.offset * theirs.divisor == theirs.offset * line.divisor;
}

/// Linear between such positions, of images and channels that are kept.
bool isOneDnns(const Planner& p, int n) {
  const Node& node = p.node(n);
  const Extents x = p.extents(node.operands[0]), y = p.extents({n, 0});
  if (node.text("mode") != "linear" || x.size() < 3 || x.size() > 5 || x[0] != y[0] || x[1] != y[1]) return false;
  for (size_t d = 2; d < x.size(); ++d) {
    if (!isByHalfPixels(resizeAxisOf(p, n, d).line, x[d], y[d])) return false;
  }
  return true;
}

/// From one place to another, whose dimensions lie in this order.
std::unique_ptr<KernelStep> interpolationStep(
    Planner& p, int n, const std::vector<size_t>& order, const Place& from, const Place& to) {
  std::vector<Interpolation::Axis> axes;
  for (const size_t d : order)
    axes.push_back({from.access.extents()[d], to.access.extents()[d], interpolationTaps(p, n, d)});
  const Interpolation interpolation(axes);
  const int threads = p.options().threads, scratch = p.createBuffer(threads * interpolation.scratch());
  return std::make_unique<KernelStep>(std::vector<int>{from.buffer, to.buffer, scratch},
                                      [interpolation, at = from.access.offset, threads](float* const* q) {
                                        interpolation.run(q[0] + at, q[1], q[2], threads);
                                      });
}

bool lowerByOneDnn(Planner& p, int n) {
  const Value operand = p.node(n).operands[0];
  Form from = channelsLastForm(p.extents(operand)), to = channelsLastForm(p.extents({n, 0}));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::resampling_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::resampling_linear, from.desc,
                                      to.desc);
  dnnl::resampling_forward::primitive_desc how(desc, attributes, p.engine());
  Place source = p.as(operand, from.access), result = p.create(to.access);
  auto step = p.primitive(dnnl::resampling_forward(how), how.scratchpad_desc());
  step->add(DNNL_ARG_SRC, from.desc, p.engine(), source.buffer, source.access.offset);
  step->add(DNNL_ARG_DST, to.desc, p.engine(), result.buffer, 0);
  p.emit(std::make_unique<AlignedStep>(std::move(step), interpolationStep(p, n, *orderOf(from.access), source, result),
                                       result.buffer));
  p.define({n, 0}, std::move(result));
  p.note(n, how.impl_info_str());
  return true;
}

/// Channels innermost, unless they are few and the operand has them elsewhere.
Access formFor(Planner& p, Value x) {
  constexpr int64_t kFewChannels = 8;
  const Access& there = p.place(x).access;
  const Extents extents = there.extents();
  const bool hasChannels = extents.size() > 2 && extents.size() <= 5 && extents[1] >= kFewChannels;
  if (hasChannels) return channelsLast(extents);
  return orderOf(there) ? there : rowMajor(extents);
}

bool lowerInterpolation(Planner& p, int n, const Epilogue&) {
  if (isOneDnns(p, n)) return lowerByOneDnn(p, n);
  const Value operand = p.node(n).operands[0];
  const Access form = formFor(p, operand);
  const std::vector<size_t> order = *orderOf(form);
  const Place source = p.as(operand, form);
  Place result = p.create(inOrder(p.extents({n, 0}), order));
  p.emit(interpolationStep(p, n, order, source, result));
  p.define({n, 0}, std::move(result));
  p.note(n, "a kernel of our own: row by row");
  return true;
}

constexpr LowerRow kResampleRows[] = {{"Resize", lowerInterpolation}};

}  // namespace

std::span<const LowerRow> resampleLowerings() {
  return kResampleRows;
}

}  // namespace pet::onednn
