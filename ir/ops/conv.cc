// Conv and ConvTranspose in any number of spatial dimensions.
//
//   Conv           y[n, (g f), h] = Σ_{c,r} x[n, (g c), h·stride + r·dilation - pad] · w[(g f), c, r]
//   ConvTranspose  y[n, (g f), h] = Σ_{c,r,i} x[n, (g c), i] · w[(g c), f, r],  h = i·stride + r·dilation - pad

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

/// The attributes and extents of either operator, read once.
struct ConvView {
  size_t spatial;  ///< number of spatial dimensions
  const Shape &x, &w;
  const std::vector<Expr>&strides, &dilations, &pads;
  const Expr& group;

  explicit ConvView(const OpView& v)
      : spatial(v.operands[0].size() - 2),
        x(v.operands[0]),
        w(v.operands[1]),
        strides(v.list("strides")),
        dilations(v.list("dilations")),
        pads(v.list("pads")),
        group(v.scalar("group")) {}

  const Dim& in(size_t d) const { return x[2 + d]; }
  const Expr& kernel(size_t d) const { return w[2 + d].affine(); }
  int64_t stride(size_t d) const { return *strides[d].asConstant(); }
  int64_t dilation(size_t d) const { return *dilations[d].asConstant(); }
  const Expr& begin(size_t d) const { return pads[d]; }
  const Expr& end(size_t d) const { return pads[spatial + d]; }
  Expr reach(size_t d) const { return (kernel(d) - 1) * dilation(d); }
};

Expected<void> checkCommon(const OpView& v, std::string_view op) {
  const Shape &x = v.operands[0], &w = v.operands[1];
  if (x.size() < 3 || x.size() != w.size()) {
    return fail(ErrorKind::kText,
                fmt::format("{} needs operands of equal rank >= 3, got {} and {}", op, str(x), str(w)));
  }
  size_t n = x.size() - 2;
  for (auto [name, count] : {std::pair{"strides", n}, {"dilations", n}, {"pads", 2 * n}}) {
    const auto& list = v.list(name);
    if (list.size() != count) return fail(ErrorKind::kText, fmt::format("{} needs {} {}", op, count, name));
    for (const Expr& e : list) {
      if (std::string_view(name) != "pads" && e.asConstant().value_or(0) < 1) {
        return fail(ErrorKind::kText, fmt::format("{} must be constants >= 1", name));
      }
    }
  }
  for (size_t d = 0; d < n; ++d) {
    if (!w[2 + d].isAffine()) return fail(ErrorKind::kText, "kernel extents must be affine", "", str(w));
  }
  return {};
}

Expected<std::vector<Shape>> inferConv(const OpView& v) {
  if (auto ok = checkCommon(v, "Conv"); !ok) return tl::unexpected(ok.error());
  ConvView c(v);
  if (Dim::product({c.group, c.w[1]}) != c.x[1] || !divideByOuter(c.w[0], c.group)) {
    return fail(ErrorKind::kText, fmt::format("Conv of {} with {} in {} groups: channels do not agree", str(c.x),
                                              str(c.w), c.group.str()));
  }
  Shape out{c.x[0], c.w[0]};
  for (size_t d = 0; d < c.spatial; ++d) {
    Expr padding = c.begin(d) + c.end(d) - c.reach(d);
    if (c.in(d).isAffine()) {
      out.push_back(floorDiv(c.in(d).affine() + padding - 1, c.stride(d)) + 1);
    } else if (c.stride(d) == 1 && padding == Expr(0)) {
      out.push_back(c.in(d));
    } else {
      return fail(
          ErrorKind::kUnsupported,
          fmt::format("Conv over the product dimension {} needs stride 1 and pads that keep its extent, off by {}",
                      c.in(d).str(), padding.str()));
    }
  }
  return std::vector<Shape>{out};
}

std::vector<Constraint> convObligations(const OpView& v) {
  ConvView c(v);
  std::vector<Constraint> result;
  for (const Expr& p : c.pads)
    result.push_back(Constraint::le(0, p));
  for (size_t d = 0; d < c.spatial; ++d) {
    result.push_back(Constraint::le(1, c.kernel(d)));
    if (c.in(d).isAffine()) continue;
    // Every tap moves the inner digit by less than its extent in either direction: the carry is in {-1, 0, 1}.
    const Expr& inner = c.in(d).atoms().back();
    result.push_back(Constraint::le(c.begin(d), inner));
    result.push_back(Constraint::le(c.reach(d) - c.begin(d), inner));
  }
  return result;
}

/// The positions digit + shift may denote in a dimension, |shift| <= its innermost atom: the digit carries into the
/// next one.
std::vector<DigitCase> shifted(const Dim& dim, const std::vector<Expr>& digits, const Expr& shift) {
  std::vector<DigitCase> cases;
  if (dim.isAffine()) {
    cases.push_back({{{digits[0] + shift}}, {}});
    return cases;
  }
  size_t n = digits.size();
  for (int64_t carry : {-1, 0, 1}) {
    std::vector<Expr> moved = digits;
    moved[n - 1] = digits[n - 1] + shift - dim.atoms()[n - 1] * carry;
    moved[n - 2] = digits[n - 2] + carry;
    cases.push_back({{moved}, {}});
  }
  return cases;
}

constexpr std::string_view kKernelStem[] = {"r", "s", "q"};

Expected<std::vector<AccessPiece>> accessConv(const OpView& v, int, const Index& at, NameSource& names) {
  ConvView c(v);
  for (size_t d = 0; d < c.spatial; ++d) {
    if (c.in(d).atoms().size() > 2) {
      return fail(ErrorKind::kUnsupported, "carry over more than two digits in " + c.in(d).str());
    }
  }
  Dim perGroup = *divideByOuter(c.w[0], c.group);
  std::vector<Dim> outAxes{c.group, perGroup}, inAxes{c.group, c.w[1]};
  AccessPiece base;
  auto channel = freshDigits(c.w[1], "c", names, base);
  std::vector<Expr> taps;
  for (size_t d = 0; d < c.spatial; ++d)
    taps.push_back(freshDigits(c.w[2 + d], kKernelStem[d], names, base)[0]);

  std::vector<AccessPiece> pieces;
  for (const DigitCase& group : splitDigits(outAxes, at[1])) {
    for (const DigitCase& in : joinDigits(inAxes, {group.digits[0], channel})) {
      std::vector<DigitCase> positions{{{at[0], in.digits[0]}, {}}};
      for (size_t d = 0; d < c.spatial; ++d) {
        std::vector<Expr> scaled = at[2 + d];
        if (c.in(d).isAffine()) scaled[0] = scaled[0] * c.stride(d);
        std::vector<DigitCase> next;
        for (const DigitCase& p : positions) {
          for (const DigitCase& s : shifted(c.in(d), scaled, taps[d] * c.dilation(d) - c.begin(d))) {
            next.push_back(p);
            next.back().digits.push_back(s.digits[0]);
          }
        }
        positions = std::move(next);
      }
      Index weight{at[1], channel};
      for (const Expr& t : taps)
        weight.push_back({t});
      for (const DigitCase& p : positions) {
        AccessPiece piece = base;
        piece.domain.insert(piece.domain.end(), group.guards.begin(), group.guards.end());
        piece.domain.insert(piece.domain.end(), in.guards.begin(), in.guards.end());
        for (size_t d = 0; d < c.spatial; ++d) {
          requireInRange({p.digits[2 + d]}, {c.in(d)}, piece.domain);
        }
        piece.reads = {{0, p.digits}, {1, weight}};
        pieces.push_back(std::move(piece));
      }
    }
  }
  return pieces;
}

Expected<std::vector<Shape>> inferConvTranspose(const OpView& v) {
  if (auto ok = checkCommon(v, "ConvTranspose"); !ok) return tl::unexpected(ok.error());
  ConvView c(v);
  const auto& outputPadding = v.list("output_padding");
  if (outputPadding.size() != c.spatial)
    return fail(ErrorKind::kText, "ConvTranspose: one output_padding per dimension");
  if (c.w[0] != c.x[1] || !divideByOuter(c.x[1], c.group)) {
    return fail(ErrorKind::kText, fmt::format("ConvTranspose of {} with {} in {} groups: channels do not agree",
                                              str(c.x), str(c.w), c.group.str()));
  }
  Shape out{c.x[0], Dim::product({c.group, c.w[1]})};
  for (size_t d = 0; d < c.spatial; ++d) {
    if (!c.in(d).isAffine()) return fail(ErrorKind::kUnsupported, "ConvTranspose over " + c.in(d).str());
    out.push_back((c.in(d).affine() - 1) * c.stride(d) + outputPadding[d] + c.reach(d) + 1 - c.begin(d) - c.end(d));
  }
  return std::vector<Shape>{out};
}

std::vector<Constraint> convTransposeObligations(const OpView& v) {
  ConvView c(v);
  std::vector<Constraint> result;
  for (const Expr& p : c.pads)
    result.push_back(Constraint::le(0, p));
  for (size_t d = 0; d < c.spatial; ++d) {
    result.push_back(Constraint::le(1, c.kernel(d)));
    // ONNX: output_padding smaller than stride or dilation.
    const Expr& extra = v.list("output_padding")[d];
    result.push_back(Constraint::le(0, extra));
    result.push_back(Constraint::lt(extra, std::max(c.stride(d), c.dilation(d))));
  }
  return result;
}

Expected<std::vector<AccessPiece>> accessConvTranspose(const OpView& v, int, const Index& at, NameSource& names) {
  ConvView c(v);
  std::vector<Dim> outAxes{c.group, c.w[1]}, inAxes{c.group, *divideByOuter(c.x[1], c.group)};
  AccessPiece base;
  auto channel = freshDigits(inAxes[1], "c", names, base);
  std::vector<Expr> taps, positions;
  for (size_t d = 0; d < c.spatial; ++d) {
    taps.push_back(freshDigits(c.w[2 + d], kKernelStem[d], names, base)[0]);
    Expr source = at[2 + d][0] + c.begin(d) - taps[d] * c.dilation(d);  // = i · stride
    if (c.stride(d) == 1) {
      positions.push_back(source);
    } else {
      std::string i = names.fresh("i");
      base.reduction.push_back(i);
      positions.push_back(Expr::variable(i));
      base.domain.push_back(Constraint::eq(positions[d] * c.stride(d), source));
    }
    requireInRange({{positions[d]}}, {c.in(d)}, base.domain);
  }
  std::vector<AccessPiece> pieces;
  for (const DigitCase& group : splitDigits(outAxes, at[1])) {
    for (const DigitCase& in : joinDigits(inAxes, {group.digits[0], channel})) {
      AccessPiece piece = base;
      piece.domain.insert(piece.domain.end(), group.guards.begin(), group.guards.end());
      piece.domain.insert(piece.domain.end(), in.guards.begin(), in.guards.end());
      Index x{at[0], in.digits[0]}, w{in.digits[0], group.digits[1]};
      for (size_t d = 0; d < c.spatial; ++d) {
        x.push_back({positions[d]});
        w.push_back({taps[d]});
      }
      piece.reads = {{0, x}, {1, w}};
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

// --- Rounding ---

/// C/g · R · S.
int64_t convTerms(const NodeExtents& n) {
  return error_rules::countFrom(n.operands[1], 1);
}

/// C/g · Π taps that meet one output position: i·stride + r·dilation is the same for every stride / gcd(stride,
/// dilation)-th r.
int64_t convTransposeTerms(const NodeExtents& n) {
  const Extents& w = n.operands[1];
  Extents strides = n.concrete.list("strides"), dilations = n.concrete.list("dilations");
  int64_t terms = w[0] / n.concrete.scalar("group");
  for (size_t d = 0; d < strides.size(); ++d) {
    int64_t period = strides[d] / std::gcd(strides[d], dilations[d]);
    terms = checkedMul(terms, (w[2 + d] + period - 1) / period);
  }
  return terms;
}

using A = OnnxAttribute;

const OpRow kConvRows[] = {
    {.name = "Conv",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {{"strides", AttributeKind::kList, "spatial 1"},
                    {"dilations", AttributeKind::kList, "spatial 1"},
                    {"pads", AttributeKind::kList, "2spatial 0"},
                    {"group", AttributeKind::kScalar, "1"},
                    {"auto_pad", AttributeKind::kText, "NOTSET"}},
     .infer = inferConv,
     .obligations = convObligations,
     .access = accessConv,
     .kernels = ringKernels<kernels::Conv>(),
     .work = Work::kFilters,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = convTerms},
     .onnx = {1,
              {{A::list("strides", {1}), A::list("dilations", {1}), A::list("pads", {0, 2}), A::integer("group", 1)}}}},
    {.name = "ConvTranspose",
     .minOperands = 2,
     .maxOperands = 2,
     .attributes = {{"strides", AttributeKind::kList, "spatial 1"},
                    {"dilations", AttributeKind::kList, "spatial 1"},
                    {"pads", AttributeKind::kList, "2spatial 0"},
                    {"output_padding", AttributeKind::kList, "spatial 0"},
                    {"group", AttributeKind::kScalar, "1"},
                    {"auto_pad", AttributeKind::kText, "NOTSET"},
                    {"output_shape", AttributeKind::kList, "[]"}},
     .infer = inferConvTranspose,
     .obligations = convTransposeObligations,
     .access = accessConvTranspose,
     .kernels = ringKernels<kernels::ConvTranspose>(),
     .work = Work::kTransposed,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = convTransposeTerms},
     .onnx = {1,
              {{A::list("strides", {1}), A::list("dilations", {1}), A::list("pads", {0, 2}), A::integer("group", 1),
                A::list("output_padding", {0})}}}},
};

}  // namespace

std::span<const OpRow> convRows() {
  return kConvRows;
}

}  // namespace pet
