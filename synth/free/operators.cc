#include "synth/free/operators.h"

namespace pet::freemode {
namespace {

using Types = std::span<const TensorType* const>;
using Result = std::optional<TensorType>;

/// What both were joined from, or the one that was; two that differ leave nothing to cut at.
JoinKey merged(JoinKey a, JoinKey b) {
  if (a == b || b == 0) return a;
  return a == 0 ? b : 0;
}

Result elementwise(const TensorType& a, const TensorType& b) {
  if (!a.sameExtents(b)) return std::nullopt;
  TensorType out = a;
  for (size_t d = 0; d < kMostRank; ++d)
    out.joins[d] = merged(a.joins[d], b.joins[d]);
  out.weight = a.weight && b.weight;
  return out;
}

/// Element by element, or by a number.
Result product(const TensorType& a, const TensorType& b) {
  if (a.rank > 0 && b.rank > 0) return elementwise(a, b);
  TensorType out = a.rank > 0 ? a : b;
  out.weight = a.weight && b.weight;
  return out;
}

Result matMul(const TensorType& a, const TensorType& b) {
  if (a.rank != 2 || b.rank != 2 || a.extents[1] != b.extents[0]) return std::nullopt;
  TensorType out;
  out.rank = 2;
  out.extents = {a.extents[0], b.extents[1], 1, 1};
  out.joins = {a.joins[0], b.joins[1]};
  out.weight = a.weight && b.weight;
  return out;
}

/// Pads "same": an image, not a weight; a kernel, a weight, of the declared window; channels / the kernel's are
/// groups.
Result conv(const Operator& op, const TensorType& x, const TensorType& w) {
  if (x.rank != 4 || w.rank != 4 || x.weight || !w.weight) return std::nullopt;
  if (w.extents[2] != op.kernel[0] || w.extents[3] != op.kernel[1]) return std::nullopt;
  if (x.extents[1] % w.extents[1] != 0 || w.extents[0] % (x.extents[1] / w.extents[1]) != 0) return std::nullopt;
  TensorType out = x;
  out.extents[1] = w.extents[0];
  out.joins[1] = w.joins[0];
  return out;
}

Result pad(const Operator& op, const TensorType& w) {
  if (w.rank != 4 || !w.weight) return std::nullopt;
  int32_t r = static_cast<int32_t>(op.kernel[0]), s = static_cast<int32_t>(op.kernel[1]);
  bool smaller = w.extents[2] <= r && w.extents[3] <= s && (w.extents[2] < r || w.extents[3] < s);
  if (!smaller || (r - w.extents[2]) % 2 != 0 || (s - w.extents[3]) % 2 != 0) return std::nullopt;
  TensorType out = w;
  out.extents[2] = r;
  out.extents[3] = s;
  out.joins[2] = out.joins[3] = 0;
  return out;
}

Result concat(const Step& step, const TensorType& a, const TensorType& b) {
  auto axis = static_cast<size_t>(step.op.axis);
  if (a.rank != b.rank || step.op.axis >= a.rank || a.weight != b.weight) return std::nullopt;
  TensorType out = a;
  for (size_t d = 0; d < kMostRank; ++d) {
    if (d == axis) continue;
    if (a.extents[d] != b.extents[d]) return std::nullopt;
    out.joins[d] = merged(a.joins[d], b.joins[d]);
  }
  out.extents[axis] += b.extents[axis];
  out.joins[axis] = Joins::key(joinOf(step, a, b));
  return out;
}

Result split(const Step& step, const TensorType& x, const Joins& joins) {
  auto axis = static_cast<size_t>(step.op.axis);
  const Joins::Join* join = joins.find(x.joins[axis]);
  if (!join) return std::nullopt;
  TensorType out = x;
  out.extents[axis] = step.output == 0 ? join->left : join->right;
  out.joins[axis] = step.output == 0 ? join->leftJoin : join->rightJoin;
  return out;
}

Result transpose(const TensorType& x) {
  if (x.rank != 2) return std::nullopt;
  TensorType out = x;
  std::swap(out.extents[0], out.extents[1]);
  std::swap(out.joins[0], out.joins[1]);
  return out;
}

}  // namespace

std::vector<Step> stepsOf(const Vocabulary& vocabulary) {
  std::vector<Step> steps;
  for (const Operator& op : vocabulary.operators()) {
    switch (op.kind) {
      case OperatorKind::kAdd:
      case OperatorKind::kMul:
        steps.push_back({op, 0, 2, true});
        break;
      case OperatorKind::kConcat:
      case OperatorKind::kConv:
      case OperatorKind::kMatMul:
        steps.push_back({op, 0, 2, false});
        break;
      case OperatorKind::kSplit:
        steps.push_back({op, 0, 1, false});
        steps.push_back({op, 1, 1, false});
        break;
      default:
        steps.push_back({op, 0, 1, false});
    }
  }
  return steps;
}

Result resultType(const Step& step, Types operands, const Joins& joins) {
  const TensorType& x = *operands[0];
  switch (step.op.kind) {
    case OperatorKind::kAdd:
      return elementwise(x, *operands[1]);
    case OperatorKind::kMul:
      return product(x, *operands[1]);
    case OperatorKind::kMatMul:
      return matMul(x, *operands[1]);
    case OperatorKind::kConv:
      return conv(step.op, x, *operands[1]);
    case OperatorKind::kConcat:
      return concat(step, x, *operands[1]);
    case OperatorKind::kSplit:
      return split(step, x, joins);
    case OperatorKind::kTranspose:
      return transpose(x);
    case OperatorKind::kPad:
      return pad(step.op, x);
    case OperatorKind::kAveragePool:
    case OperatorKind::kMaxPool:
      return x.rank == 4 && !x.weight ? Result(x) : std::nullopt;
    default:
      return x;
  }
}

Joins::Join joinOf(const Step& step, const TensorType& left, const TensorType& right) {
  auto axis = static_cast<size_t>(step.op.axis);
  return {left.extents[axis], right.extents[axis], left.joins[axis], right.joins[axis]};
}

}  // namespace pet::freemode
