#include "synth/analysis/along_axes.h"

#include <algorithm>

#include "ir/ops/op.h"
#include "ir/ops/resize.h"

namespace pet {
namespace {

bool isReduction(const Node& n) {
  return n.is(ops::kReduceMean) || n.is(ops::kReduceSum) || n.is(ops::kReduceMax);
}

bool isAlongOneAxis(const Node& n) {
  return n.is(ops::kSoftmax) || n.is(ops::kLogSoftmax) || n.is(ops::kCumSum) || n.is(ops::kDFT);
}

bool isGlobal(const Node& n) {
  return n.is(ops::kGlobalAveragePool) || n.is(ops::kGlobalMaxPool);
}

bool isWindowed(const Node& n) {
  return n.is(ops::kAveragePool) || n.is(ops::kMaxPool);
}

OpView viewOf(const Node& n, const Shape& in) {
  return {n.attributes, {&in, 1}, n.shapes};
}

bool isPooled(const Node& n, size_t spatial) {
  const auto& pads = n.list("pads");
  return n.list("kernel_shape")[spatial] != 1 || n.list("strides")[spatial] != 1 || pads[spatial] != 0 ||
         pads[spatial + pads.size() / 2] != 0;
}

/// What a product of constants is of.
void collectFactors(const Program& program, Value v, std::vector<Value>& factors) {
  if (!program.node(v).is(ops::kMul)) {
    factors.push_back(v);
    return;
  }
  for (Value operand : program.node(v).operands)
    collectFactors(program, operand, factors);
}

std::vector<size_t> axesOf(const Node& n, const Shape& in) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < in.size(); ++d) {
    bool acts = false;
    if (n.is(ops::kResize)) {
      acts = !keeps(viewOf(n, in), d);
    } else if (isWindowed(n)) {
      acts = d >= 2 && isPooled(n, d - 2);
    } else if (isGlobal(n) || n.is(ops::kConvTranspose)) {
      acts = d >= 2;
    } else if (isAlongOneAxis(n)) {
      acts = n.scalar("axis") == static_cast<int64_t>(d);
    } else if (isReduction(n)) {
      const auto& own = n.list("axes");
      acts = own.empty() || std::find(own.begin(), own.end(), Expr(static_cast<int64_t>(d))) != own.end();
    }
    if (acts) axes.push_back(d);
  }
  return axes;
}

}  // namespace

std::optional<AlongAxes> AlongAxes::of(const Program& program, const Node& node) {
  const bool isFilter = node.is(ops::kConvTranspose) && node.list("output_shape").empty();
  if ((node.operands.size() != 1 && !isFilter) || isConstant(program, node.operands[0])) return std::nullopt;
  // Coordinates by scales, extents by sizes: no operator along one axis says both.
  if (node.is(ops::kResize) && !node.list("sizes").empty() && !node.list("scales").empty()) return std::nullopt;
  AlongAxes along(program, node);
  if (isFilter && !along.separateKernels(program)) return std::nullopt;
  return along.axes_.empty() ? std::nullopt : std::optional(std::move(along));
}

AlongAxes::AlongAxes(const Program& program, const Node& node)
    : node_(node), in_(program.shape(node.operands[0])), op_(node.op->name), axes_(axesOf(node, in_)) {
  if (isGlobal(node)) op_ = node.is(ops::kGlobalAveragePool) ? ops::kReduceMean.text : ops::kReduceMax.text;
  if (!isReduction(node) || node.scalar("keepdims") != 0) return;
  for (size_t d : axes_)
    dropped_.emplace_back(static_cast<int64_t>(d));
}

/// False: the weights are no product of a kernel for each axis and of what concerns channels.
bool AlongAxes::separateKernels(const Program& program) {
  const Value weights = node_.operands[1];
  const size_t rank = program.shape(weights).size();
  std::vector<Value> factors;
  collectFactors(program, weights, factors);
  for (Value f : factors) {
    const Shape& shape = program.shape(f);
    std::vector<size_t> dims;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != Dim(1)) dims.push_back(rank - shape.size() + d);
    }
    if (std::all_of(dims.begin(), dims.end(), [](size_t d) { return d < 2; })) {
      ofChannels_.push_back(f);
    } else if (dims.size() > 1 || !kernels_.emplace(dims[0], f).second) {
      return false;
    }
  }
  return kernels_.size() == axes_.size();
}

bool AlongAxes::isLinear() const {
  return node_.is(ops::kResize) || node_.is(ops::kAveragePool) || node_.is(ops::kDFT) || op_ == ops::kReduceMean.text ||
         op_ == ops::kReduceSum.text || node_.is(ops::kCumSum) || isFilter();
}

bool AlongAxes::isPool() const {
  return isWindowed(node_);
}

bool AlongAxes::isOfImages() const {
  return node_.is(ops::kResize);
}

bool AlongAxes::isOfParts() const {
  return node_.is(ops::kDFT);
}

std::optional<Attributes> AlongAxes::attributes(size_t first, size_t last, const Shape& operand, size_t at) const {
  if (node_.is(ops::kResize)) return resized(first, last, operand, at);
  if (isWindowed(node_) || isFilter()) return windowed(first, last, operand, at);
  if (isAlongOneAxis(node_)) {
    Attributes attributes = node_.attributes;
    attributes.insert_or_assign("axis", Expr(static_cast<int64_t>(at)));
    return attributes;
  }
  std::vector<Expr> axes;
  for (size_t i = 0; i <= last - first; ++i)
    axes.emplace_back(static_cast<int64_t>(at + i));
  return Attributes{{"axes", std::move(axes)}, {"keepdims", Expr(1)}};
}

std::optional<Attributes> AlongAxes::resized(size_t first, size_t last, const Shape& operand, size_t at) const {
  Attributes attributes = node_.attributes;
  std::vector<Expr> scales(2 * operand.size(), 1), sizes;
  for (size_t d = first; d <= last; ++d) {
    const auto [numerator, denominator] = scaleOf(viewOf(node_, in_), d);
    if (!numerator.asConstant() || !denominator.asConstant()) {
      scales.clear();
      break;
    }
    scales[2 * (at + d - first)] = numerator;
    scales[2 * (at + d - first) + 1] = denominator;
  }
  if (scales.empty()) {
    for (const Dim& d : operand) {
      if (!d.isAffine()) return std::nullopt;
      sizes.push_back(d.affine());
    }
    for (size_t d = first; d <= last; ++d)
      sizes[at + d - first] = node_.shapes[0][d].affine();
  }
  attributes["scales"] = std::move(scales);
  attributes["sizes"] = std::move(sizes);
  return attributes;
}

Attributes AlongAxes::windowed(size_t first, size_t last, const Shape& operand, size_t at) const {
  Attributes attributes = node_.attributes;
  const size_t spatial = operand.size() - 2;
  for (const auto& [name, neutral] :
       {std::pair("kernel_shape", 1), {"strides", 1}, {"dilations", 1}, {"pads", 0}, {"output_padding", 0}}) {
    if (!attributes.contains(name)) continue;
    const std::vector<Expr>& all = node_.list(name);
    std::vector<Expr> own(std::string_view(name) == "pads" ? 2 * spatial : spatial, neutral);
    for (size_t side = 0; side * spatial < own.size(); ++side) {
      for (size_t d = first; d <= last; ++d)
        own[side * spatial + at - 2 + d - first] = all[side * (in_.size() - 2) + d - 2];
    }
    attributes[name] = std::move(own);
  }
  return attributes;
}

bool isElementwise(const Node& node) {
  return node.op->meaning == Meaning::kFunction || node.op->facts.elementwise || node.is(ops::kAdd) ||
         node.is(ops::kSub) || node.is(ops::kMul) || node.is(ops::kDiv);
}

}  // namespace pet
