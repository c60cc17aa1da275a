#include "ir/ops/pads.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet {
namespace {

using List = std::vector<Expr>;

const List& listOf(const Attributes& attributes, std::string_view name) {
  return std::get<List>(attributes.find(name)->second);
}

/// Extents of the kernel: an attribute, or those of the second operand.
List kernelOf(std::span<const Shape> operands, const Attributes& attributes) {
  if (attributes.contains("kernel_shape")) return listOf(attributes, "kernel_shape");
  List kernel;
  for (size_t d = 2; operands.size() > 1 && d < operands[1].size(); ++d) {
    if (operands[1][d].isAffine()) kernel.push_back(operands[1][d].affine());
  }
  return kernel;
}

/// What every rule needs along one dimension.
struct Along {
  const Dim& in;
  Expr reach;  ///< (kernel - 1) · dilation
  int64_t stride;
};

/// Pads in all for ceil(in / stride) windows (SAME). At least 0, which a row obliges symbolic pads to be.
Expr forward(const Along& a) {
  if (a.stride == 1) return a.reach;
  Expr total = (ceilDiv(a.in.affine(), a.stride) - 1) * a.stride + a.reach + 1 - a.in.affine();
  return total.asConstant().value_or(0) < 0 ? Expr(0) : total;
}

/// Pads in all for `out` positions of a ConvTranspose.
Expr transposed(const Along& a, const Expr& outputPadding, const Expr& out) {
  return (a.in.affine() - 1) * a.stride + outputPadding + a.reach + 1 - out;
}

}  // namespace

Expected<void> resolvePads(std::span<const Shape> operands, Attributes& attributes) {
  auto mode = attributes.find("auto_pad"), shape = attributes.find("output_shape");
  if (mode == attributes.end()) return {};
  auto& word = std::get<std::string>(mode->second);
  List out = shape == attributes.end() ? List{} : std::get<List>(shape->second);
  if (word == "NOTSET" && out.empty()) return {};
  if (word != "NOTSET" && word != "SAME_UPPER" && word != "SAME_LOWER" && word != "VALID") {
    return fail(ErrorKind::kText, "unknown auto_pad " + word);
  }
  const List &strides = listOf(attributes, "strides"), &dilations = listOf(attributes, "dilations");
  List kernel = kernelOf(operands, attributes), pads = listOf(attributes, "pads");
  if (std::any_of(pads.begin(), pads.end(), [](const Expr& p) { return p != Expr(0); })) {
    return fail(ErrorKind::kText, "pads next to auto_pad or output_shape");
  }
  size_t spatial = operands.empty() || operands[0].size() < 2 ? 0 : operands[0].size() - 2;
  if (!out.empty() && out.size() != spatial) {
    return fail(ErrorKind::kText, fmt::format("output_shape needs {} extents, got {}", spatial, out.size()));
  }
  bool fits = kernel.size() == spatial && strides.size() == spatial && dilations.size() == spatial;
  for (size_t d = 0; fits && d < spatial && (word != "VALID" || !out.empty()); ++d) {
    const Dim& in = operands[0][2 + d];
    auto stride = strides[d].asConstant(), dilation = dilations[d].asConstant();
    bool isTransposed = shape != attributes.end();
    if (!stride || *stride < 1 || !dilation || (!in.isAffine() && (isTransposed || *stride != 1))) break;
    Along along{in, (kernel[d] - 1) * *dilation, *stride};
    Expr total = !isTransposed ? forward(along)
                               : transposed(along, listOf(attributes, "output_padding")[d],
                                            out.empty() ? in.affine() * *stride : out[d]);
    // The odd one is at the end in SAME_UPPER, at the beginning in SAME_LOWER and for an output_shape.
    Expr half = floorDiv(total, 2);
    pads[d] = word == "SAME_UPPER" ? half : total - half;
    pads[spatial + d] = total - pads[d];
  }
  attributes.find("pads")->second = pads;
  word = "NOTSET";
  if (shape != attributes.end()) shape->second = List{};
  return {};
}

}  // namespace pet
