// Indices that a model computes or is given, beside the positions that they may be: OneHot, and Equal read as that.

#include <numeric>

#include "applier/operators/onnx_rows.h"

namespace pet {
namespace {

/// The positions that a constant lists along its last dimension, and no other one.
struct Positions {
  int64_t depth;
  bool fromEnd;  ///< -depth, …, -1, not 0, …, depth - 1
};

std::optional<Positions> positionsIn(const Lifting& l, size_t i) {
  if (!l.isConstant(i)) return std::nullopt;
  const Extents extents = l.constantExtents(i);
  const std::vector<int64_t> values = l.integers(i);
  const auto depth = static_cast<int64_t>(values.size());
  if (depth == 0 || extents.empty() || extents.back() != depth || (values[0] != 0 && values[0] != -depth))
    return std::nullopt;
  std::vector<int64_t> counted(values.size());
  std::iota(counted.begin(), counted.end(), values[0]);
  return values == counted ? std::optional(Positions{depth, values[0] != 0}) : std::nullopt;
}

/// Indices, along a last dimension of extent 1, beside positions: how exporters write OneHot.
std::vector<Value> readEqual(const Lifting& l, const OnnxRow&) {
  for (size_t i = 0; i < 2; ++i) {
    const auto among = positionsIn(l, i);
    if (!among || l.isConstant(1 - i)) continue;
    const Value index = l.operand(1 - i);
    Shape extents = l.shape(index);
    if (extents.size() < l.constantExtents(i).size() || extents.back() != Dim(1)) continue;
    extents.pop_back();
    return {l.add("OneHot", {l.reshape(index, extents)},
                  {{"depth", Expr(among->depth)}, {"negative", Expr(among->fromEnd ? 1 : 0)}})};
  }
  Lifting::refuse("no indices beside positions");
}

/// With the values 0 and 1: where the index is the position, and where it is that from the end.
std::vector<Value> readOneHot(const Lifting& l, const OnnxRow&) {
  if (!l.isConstant(1) || !l.isConstant(2)) Lifting::refuse("a depth or values that the model computes");
  const Value index = l.operand(0), values = l.operand(2);
  const std::vector<int64_t> depth = l.integers(1);
  const Tensor<double> offOn = l.valueOf(values);
  if (depth.size() != 1 || depth[0] < 1) Lifting::refuse("no depth");
  if (offOn.data != std::vector<double>{0, 1}) Lifting::refuse("other values than 0 and 1");
  if (l.axis(l.integer("axis", -1), l.rank(index) + 1) != l.rank(index))
    Lifting::refuse("positions along another axis");
  auto part = [&](int64_t negative) {
    const Value is = l.add("OneHot", {index}, {{"depth", Expr(depth[0])}, {"negative", Expr(negative)}});
    return l.asNumbers(is, l.element(values));
  };
  return {l.add("Add", {part(0), part(1)})};
}

void writeOneHot(const Emission& e, const OnnxRow&) {
  const int64_t depth = e.scalar("depth");
  Tensor<int64_t> positions({depth});
  std::iota(positions.data.begin(), positions.data.end(), e.scalar("negative") != 0 ? -depth : 0);
  Shape column = e.shape(0);
  column.emplace_back(1);
  e.last("Equal", {e.reshape(e.operand(0), e.shape(0), column), e.indices("positions", positions)});
}

const OnnxRow kOnnxIndexRows[] = {
    {.type = "Equal", .read = readEqual, .write = nullptr},
    {.op = "OneHot", .since = 9, .read = readOneHot, .write = writeOneHot},
};

}  // namespace

std::span<const OnnxRow> onnxIndexRows() {
  return kOnnxIndexRows;
}

}  // namespace pet
