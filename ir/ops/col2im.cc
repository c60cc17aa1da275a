// Col2Im: the sum of overlapping blocks, what ConvTranspose does with the products.
//
//   y[n, c, h] = Σ_{r,i} x[n, (c r), (i)],  h = i·stride + r·dilation - pad

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

struct Col2ImView {
  const Shape& x;
  const std::vector<Expr>&image, &block, &strides, &dilations, &pads;
  size_t spatial;

  explicit Col2ImView(const OpView& v)
      : x(v.operands[0]),
        image(v.list("image_shape")),
        block(v.list("block_shape")),
        strides(v.list("strides")),
        dilations(v.list("dilations")),
        pads(v.list("pads")),
        spatial(image.size()) {}
  int64_t stride(size_t d) const { return strides.empty() ? 1 : *strides[d].asConstant(); }
  int64_t dilation(size_t d) const { return dilations.empty() ? 1 : *dilations[d].asConstant(); }
  Expr begin(size_t d) const { return pads.empty() ? Expr(0) : pads[d]; }
  Expr end(size_t d) const { return pads.empty() ? Expr(0) : pads[spatial + d]; }
  /// How many blocks lie along dimension d.
  Expr positions(size_t d) const {
    return floorDiv(image[d] + begin(d) + end(d) - (block[d] - 1) * dilation(d) - 1, stride(d)) + 1;
  }
  std::vector<Dim> allPositions() const {
    std::vector<Dim> all;
    for (size_t d = 0; d < spatial; ++d)
      all.emplace_back(positions(d));
    return all;
  }
};

Expected<std::vector<Shape>> inferCol2Im(const OpView& v) {
  Col2ImView c(v);
  if (c.x.size() != 3) return fail(ErrorKind::kText, "Col2Im needs a tensor of rank 3, got " + str(c.x));
  auto length = [&](const std::vector<Expr>& list, size_t n) { return list.empty() || list.size() == n; };
  bool fits = c.spatial > 0 && c.block.size() == c.spatial && length(c.strides, c.spatial) &&
              length(c.dilations, c.spatial) && length(c.pads, 2 * c.spatial);
  if (!fits) return fail(ErrorKind::kText, "Col2Im: attributes of different lengths");
  for (const auto* list : {&c.strides, &c.dilations}) {
    for (const Expr& e : *list) {
      if (e.asConstant().value_or(0) < 1) {
        return fail(ErrorKind::kText, "strides and dilations must be constants >= 1");
      }
    }
  }
  auto channels = withoutInner(c.x[1], c.block);
  if (!channels) {
    return fail(ErrorKind::kText, fmt::format("Col2Im: {} is not a product of channels and the block", c.x[1].str()));
  }
  Dim blocks = Dim::product(c.allPositions());
  if (blocks != c.x[2]) {
    return fail(ErrorKind::kText, fmt::format("Col2Im of {} where there are {} blocks", str(c.x), blocks.str()));
  }
  Shape out{c.x[0], *channels};
  out.insert(out.end(), c.image.begin(), c.image.end());
  return std::vector<Shape>{out};
}

std::vector<Constraint> col2ImObligations(const OpView& v) {
  Col2ImView c(v);
  std::vector<Constraint> result;
  for (const Expr& p : c.pads)
    result.push_back(Constraint::le(0, p));
  for (const Expr& k : c.block)
    result.push_back(Constraint::le(1, k));
  return result;
}

Expected<std::vector<AccessPiece>> accessCol2Im(const OpView& v, int, const Index& at, NameSource& names) {
  Col2ImView c(v);
  AccessPiece base;
  std::vector<Dim> channelAxes{*withoutInner(c.x[1], c.block)};
  Index channel{at[1]}, position;
  for (size_t d = 0; d < c.spatial; ++d) {
    Expr tap = freshDigits(c.block[d], "r", names, base)[0];
    channelAxes.emplace_back(c.block[d]);
    channel.push_back({tap});
    Expr source = at[2 + d][0] + c.begin(d) - tap * c.dilation(d);  // = i · stride
    if (c.stride(d) != 1) {
      std::string i = names.fresh("i");
      base.reduction.push_back(i);
      base.domain.push_back(Constraint::eq(Expr::variable(i) * c.stride(d), source));
      source = Expr::variable(i);
    }
    position.push_back({source});
    requireInRange({position.back()}, {c.positions(d)}, base.domain);
  }
  std::vector<DigitCase> reads{{{at[0]}, {}}};
  auto append = [](Index& read, const Index& joined) { read.push_back(joined[0]); };
  reads = combine(reads, joinDigits(channelAxes, channel), append);
  reads = combine(reads, joinDigits(c.allPositions(), position), append);
  std::vector<AccessPiece> pieces;
  for (DigitCase& r : reads) {
    AccessPiece piece = base;
    piece.domain.insert(piece.domain.end(), r.guards.begin(), r.guards.end());
    piece.reads = {{0, std::move(r.digits)}};
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// --- Rounding ---

int64_t blockTerms(const NodeExtents& n) {
  return error_rules::countFrom(n.concrete.list("block_shape"));
}

using A = OnnxAttribute;

const OpRow kCol2imRows[] = {
    {.name = "Col2Im",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"image_shape", AttributeKind::kList, ""},
                    {"block_shape", AttributeKind::kList, ""},
                    {"strides", AttributeKind::kList, "[]"},
                    {"dilations", AttributeKind::kList, "[]"},
                    {"pads", AttributeKind::kList, "[]"}},
     .infer = inferCol2Im,
     .obligations = col2ImObligations,
     .access = accessCol2Im,
     .kernels = ringKernels<kernels::Col2Im>(),
     .facts = {.zeroPreserving = true, .monotone = true, .homogeneous = true},
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = blockTerms},
     .onnx = {18,
              {{A::givenList("image_shape").operandSince(1, 1), A::givenList("block_shape").operandSince(1, 2),
                A::optionalList("strides").sparse(), A::optionalList("dilations").sparse(),
                A::optionalList("pads").sparse()}}}},
};

}  // namespace

std::span<const OpRow> col2imRows() {
  return kCol2imRows;
}

}  // namespace pet
