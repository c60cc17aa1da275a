// Resize (nearest, linear, cubic).
//
// `sizes` are the output's extents, `scales` the factors as fractions: numerator and denominator per dimension. With
// sizes alone the factors are out / in; with scales alone the extents are floor(in · factor); with both, each stands
// for itself. Positions outside the input read its edge (ONNX: exclude_outside = 0).

#include "ir/ops/resize.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {

ResizeLine resizeLine(std::string_view mode, int64_t in, int64_t out, int64_t numerator, int64_t denominator) {
  if (mode == "align_corners") return out == 1 ? ResizeLine{0, 0, 1} : ResizeLine{in - 1, 0, out - 1};
  if (mode == "asymmetric") return {denominator, 0, numerator};
  if (mode == "pytorch_half_pixel" && out == 1) return {0, 0, 1};
  // half_pixel: (x + 1/2) / scale - 1/2. half_pixel_symmetric: centres fall together where out is not in · scale.
  int64_t centring = mode == "half_pixel_symmetric" ? in * numerator - out * denominator : 0;
  return {2 * denominator, centring + denominator - numerator, 2 * numerator};
}

namespace {

/// The weight of a point at distance s / q from the position, s >= 0 (Keys' kernel with coefficient a): up to 1, and up
/// to 2.
Rational cubicWeight(Rational a, int64_t s, int64_t q) {
  int64_t n = a.numerator, d = a.denominator;
  int64_t s2 = checkedMul(s, s), q2 = checkedMul(q, q), s3 = checkedMul(s2, s), q3 = checkedMul(q2, q);
  auto term = [](int64_t by, int64_t x, int64_t y) { return checkedMul(by, checkedMul(x, y)); };
  int64_t near = checkedAdd(checkedAdd(term(n + 2 * d, s3, 1), -term(n + 3 * d, s2, q)), term(d, q3, 1));
  int64_t far =
      checkedAdd(checkedAdd(term(n, s3, 1), -term(5 * n, s2, q)), checkedAdd(term(8 * n, s, q2), -term(4 * n, q3, 1)));
  return Rational{s <= q ? near : far, 1} * Rational{1, checkedMul(d, q3)};
}

int64_t floorOf(const int64_t& a, int64_t divisor) {
  return floorDivide(a, divisor);
}

}  // namespace

std::vector<ResizeTap> resizeTaps(const ResizeAxis& axis, int64_t x) {
  std::vector<ResizeTap> taps;
  auto add = [&](int64_t position, Rational weight) {
    position = std::clamp<int64_t>(position, 0, axis.extent - 1);
    auto known = std::find_if(taps.begin(), taps.end(), [&](const ResizeTap& t) { return t.position == position; });
    if (known == taps.end()) {
      taps.push_back({position, weight});
    } else {
      known->weight = known->weight + weight;
    }
  };
  if (axis.mode == "nearest") {
    add(nearestOf<int64_t>(axis.line, axis.nearestMode, x, floorOf), {1, 1});
    return taps;
  }
  int64_t p = axis.line.slope * x + axis.line.offset, q = axis.line.divisor, low = floorDivide(p, q);
  int64_t s = floorModulo(p, q), g = std::gcd(s, q);
  s /= g;
  q /= g;
  if (axis.mode == "linear") {
    add(low, Rational{q - s, 1} * Rational{1, q});
    add(low + 1, Rational{s, 1} * Rational{1, q});
  } else {
    for (int64_t i = -1; i <= 2; ++i)
      add(low + i, cubicWeight(axis.cubic, std::abs(s - i * q), q));
  }
  return taps;
}

std::pair<Expr, Expr> lowestTerms(const Expr& to, const Expr& from) {
  const int64_t n = to.content(), m = from.content();
  if (n < 1 || m < 1 || from * n != to * m) return {to, from};
  return {n / std::gcd(n, m), m / std::gcd(n, m)};
}

std::pair<Expr, Expr> scaleOf(const OpView& resize, size_t d) {
  const auto& scales = resize.list("scales");
  if (!scales.empty()) return lowestTerms(scales[2 * d], scales[2 * d + 1]);
  return lowestTerms(resize.outputs[0][d].affine(), resize.operands[0][d].affine());
}

bool keeps(const OpView& resize, size_t d) {
  const auto& scales = resize.list("scales");
  return resize.operands[0][d] == resize.outputs[0][d] && (scales.empty() || scales[2 * d] == scales[2 * d + 1]);
}

namespace {

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kCoordinates[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                             "half_pixel_symmetric"};
constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

Expected<void> checkWord(const OpView& v, std::string_view name, std::span<const std::string_view> words) {
  if (std::find(words.begin(), words.end(), v.text(name)) != words.end()) return {};
  return fail(ErrorKind::kUnsupported, fmt::format("Resize: unknown {} '{}'", name, v.text(name)));
}

Expected<void> checkResize(const OpView& v) {
  if (auto ok = checkWord(v, "mode", kModes); !ok) return ok;
  if (auto ok = checkWord(v, "coordinate_transformation_mode", kCoordinates); !ok) return ok;
  if (auto ok = checkWord(v, "nearest_mode", kNearest); !ok) return ok;
  if (!asRational(v.number("cubic_coeff_a"))) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("Resize: cubic_coeff_a is no small fraction: {}", v.number("cubic_coeff_a")));
  }
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
    bool asIs = sizes.empty() && scales[2 * d] == scales[2 * d + 1];
    if (!asIs && !x[d].isAffine()) {
      return fail(ErrorKind::kUnsupported, "Resize of the product dimension " + x[d].str());
    }
    if (asIs) {
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

/// The coordinates' mode along dimension d. That of PyTorch differs from half_pixel where one position is made, which
/// is not so where all are made at least twice.
std::string coordinatesOf(const OpView& v, size_t d) {
  const std::string& mode = v.text("coordinate_transformation_mode");
  if (mode != "pytorch_half_pixel" || !(v.list("sizes").empty() || v.list("scales").empty())) return mode;
  auto [n, m] = scaleOf(v, d);
  auto numerator = n.asConstant(), denominator = m.asConstant();
  return numerator && denominator && *numerator >= 2 * *denominator ? "half_pixel" : mode;
}

/// The line along dimension d, where it is the same for all shapes.
std::optional<ResizeLine> lineOf(const OpView& v, size_t d) {
  if (keeps(v, d)) return ResizeLine{};
  const Expr &in = v.operands[0][d].affine(), &out = v.outputs[0][d].affine();
  const std::string mode = coordinatesOf(v, d);
  auto inExtent = in.asConstant(), outExtent = out.asConstant();
  bool needsExtents = mode == "align_corners" || mode == "pytorch_half_pixel";
  if (needsExtents && !(inExtent && outExtent)) return std::nullopt;
  auto [n, m] = scaleOf(v, d);
  auto numerator = n.asConstant(), denominator = m.asConstant();
  if (!numerator || !denominator) return std::nullopt;
  if (mode != "half_pixel_symmetric") {
    return resizeLine(mode, inExtent.value_or(0), outExtent.value_or(0), *numerator, *denominator);
  }
  auto centring = (in * *numerator - out * *denominator).asConstant();
  if (!centring) return std::nullopt;
  ResizeLine line = resizeLine("half_pixel", 0, 0, *numerator, *denominator);
  line.offset += *centring;
  return line;
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

int64_t positionIn(std::span<const std::string_view> words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) - words.begin();
}

/// An entry of the resampling matrix of one dimension: how much input position at[1] is of output position at[0].
/// Parameters: in, out, the scale as a fraction, cubic_coeff_a as a fraction, and the modes' numbers.
Rational resampling(std::span<const int64_t> p, std::span<const int64_t> at) {
  auto word = [](std::span<const std::string_view> words, int64_t i) { return words[static_cast<size_t>(i)]; };
  ResizeAxis axis{word(kModes, p[6]),
                  word(kNearest, p[8]),
                  {p[4], p[5]},
                  resizeLine(word(kCoordinates, p[7]), p[0], p[1], p[2], p[3]),
                  p[0]};
  for (const ResizeTap& tap : resizeTaps(axis, at[0])) {
    if (tap.position == at[1]) return tap.weight;
  }
  return {0, 1};
}

/// out[v] = Σ_u K[v, u] · in[u] along dimension d. What a mode does not depend on is not in its key or parameters.
ConstantRead resamplingMatrix(const OpView& v, size_t d, const Expr& at, const std::string& u) {
  const std::string &mode = v.text("mode"), &nearest = v.text("nearest_mode");
  const std::string coordinates = coordinatesOf(v, d);
  bool isNearest = mode == "nearest", isCubic = mode == "cubic";
  double cubic = v.number("cubic_coeff_a");
  Rational a = isCubic ? *asRational(cubic) : Rational{};
  auto [numerator, denominator] = coordinates == "align_corners" ? std::pair<Expr, Expr>{1, 1} : scaleOf(v, d);
  return {.key = fmt::format("Resize {} {}{}", mode, coordinates,
                             isNearest ? " " + nearest
                             : isCubic ? fmt::format(" {}", cubic)
                                       : ""),
          .parameters = {v.operands[0][d].affine(), v.outputs[0][d].affine(), numerator, denominator, a.numerator,
                         a.denominator, positionIn(kModes, mode), positionIn(kCoordinates, coordinates),
                         isNearest ? positionIn(kNearest, nearest) : 0},
          .at = {at, Expr::variable(u)},
          .sumsToOne = {u},
          .value = resampling};
}

/// Where each position reads: the only one, along dimensions that have one; one place, by cases, along those that are
/// resized to the nearest neighbour by a number; a sum over all positions along others.
Expected<std::vector<AccessPiece>> accessResize(const OpView& v, int, const Index& at, NameSource& names) {
  AccessPiece base;
  std::vector<DigitCase> reads{{{}, {}}};
  for (size_t d = 0; d < at.size(); ++d) {
    auto line = v.text("mode") == "nearest" || keeps(v, d) ? lineOf(v, d) : std::nullopt;
    std::vector<DigitCase> places{{{at[d]}, {}}};
    if (v.operands[0][d] == Dim(1) && !keeps(v, d)) {
      places[0].digits[0] = {Expr(0)};
    } else if (!line) {
      places[0].digits[0] = freshDigits(v.operands[0][d], "u", names, base);
      base.constants.push_back(resamplingMatrix(v, d, at[d][0], base.reduction.back()));
    } else if (!line->isIdentity()) {
      places =
          nearestCases(*line, v.text("nearest_mode"), v.operands[0][d].affine(), v.outputs[0][d].affine(), at[d][0]);
    }
    reads = combine(reads, places, [](Index& read, const Index& place) { read.push_back(place[0]); });
  }
  std::vector<AccessPiece> pieces;
  for (DigitCase& c : reads) {
    AccessPiece piece = base;
    piece.domain.insert(piece.domain.end(), c.guards.begin(), c.guards.end());
    piece.reads = {{0, std::move(c.digits)}};
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// --- Rounding ---

/// Linear: two products per dimension, of weights that are rounded themselves.
int64_t resizeTerms(const NodeExtents& n) {
  return 4 * static_cast<int64_t>(n.operands[0].size());
}

bool resizeIsExact(const NodeExtents& n) {
  return n.concrete.text("mode") != "cubic";  // some of whose weights are below 0
}

bool resizeIsWhole(const NodeExtents& n) {
  return n.concrete.text("mode") == "nearest";
}

using A = OnnxAttribute;

const OpRow kResizeRows[] = {
    {.name = "Resize",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"mode", AttributeKind::kText, "nearest"},
                    {"sizes", AttributeKind::kList, "[]"},
                    {"scales", AttributeKind::kList, "[]"},
                    {"coordinate_transformation_mode", AttributeKind::kText, "half_pixel"},
                    {"nearest_mode", AttributeKind::kText, "round_prefer_floor"},
                    {"cubic_coeff_a", AttributeKind::kNumber, "-0.75"}},
     .infer = inferResize,
     .obligations = resizeObligations,
     .access = accessResize,
     .kernels = ringKernels<kernels::Resize>(),
     .facts = {.zeroPreserving = true, .homogeneous = true},  // not monotone: cubic weights are negative, too
     .work = Work::kTaps,
     .rounding = {.arithmetic = Arithmetic::kProducts,
                  .terms = resizeTerms,
                  .whole = resizeIsWhole,
                  .exact = resizeIsExact,
                  .tensor = error_rules::resize},
     .onnx = {7,
              {{A::text("mode", "nearest"), A::text("coordinate_transformation_mode", "half_pixel"),
                A::text("nearest_mode", "round_prefer_floor"), A::number("cubic_coeff_a", -0.75)}}}},
};

}  // namespace

std::span<const OpRow> resizeRows() {
  return kResizeRows;
}

}  // namespace pet
