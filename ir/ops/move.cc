// Operators that move values: Pad, Slice, Concat, Split, Transpose.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/error_rules.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

// --- Pad: out[v] = in[v - begin], and outside: a constant, the mirror image or the edge. Negative pads crop. ---

Expected<std::vector<Shape>> inferPad(const OpView& v) {
  const Shape& x = v.operands[0];
  const auto& pads = v.list("pads");
  const std::string& mode = v.text("mode");
  if (pads.size() != 2 * x.size())
    return fail(ErrorKind::kText, fmt::format("Pad of {} needs {} pads", str(x), 2 * x.size()));
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    return fail(ErrorKind::kText, "Pad: unknown mode " + mode);
  Shape out;
  for (size_t d = 0; d < x.size(); ++d) {
    Expr total = pads[d] + pads[x.size() + d];
    if (x[d].isAffine()) {
      out.push_back(x[d].affine() + total);
    } else if (pads[d] == Expr(0) && total == Expr(0)) {
      out.push_back(x[d]);
    } else {
      return fail(ErrorKind::kUnsupported, "Pad of the product dimension " + x[d].str());
    }
  }
  return std::vector<Shape>{out};
}

std::vector<Constraint> padObligations(const OpView& v) {
  const Shape& x = v.operands[0];
  const auto& pads = v.list("pads");
  std::vector<Constraint> result;
  for (size_t d = 0; d < x.size(); ++d) {
    for (const Expr& p : {pads[d], pads[x.size() + d]}) {
      if (p == Expr(0)) continue;
      if (v.text("mode") == "reflect") {
        result.push_back(Constraint::le(0, p));
        result.push_back(Constraint::lt(p, x[d].affine()));
      } else if (v.text("mode") == "edge") {
        result.push_back(Constraint::le(0, p));
        result.push_back(Constraint::le(1, x[d].affine()));
      } else if (p.asConstant().value_or(0) < 0 || !p.isConstant()) {
        result.push_back(Constraint::le(-p, x[d].affine()));
      }
    }
  }
  return result;
}

/// The piece of a pad's positions: a number instead of a read.
void fillWith(double value, AccessPiece& piece) {
  piece.reads.clear();
  piece.minusInfinity = value == -std::numeric_limits<double>::infinity();
  if (piece.minusInfinity) return;
  auto fraction = asRational(value);
  if (fraction) piece.coefficient = *fraction;
  if (!fraction)
    piece.constants = {{.key = fmt::format("{}", value), .parameters = {}, .at = {}, .positive = value > 0}};
}

Expected<std::vector<AccessPiece>> accessPad(const OpView& v, int, const Index& at, NameSource&) {
  const Shape& x = v.operands[0];
  const auto& pads = v.list("pads");
  const std::string& mode = v.text("mode");
  std::vector<AccessPiece> pieces{{.reads = {{0, {}}}}};
  for (size_t d = 0; d < x.size(); ++d) {
    struct Place {
      std::vector<Expr> digits;
      std::vector<Constraint> guards;
    };
    std::vector<Place> places;
    if (pads[d] == Expr(0) && pads[x.size() + d] == Expr(0)) {
      places.push_back({at[d], {}});
    } else {
      Expr p = at[d][0] - pads[d], last = x[d].affine() - 1;
      places.push_back({{p}, {Constraint::le(0, p), Constraint::le(p, last)}});
      if (mode == "constant" && v.number("value") != 0) {
        places.push_back({{}, {Constraint::lt(p, 0)}});
        places.push_back({{}, {Constraint::lt(last, p)}});
      } else if (mode != "constant") {
        bool reflect = mode == "reflect";
        places.push_back({{reflect ? -p : Expr(0)}, {Constraint::lt(p, 0)}});
        places.push_back({{reflect ? last * 2 - p : last}, {Constraint::lt(last, p)}});
      }
    }
    std::vector<AccessPiece> next;
    for (const AccessPiece& piece : pieces) {
      if (piece.reads.empty()) {
        next.push_back(piece);
        continue;
      }
      for (const Place& place : places) {
        next.push_back(piece);
        if (place.digits.empty()) {
          fillWith(v.number("value"), next.back());
        } else {
          next.back().reads[0].at.push_back(place.digits);
        }
        next.back().domain.insert(next.back().domain.end(), place.guards.begin(), place.guards.end());
      }
    }
    pieces = std::move(next);
  }
  return pieces;
}

// --- Slice: out[v] = in[start + v·step] along the given axes; 0 <= start <= end <= extent, step >= 1. ---

struct SliceRange {
  Expr start, end;
  int64_t step = 1;
};

Expected<std::map<size_t, SliceRange>> sliceRanges(const OpView& v) {
  const auto &axes = v.list("axes"), &starts = v.list("starts"), &ends = v.list("ends"), &steps = v.list("steps");
  if (starts.size() != axes.size() || ends.size() != axes.size() || (!steps.empty() && steps.size() != axes.size())) {
    return fail(ErrorKind::kText, "Slice: axes, starts, ends and steps must have equal length");
  }
  std::map<size_t, SliceRange> ranges;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = axisOf(axes[i], v.operands[0].size(), "Slice");
    if (!axis) return tl::unexpected(axis.error());
    int64_t step = steps.empty() ? 1 : steps[i].asConstant().value_or(0);
    if (step < 1) return fail(ErrorKind::kText, "Slice: steps must be constants >= 1");
    if (!v.operands[0][*axis].isAffine()) {
      return fail(ErrorKind::kUnsupported, "Slice of the product dimension " + v.operands[0][*axis].str());
    }
    if (!ranges.emplace(*axis, SliceRange{starts[i], ends[i], step}).second) {
      return fail(ErrorKind::kText, "Slice: an axis occurs twice");
    }
  }
  return ranges;
}

Expected<std::vector<Shape>> inferSlice(const OpView& v) {
  auto ranges = sliceRanges(v);
  if (!ranges) return tl::unexpected(ranges.error());
  Shape out = v.operands[0];
  for (const auto& [axis, r] : *ranges)
    out[axis] = ceilDiv(r.end - r.start, r.step);
  return std::vector<Shape>{out};
}

std::vector<Constraint> sliceObligations(const OpView& v) {
  const auto ranges = *sliceRanges(v);
  std::vector<Constraint> result;
  for (const auto& [axis, r] : ranges) {
    result.push_back(Constraint::le(0, r.start));
    result.push_back(Constraint::le(r.start, r.end));
    result.push_back(Constraint::le(r.end, v.operands[0][axis].affine()));
  }
  return result;
}

Expected<std::vector<AccessPiece>> accessSlice(const OpView& v, int, const Index& at, NameSource&) {
  const auto ranges = *sliceRanges(v);
  Index read = at;
  for (const auto& [axis, r] : ranges)
    read[axis] = {at[axis][0] * r.step + r.start};
  return std::vector<AccessPiece>{{.reads = {{0, read}}}};
}

// --- Concat and Split along an affine axis ---

Expected<std::vector<Shape>> inferConcat(const OpView& v) {
  auto axis = axisOf(v.scalar("axis"), v.operands[0].size(), "Concat");
  if (!axis) return tl::unexpected(axis.error());
  Shape out = v.operands[0];
  Expr total = 0;
  for (const Shape& s : v.operands) {
    bool fits = s.size() == out.size();
    for (size_t d = 0; fits && d < s.size(); ++d)
      fits = d == *axis || s[d] == out[d];
    if (!fits) return fail(ErrorKind::kText, fmt::format("Concat of {} and {} along axis {}", str(out), str(s), *axis));
    if (!s[*axis].isAffine())
      return fail(ErrorKind::kUnsupported, "Concat along the product dimension " + s[*axis].str());
    total += s[*axis].affine();
  }
  out[*axis] = total;
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessConcat(const OpView& v, int, const Index& at, NameSource&) {
  auto axis = static_cast<size_t>(*v.scalar("axis").asConstant());
  std::vector<AccessPiece> pieces;
  Expr start = 0;
  for (size_t i = 0; i < v.operands.size(); ++i) {
    Expr extent = v.operands[i][axis].affine(), p = at[axis][0] - start;
    Index read = at;
    read[axis] = {p};
    pieces.push_back({.domain = {Constraint::le(0, p), Constraint::lt(p, extent)},
                      .reads = {{static_cast<int>(i), std::move(read)}}});
    start += extent;
  }
  return pieces;
}

Expected<std::vector<Shape>> inferSplit(const OpView& v) {
  const Shape& x = v.operands[0];
  auto axis = axisOf(v.scalar("axis"), x.size(), "Split");
  if (!axis) return tl::unexpected(axis.error());
  if (!x[*axis].isAffine()) return fail(ErrorKind::kUnsupported, "Split of the product dimension " + x[*axis].str());
  Expr total = 0;
  std::vector<Shape> out;
  for (const Expr& part : v.list("split")) {
    out.push_back(x);
    out.back()[*axis] = part;
    total += part;
  }
  if (out.empty() || total != x[*axis].affine()) {
    return fail(ErrorKind::kText,
                fmt::format("Split of {} along axis {} into parts that add to {}", str(x), *axis, total.str()));
  }
  return out;
}

std::vector<Constraint> splitObligations(const OpView& v) {
  std::vector<Constraint> result;
  for (const Expr& part : v.list("split"))
    result.push_back(Constraint::le(0, part));
  return result;
}

Expected<std::vector<AccessPiece>> accessSplit(const OpView& v, int output, const Index& at, NameSource&) {
  auto axis = static_cast<size_t>(*v.scalar("axis").asConstant());
  Expr start = 0;
  for (int i = 0; i < output; ++i)
    start += v.list("split")[static_cast<size_t>(i)];
  Index read = at;
  read[axis] = {at[axis][0] + start};
  return std::vector<AccessPiece>{{.reads = {{0, read}}}};
}

// --- Transpose: out dimension d is in dimension perm[d] ---

Expected<std::vector<Shape>> inferTranspose(const OpView& v) {
  const Shape& x = v.operands[0];
  std::vector<bool> seen(x.size());
  Shape out;
  for (const Expr& p : v.list("perm")) {
    auto axis = axisOf(p, x.size(), "Transpose");
    if (!axis) return tl::unexpected(axis.error());
    if (seen[*axis]) return fail(ErrorKind::kText, "Transpose: perm is not a permutation");
    seen[*axis] = true;
    out.push_back(x[*axis]);
  }
  if (out.size() != x.size()) return fail(ErrorKind::kText, "Transpose: perm has the wrong length for " + str(x));
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessTranspose(const OpView& v, int, const Index& at, NameSource&) {
  Index read(at.size());
  const auto& perm = v.list("perm");
  for (size_t d = 0; d < perm.size(); ++d)
    read[static_cast<size_t>(*perm[d].asConstant())] = at[d];
  return std::vector<AccessPiece>{{.reads = {{0, read}}}};
}

using A = OnnxAttribute;

const OpRow kMoveRows[] = {
    {.name = "Pad",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"pads", AttributeKind::kList, ""},
                    {"mode", AttributeKind::kText, "constant"},
                    {"value", AttributeKind::kNumber, "0"}},
     .infer = inferPad,
     .obligations = padObligations,
     .access = accessPad,
     .kernels = ringKernels<kernels::Pad>(),
     .layout = true,
     .fills = true,
     .rounding = {.arithmetic = Arithmetic::kMove,
                  .offset = error_rules::valueOffset,
                  .whole = error_rules::valueIsWhole},
     .onnx = {2,
              {{A::text("mode", "constant"), A::givenList("pads").operandSince(11, 1),
                A::number("value", 0).operandSince(11, 2)}}}},
    {.name = "Slice",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axes", AttributeKind::kList, ""},
                    {"starts", AttributeKind::kList, ""},
                    {"ends", AttributeKind::kList, ""},
                    {"steps", AttributeKind::kList, "[]"}},
     .infer = inferSlice,
     .obligations = sliceObligations,
     .access = accessSlice,
     .kernels = ringKernels<kernels::Slice>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {1,
              {{A::givenList("starts").operandSince(10, 1), A::givenList("ends").operandSince(10, 2),
                A::givenList("axes").operandSince(10, 3),
                A::optionalList("steps").since(10, "Slice with steps").operandSince(10, 4)}}}},
    {.name = "Concat",
     .minOperands = 1,
     .maxOperands = -1,
     .attributes = {{"axis", AttributeKind::kScalar, ""}},
     .infer = inferConcat,
     .access = accessConcat,
     .kernels = ringKernels<kernels::Concat>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {4, {{A::axis("axis", 1)}}}},
    {.name = "Split",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"axis", AttributeKind::kScalar, ""}, {"split", AttributeKind::kList, ""}},
     .infer = inferSplit,
     .obligations = splitObligations,
     .access = accessSplit,
     .kernels = ringKernels<kernels::Split>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {2, {{A::axis("axis", 0), A::givenList("split").operandSince(13, 1)}}}},
    {.name = "Transpose",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"perm", AttributeKind::kList, ""}},
     .infer = inferTranspose,
     .access = accessTranspose,
     .kernels = ringKernels<kernels::Transpose>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {1}},
};

}  // namespace

std::span<const OpRow> moveRows() {
  return kMoveRows;
}

}  // namespace pet
