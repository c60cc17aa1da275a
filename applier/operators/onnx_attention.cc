// Attention, as matrix products around a Softmax.

#include <algorithm>
#include <cmath>
#include <limits>

#include "applier/operators/hidden_keys.h"
#include "applier/operators/onnx_rows.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// The lowest number of a type that pet computes with.
double lowestOf(ElementType element) {
  switch (element) {
    case ElementType::kDouble:
      return std::numeric_limits<double>::lowest();
    case ElementType::kFloat16:
      return -65504;
    case ElementType::kBfloat16:
      return -0x1.FEp127;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

/// Only results that are made of queries, keys and values at hand, and a mask that is known.
void refuseOtherForms(const Lifting& l) {
  const auto& outputs = l.node().outputs;
  if (std::any_of(outputs.begin() + 1, outputs.end(), [](const std::string& name) { return !name.empty(); }))
    Lifting::refuse("keys, values or scores are asked for");
  for (size_t i = 4; i < l.operandCount(); ++i) {
    if (l.has(i)) Lifting::refuse("keys and values of the past");
  }
  if (l.number("softcap", 0) != 0) Lifting::refuse("scores that are capped");
  if (l.integer("left_window_size", -1) != -1 || l.integer("right_window_size", -1) != -1) Lifting::refuse("a window");
}

/// [batch, heads, sequence, size] of an operand that is so, or packed as [batch, sequence, heads · size].
Value withHeads(const Lifting& l, size_t i, std::string_view heads) {
  const Value x = l.operand(i);
  const Shape& shape = l.shape(x);
  if (shape.size() == 4) return x;
  const int64_t count = l.integer(heads, 0);
  auto packed = shape.back().asConstant();
  if (shape.size() != 3 || !packed || count < 1 || *packed % count != 0) Lifting::refuse("heads of open size");
  const Value apart = l.reshape(x, Shape{shape[0], shape[1], Dim(count), Dim(*packed / count)});
  return l.add("Transpose", {apart}, {{"perm", exprs({0, 2, 1, 3})}});
}

/// What is added to the scores [.., queries, keys]; empty: nothing. Every query sees a key, for without one a row of
/// the Softmax has no value.
Tensor<double> maskOf(const Lifting& l, const Dim& queries, const Dim& keys) {
  Tensor<double> mask;
  if (l.has(3)) {
    mask = Tensor<double>(l.constantExtents(3));
    if (l.element(l.operand(3)) == ElementType::kBool) {
      const std::vector<int64_t> seen = l.integers(3);
      std::transform(seen.begin(), seen.end(), mask.data.begin(), [](int64_t sees) { return sees != 0 ? 0 : kHidden; });
    } else {
      mask.data = l.numbers(3);
    }
    if (mask.extents.empty() || Dim(mask.extents.back()) != keys)
      Lifting::refuse("a mask that is broadcast to the keys");
  }
  if (l.integer("is_causal", 0) == 0) return mask;
  auto rows = queries.asConstant(), columns = keys.asConstant();
  if (!rows || !columns || l.has(3)) Lifting::refuse("causal, of open length or with a mask besides");
  mask = Tensor<double>({*rows, *columns});
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.data[static_cast<size_t>(i)] = i % *columns > i / *columns ? kHidden : 0;
  return mask;
}

/// Of each row of a mask, whether this holds of some entry.
template <class Holds>
bool eachRowHas(const Tensor<double>& mask, Holds holds) {
  const auto length = static_cast<std::ptrdiff_t>(mask.extents.back());
  for (auto row = mask.data.begin(); length > 0 && row != mask.data.end(); row += length) {
    if (std::none_of(row, row + length, holds)) return false;
  }
  return true;
}

void requireAKeyForEach(const Tensor<double>& mask) {
  if (!eachRowHas(mask, [](double x) { return std::isfinite(x); })) Lifting::refuse("a query that sees no key");
}

std::vector<Value> readAttention(const Lifting& l, const OnnxRow&) {
  refuseOtherForms(l);
  const Value q = withHeads(l, 0, "q_num_heads"), k = withHeads(l, 1, "kv_num_heads"),
              v = withHeads(l, 2, "kv_num_heads");
  const Shape queries = l.shape(q), keys = l.shape(k);
  auto size = queries[3].asConstant();
  if (queries[1] != keys[1]) Lifting::refuse("fewer heads of keys than of queries");
  if (!size || *size < 1) Lifting::refuse("heads of open size");
  const double scale = l.number("scale", 1 / std::sqrt(static_cast<double>(*size)));
  const Value scaled = l.add("Mul", {q, l.constant(Tensor<double>({}, {scale}), q)});
  Value scores = l.add("MatMul", {scaled, l.add("Transpose", {k}, {{"perm", exprs({0, 1, 3, 2})}})});
  const Tensor<double> mask = maskOf(l, queries[2], keys[2]);
  if (!mask.extents.empty()) {
    requireAKeyForEach(mask);
    scores = l.add("Add", {scores, l.constant(mask, q)});
  }
  const Value y = l.add("MatMul", {l.add("Softmax", {scores}, {{"axis", Expr(3)}}), v});
  if (l.rank(l.operand(0)) == 4) return {y};
  const Shape apart = l.shape(y);
  const Value together = l.add("Transpose", {y}, {{"perm", exprs({0, 2, 1, 3})}});
  return {l.reshape(together, Shape{apart[0], apart[2], Dim::product({apart[1], apart[3]})})};
}

const OnnxRow kOnnxAttentionRows[] = {
    {.type = "Attention", .read = readAttention, .write = nullptr},
};

}  // namespace

Value withHiddenKeys(const Lifting& l, Value scores) {
  const std::vector<Value> sum = l.operandsOf(scores, ops::kAdd);
  for (size_t i = 0; i < sum.size(); ++i) {
    const Value mask = sum[i], other = sum[1 - i];
    const Shape &shape = l.shape(mask), &whole = l.shape(scores);
    if (!l.isConstant(mask) || l.isConstant(other) || shape.empty() || shape.back() != whole.back()) continue;
    Tensor<double> numbers = l.valueOf(mask);
    const double lowest = lowestOf(l.element(mask));
    auto isLowest = [lowest](double x) { return x == lowest; };
    if (std::none_of(numbers.data.begin(), numbers.data.end(), isLowest)) continue;
    if (!eachRowHas(numbers, [lowest](double x) { return x >= lowest / 4; })) continue;
    std::replace_if(numbers.data.begin(), numbers.data.end(), isLowest, kHidden);
    return l.add("Add", {other, l.constant(numbers, other)});
  }
  return scores;
}

std::span<const OnnxRow> onnxAttentionRows() {
  return kOnnxAttentionRows;
}

}  // namespace pet
