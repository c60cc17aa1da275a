// Resize (nearest, linear).
//
// `sizes` are the output's extents, `scales` the factors as fractions: numerator and denominator per dimension. With
// sizes alone the factors are out / in; with scales alone the extents are floor(in · factor); with both, each stands
// for itself.

#include "ir/ops/resize.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {

ResizeLine resizeLine(std::string_view mode, int64_t in, int64_t out, int64_t numerator, int64_t denominator) {
  if (mode == "align_corners") return out == 1 ? ResizeLine{0, 0, 1} : ResizeLine{in - 1, 0, out - 1};
  if (mode == "asymmetric") return {denominator, 0, numerator};
  if (mode == "pytorch_half_pixel" && out == 1) return {0, 0, 1};
  // half_pixel: (x + 1/2) / scale - 1/2
  return {2 * denominator, denominator - numerator, 2 * numerator};
}

namespace {

constexpr std::string_view kModes[] = {"nearest", "linear"};
constexpr std::string_view kCoordinates[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

Expected<void> checkWord(const OpView& v, std::string_view name, std::span<const std::string_view> words) {
  if (std::find(words.begin(), words.end(), v.text(name)) != words.end()) return {};
  return fail(ErrorKind::kUnsupported, fmt::format("Resize: unknown {} '{}'", name, v.text(name)));
}

Expected<void> checkResize(const OpView& v) {
  if (auto ok = checkWord(v, "mode", kModes); !ok) return ok;
  if (auto ok = checkWord(v, "coordinate_transformation_mode", kCoordinates); !ok) return ok;
  if (auto ok = checkWord(v, "nearest_mode", kNearest); !ok) return ok;
  const auto &sizes = v.list("sizes"), &scales = v.list("scales");
  size_t rank = v.operands[0].size();
  if ((sizes.empty() && scales.empty()) || (!sizes.empty() && sizes.size() != rank) ||
      (!scales.empty() && scales.size() != 2 * rank)) {
    return fail(ErrorKind::kText, fmt::format("Resize of {} needs {} sizes or {} numbers of scales, got {} and {}",
                                              str(v.operands[0]), rank, 2 * rank, sizes.size(), scales.size()));
  }
  for (const Expr& e : scales) {
    if (e.asConstant().value_or(0) < 1) return fail(ErrorKind::kText, "Resize: scales must be constants >= 1");
  }
  return {};
}

Expected<std::vector<Shape>> inferResize(const OpView& v) {
  if (auto ok = checkResize(v); !ok) return tl::unexpected(ok.error());
  const Shape& x = v.operands[0];
  const auto &sizes = v.list("sizes"), &scales = v.list("scales");
  Shape out;
  for (size_t d = 0; d < x.size(); ++d) {
    bool keeps = sizes.empty() && scales[2 * d] == scales[2 * d + 1];
    if (!keeps && !x[d].isAffine()) {
      return fail(ErrorKind::kUnsupported, "Resize of the product dimension " + x[d].str());
    }
    if (keeps) {
      out.push_back(x[d]);
    } else if (!sizes.empty()) {
      out.emplace_back(sizes[d]);
    } else {
      out.emplace_back(floorDiv(x[d].affine() * scales[2 * d].constant(), scales[2 * d + 1].constant()));
    }
  }
  return std::vector<Shape>{out};
}

std::vector<Constraint> resizeObligations(const OpView& v) {
  std::vector<Constraint> result;
  for (size_t d = 0; d < v.outputs[0].size(); ++d) {
    if (v.outputs[0][d].isAffine()) result.push_back(Constraint::le(1, v.outputs[0][d].affine()));
    if (v.operands[0][d].isAffine()) result.push_back(Constraint::le(1, v.operands[0][d].affine()));
  }
  return result;
}

/// The line along dimension d, where it is the same for all shapes.
std::optional<ResizeLine> lineOf(const OpView& v, size_t d) {
  const Dim &in = v.operands[0][d], &out = v.outputs[0][d];
  const auto& scales = v.list("scales");
  if (in == out && (scales.empty() || scales[2 * d] == scales[2 * d + 1])) return ResizeLine{};
  const std::string& mode = v.text("coordinate_transformation_mode");
  auto inExtent = in.asConstant(), outExtent = out.asConstant();
  bool needsExtents = mode == "align_corners" || mode == "pytorch_half_pixel";
  if (needsExtents && !(inExtent && outExtent)) return std::nullopt;
  int64_t numerator = 0, denominator = 0;
  if (!scales.empty()) {
    numerator = scales[2 * d].constant();
    denominator = scales[2 * d + 1].constant();
  } else {  // out / in, if that is a number
    numerator = out.affine().isConstant() ? out.affine().constant() : out.affine().content();
    denominator = in.affine().isConstant() ? in.affine().constant() : in.affine().content();
    if (numerator < 1 || denominator < 1 || in.affine() * numerator != out.affine() * denominator) return std::nullopt;
  }
  return resizeLine(mode, inExtent.value_or(0), outExtent.value_or(0), numerator, denominator);
}

/// in[nearest(x)], clamped: by cases, of which those that cannot occur are left out.
std::vector<DigitCase> nearestCases(
    const ResizeLine& line, std::string_view nearestMode, const Expr& in, const Expr& out, const Expr& x) {
  auto at = [&](const Expr& position) { return nearestOf<Expr>(line, nearestMode, position, floorDiv); };
  Expr nearest = at(x), last = in - 1;
  bool below = at(0).constant() < 0, above = (last - at(out - 1)).asConstant().value_or(-1) < 0;
  std::vector<DigitCase> cases{{{{nearest}}, {}}};
  if (below) {
    cases[0].guards.push_back(Constraint::le(0, nearest));
    cases.push_back({{{Expr(0)}}, {Constraint::lt(nearest, 0)}});
  }
  if (above) {
    cases[0].guards.push_back(Constraint::le(nearest, last));
    cases.push_back({{{last}}, {Constraint::lt(last, nearest)}});
  }
  return cases;
}

Expected<std::vector<AccessPiece>> accessResize(const OpView& v, int, const Index& at, NameSource&) {
  if (v.text("mode") != "nearest") return fail(ErrorKind::kUnsupported, "Resize in mode linear");
  std::vector<DigitCase> reads{{{}, {}}};
  for (size_t d = 0; d < at.size(); ++d) {
    auto line = lineOf(v, d);
    if (!line) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("Resize of {} to {} by a symbolic factor", str(v.operands[0]), str(v.outputs[0])));
    }
    std::vector<DigitCase> places{{{at[d]}, {}}};
    if (!line->isIdentity()) {
      places =
          nearestCases(*line, v.text("nearest_mode"), v.operands[0][d].affine(), v.outputs[0][d].affine(), at[d][0]);
    }
    reads = combine(reads, places, [](Index& read, const Index& place) { read.push_back(place[0]); });
  }
  return readsOf(std::move(reads));
}

const OpRow kRows[] = {
    {.name = "Resize",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"mode", AttributeKind::kText, "nearest"},
                    {"sizes", AttributeKind::kList, "[]"},
                    {"scales", AttributeKind::kList, "[]"},
                    {"coordinate_transformation_mode", AttributeKind::kText, "half_pixel"},
                    {"nearest_mode", AttributeKind::kText, "round_prefer_floor"}},
     .infer = inferResize,
     .obligations = resizeObligations,
     .access = accessResize,
     .kernels = ringKernels<kernels::Resize>(),
     .facts = {.zeroPreserving = true, .monotone = true, .homogeneous = true}},
};

}  // namespace

std::span<const OpRow> resizeRows() {
  return kRows;
}

}  // namespace pet
