// Operators that regroup or repeat dimensions: Reshape, Flatten, Squeeze, Unsqueeze, SpaceToDepth, DepthToSpace,
// Expand, Tile.

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

// --- Reshape and its special cases keep the row-major order of the elements. ---

/// Runs of dimensions, in[0, a) and out[0, b) and so on, that have the same product.
struct Run {
  std::span<const Dim> in, out;
};

Dim productOf(std::span<const Dim> dims) {
  return Dim::product({dims.begin(), dims.end()});
}

/// The shortest common runs, or nothing where the atoms do not stand in the same order.
std::optional<std::vector<Run>> commonRuns(std::span<const Dim> in, std::span<const Dim> out) {
  std::vector<Run> runs;
  auto next = [&]() -> std::optional<Run> {
    for (size_t total = 1; total <= in.size() + out.size(); ++total) {
      for (size_t a = total > out.size() ? total - out.size() : 0; a <= std::min(total, in.size()); ++a) {
        Run run{in.first(a), out.first(total - a)};
        if (productOf(run.in) == productOf(run.out)) return run;
      }
    }
    return std::nullopt;
  };
  while (!in.empty() || !out.empty()) {
    auto run = next();
    if (!run) return std::nullopt;
    in = in.subspan(run->in.size());
    out = out.subspan(run->out.size());
    runs.push_back(*run);
  }
  return runs;
}

Expected<std::vector<Shape>> regrouped(const Shape& in, Shape out, std::string_view op) {
  if (!commonRuns(in, out)) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} of {} to {} does not keep the order of its dimensions", op, str(in), str(out)));
  }
  return std::vector<Shape>{std::move(out)};
}

Expected<std::vector<AccessPiece>> accessRegrouped(const OpView& v, int, const Index& at, NameSource&) {
  const auto runs = *commonRuns(v.operands[0], v.outputs[0]);
  std::vector<DigitCase> reads{{{}, {}}};
  size_t position = 0;
  for (const Run& run : runs) {
    Index digits(at.begin() + static_cast<std::ptrdiff_t>(position),
                 at.begin() + static_cast<std::ptrdiff_t>(position + run.out.size()));
    position += run.out.size();
    std::vector<DigitCase> sources;
    for (const DigitCase& joined : joinDigits(run.out, digits)) {
      for (DigitCase& split : splitDigits(run.in, joined.digits[0])) {
        split.guards.insert(split.guards.begin(), joined.guards.begin(), joined.guards.end());
        sources.push_back(std::move(split));
      }
      requireFewCases(sources.size(), 1);
    }
    reads = combine(reads, sources,
                    [](Index& read, const Index& source) { read.insert(read.end(), source.begin(), source.end()); });
  }
  return readsOf(std::move(reads));
}

/// What is left of the operand's product for the entry -1 of a Reshape.
std::optional<Dim> remaining(const Shape& in, std::span<const Dim> before, std::span<const Dim> after) {
  std::optional<Dim> rest = Dim::product(in);
  for (const Dim& d : before) {
    for (auto atom = d.atoms().begin(); rest && atom != d.atoms().end(); ++atom)
      rest = divideByOuter(*rest, *atom);
  }
  for (size_t i = after.size(); i-- > 0;) {
    const auto& atoms = after[i].atoms();
    for (auto atom = atoms.rbegin(); rest && atom != atoms.rend(); ++atom)
      rest = divideByInner(*rest, *atom);
  }
  return rest;
}

/// `shape` lists affine extents; 0 copies the operand's dimension and one -1 stands for the rest, as in ONNX.
Expected<std::vector<Shape>> inferReshape(const OpView& v) {
  const Shape& in = v.operands[0];
  const auto& shape = v.list("shape");
  Shape out;
  std::optional<size_t> open;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool copies = shape[d] == Expr(0), isRest = shape[d] == Expr(-1);
    if ((copies && d >= in.size()) || (isRest && open)) {
      return fail(ErrorKind::kText, fmt::format("Reshape of {}: entry {} of the shape has no meaning", str(in), d));
    }
    if (isRest) open = d;
    out.push_back(copies ? in[d] : isRest ? Dim(1) : Dim(shape[d]));
  }
  if (open) {
    std::span<const Dim> dims(out);
    auto rest = remaining(in, dims.first(*open), dims.subspan(*open + 1));
    if (!rest) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("Reshape of {}: the extent of dimension {} is unknown", str(in), *open));
    }
    out[*open] = *rest;
  }
  return regrouped(in, std::move(out), "Reshape");
}

Expected<std::vector<Shape>> inferFlatten(const OpView& v) {
  const Shape& in = v.operands[0];
  auto axis = axisOf(v.scalar("axis"), in.size() + 1, "Flatten");
  if (!axis) return tl::unexpected(axis.error());
  std::span<const Dim> dims(in);
  return std::vector<Shape>{{productOf(dims.first(*axis)), productOf(dims.subspan(*axis))}};
}

Expected<std::vector<Shape>> inferSqueeze(const OpView& v) {
  const Shape& in = v.operands[0];
  auto dropped = axesOf(v.list("axes"), in.size(), "Squeeze");
  if (!dropped) return tl::unexpected(dropped.error());
  Shape out;
  for (size_t d = 0; d < in.size(); ++d) {
    if (!(*dropped)[d]) out.push_back(in[d]);
    if ((*dropped)[d] && in[d] != Dim(1)) {
      return fail(ErrorKind::kText, fmt::format("Squeeze of {}: dimension {} is not 1", str(in), d));
    }
  }
  return std::vector<Shape>{out};
}

Expected<std::vector<Shape>> inferUnsqueeze(const OpView& v) {
  const auto& axes = v.list("axes");
  auto added = axesOf(axes, v.operands[0].size() + axes.size(), "Unsqueeze");
  if (!added) return tl::unexpected(added.error());
  Shape out;
  auto from = v.operands[0].begin();
  for (bool isNew : *added)
    out.push_back(isNew ? Dim(1) : *from++);
  return std::vector<Shape>{out};
}

// --- SpaceToDepth and DepthToSpace are layouts of [N, C, H, W]. ---

struct Blocks {
  const Shape& x;
  int64_t size;
};

Expected<Blocks> blocksOf(const OpView& v, std::string_view op) {
  int64_t size = v.scalar("blocksize").asConstant().value_or(0);
  if (v.operands[0].size() == 4 && size >= 1) return Blocks{v.operands[0], size};
  return fail(ErrorKind::kText,
              fmt::format("{} of {} in blocks of {}", op, str(v.operands[0]), v.scalar("blocksize").str()));
}

/// n c (h p) (w q) -> n (p q c) h w
Expected<LayoutSpec> spaceToDepth(const OpView& v) {
  auto blocks = blocksOf(v, "SpaceToDepth");
  if (!blocks) return tl::unexpected(blocks.error());
  auto [x, size] = *blocks;
  auto h = divideByInner(x[2], size), w = divideByInner(x[3], size);
  if (!h || !w)
    return fail(ErrorKind::kUnsupported, fmt::format("SpaceToDepth: {} is not divided by {}", str(x), size));
  return LayoutSpec{{{"n", x[0]}, {"c", x[1]}, {"h", *h}, {"p", size}, {"w", *w}, {"q", size}},
                    {{0}, {1}, {2, 3}, {4, 5}},
                    {{0}, {3, 5, 1}, {2}, {4}}};
}

/// DCR: n (p q c) h w -> n c (h p) (w q); CRD: n (c p q) h w -> …
Expected<LayoutSpec> depthToSpace(const OpView& v) {
  auto blocks = blocksOf(v, "DepthToSpace");
  if (!blocks) return tl::unexpected(blocks.error());
  auto [x, size] = *blocks;
  const std::string& mode = v.text("mode");
  if (mode != "DCR" && mode != "CRD") return fail(ErrorKind::kText, "DepthToSpace: unknown mode " + mode);
  const int64_t phases = checkedMul(size, size);
  auto c = mode == "DCR" ? divideByOuter(x[1], phases) : divideByInner(x[1], phases);
  if (!c)
    return fail(ErrorKind::kUnsupported, fmt::format("DepthToSpace: {} is not divided by {}", x[1].str(), phases));
  std::vector<int> depth = mode == "DCR" ? std::vector{1, 2, 3} : std::vector{3, 1, 2};
  return LayoutSpec{{{"n", x[0]}, {"p", size}, {"q", size}, {"c", *c}, {"h", x[2]}, {"w", x[3]}},
                    {{0}, depth, {4}, {5}},
                    {{0}, {3}, {4, 1}, {5, 2}}};
}

template <Expected<LayoutSpec> (*kSpec)(const OpView&)>
Expected<std::vector<Shape>> inferBlocks(const OpView& v) {
  auto spec = kSpec(v);
  if (!spec) return tl::unexpected(spec.error());
  return std::vector<Shape>{rightShape(*spec)};
}

template <Expected<LayoutSpec> (*kSpec)(const OpView&)>
Expected<std::vector<AccessPiece>> accessBlocks(const OpView& v, int, const Index& at, NameSource&) {
  return readsOf(layoutSources(*kSpec(v), at));
}

// --- Expand: out[v] = in[v], broadcast. Tile: out[(k, v)] = in[v]. ---

Expected<std::vector<Shape>> inferExpand(const OpView& v) {
  Shape target(v.list("shape").begin(), v.list("shape").end());
  auto out = broadcastShapes(std::vector{v.operands[0], target}, "Expand");
  if (!out) return tl::unexpected(out.error());
  return std::vector<Shape>{*out};
}

Expected<std::vector<AccessPiece>> accessExpand(const OpView& v, int, const Index& at, NameSource&) {
  return readsOf({{broadcastIndex(v.operands[0], at), {}}});
}

Expected<std::vector<Shape>> inferTile(const OpView& v) {
  const Shape& in = v.operands[0];
  const auto& repeats = v.list("repeats");
  if (repeats.size() != in.size()) {
    return fail(ErrorKind::kText,
                fmt::format("Tile of {} needs {} repeats, got {}", str(in), in.size(), repeats.size()));
  }
  Shape out;
  for (size_t d = 0; d < in.size(); ++d)
    out.push_back(Dim::product({repeats[d], in[d]}));
  return std::vector<Shape>{out};
}

std::vector<Constraint> tileObligations(const OpView& v) {
  std::vector<Constraint> result;
  for (const Expr& r : v.list("repeats"))
    result.push_back(Constraint::le(0, r));
  return result;
}

Expected<std::vector<AccessPiece>> accessTile(const OpView& v, int, const Index& at, NameSource&) {
  std::vector<DigitCase> reads{{{}, {}}};
  for (size_t d = 0; d < at.size(); ++d) {
    auto splits = splitDigits(std::vector<Dim>{v.list("repeats")[d], v.operands[0][d]}, at[d]);
    reads = combine(reads, splits, [](Index& read, const Index& split) { read.push_back(split[1]); });
  }
  return readsOf(std::move(reads));
}

/// A row that keeps the elements in their order.
OpRow regroupingRow(std::string_view name,
                    AttributeSpec attribute,
                    Expected<std::vector<Shape>> (*infer)(const OpView&),
                    OnnxAttribute onnx) {
  return {.name = name,
          .minOperands = 1,
          .maxOperands = 1,
          .attributes = {attribute},
          .infer = infer,
          .access = accessRegrouped,
          .kernels = ringKernels<kernels::Reshape>(),
          .layout = true,
          .rounding = {.arithmetic = Arithmetic::kMove},
          .onnx = {5, {{onnx}}}};
}

using A = OnnxAttribute;

const OpRow kReshapeRows[] = {
    regroupingRow(
        "Reshape", {"shape", AttributeKind::kList, ""}, inferReshape, A::givenList("shape").operandSince(5, 1)),
    regroupingRow("Flatten", {"axis", AttributeKind::kScalar, "1"}, inferFlatten, A::axis("axis", 1)),
    regroupingRow(
        "Squeeze", {"axes", AttributeKind::kList, ""}, inferSqueeze, A::optionalList("axes").operandSince(13, 1)),
    regroupingRow(
        "Unsqueeze", {"axes", AttributeKind::kList, ""}, inferUnsqueeze, A::givenList("axes").operandSince(13, 1)),
    {.name = "SpaceToDepth",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"blocksize", AttributeKind::kScalar, ""}},
     .infer = inferBlocks<spaceToDepth>,
     .access = accessBlocks<spaceToDepth>,
     .kernels = ringKernels<kernels::SpaceToDepth>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {1}},
    {.name = "DepthToSpace",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"blocksize", AttributeKind::kScalar, ""}, {"mode", AttributeKind::kText, "DCR"}},
     .infer = inferBlocks<depthToSpace>,
     .access = accessBlocks<depthToSpace>,
     .kernels = ringKernels<kernels::DepthToSpace>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {1, {{A::givenInteger("blocksize"), A::text("mode", "DCR").since(11, "DepthToSpace with a mode")}}}},
    {.name = "Expand",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"shape", AttributeKind::kList, ""}},
     .infer = inferExpand,
     .access = accessExpand,
     .kernels = ringKernels<kernels::Expand>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {8, {{A::givenList("shape").operandSince(1, 1)}}}},
    {.name = "Tile",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"repeats", AttributeKind::kList, ""}},
     .infer = inferTile,
     .obligations = tileObligations,
     .access = accessTile,
     .kernels = ringKernels<kernels::Tile>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove},
     .onnx = {6, {{A::givenList("repeats").operandSince(1, 1)}}}},
};

}  // namespace

std::span<const OpRow> reshapeRows() {
  return kReshapeRows;
}

}  // namespace pet
