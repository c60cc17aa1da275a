// Attention and what belongs to it.

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// The heads that a packed tensor [batch, sequence, heads · size] has by attribute.
int64_t headsOf(NodeInference& n, std::string_view name) {
  int64_t heads = n.integer(name, 0);
  if (heads < 1) NodeInference::invalid(fmt::format("{} is {}", name, heads));
  return heads;
}

/// [batch, heads, sequence, size] of an operand that is so, or packed.
std::optional<Shape> unpacked(NodeInference& n, size_t i, std::string_view heads) {
  if (!n.hasShape(i)) return std::nullopt;
  const Shape& x = n.shape(i);
  if (x.size() == 4) return x;
  if (x.size() != 3) NodeInference::invalid(fmt::format("{} has {} dimensions", operandName(i), x.size()));
  int64_t h = headsOf(n, heads);
  return Shape{x[0], Dim(h), x[1], n.sizes().quotient(x[2], Dim(h))};
}

/// Positions of the past, operand i, and the present together.
Dim totalSequence(NodeInference& n, size_t i, const Dim& present) {
  if (!n.has(i)) return present;
  return n.hasShape(i) ? n.sizes().add(n.shapeOfRank(i, 4)[2], present) : n.open();
}

/// heads · size from kv · size.
Dim packedHeads(NodeInference& n, const Dim& packed, int64_t kv, int64_t heads) {
  if (heads % kv == 0) return n.sizes().multiply(packed, Dim(heads / kv));
  return n.sizes().multiply(n.sizes().quotient(packed, Dim(kv)), Dim(heads));
}

// y is like q, with v's size of heads; then keys and values of past and present, and q · k.
void inferAttention(NodeInference& n) {
  auto q = unpacked(n, 0, "q_num_heads"), k = unpacked(n, 1, "kv_num_heads"), v = unpacked(n, 2, "kv_num_heads");
  if (k) n.setShape(1, {(*k)[0], (*k)[1], totalSequence(n, 4, (*k)[2]), (*k)[3]});
  if (v) n.setShape(2, {(*v)[0], (*v)[1], totalSequence(n, 5, (*v)[2]), (*v)[3]});
  if (q && k) n.setShape(3, {(*q)[0], (*q)[1], (*q)[2], totalSequence(n, 4, (*k)[2])});
  if (!q || !v) NodeInference::nothing();
  if (n.rank(0) != n.rank(2)) NodeInference::invalid("some operands are packed, others not");
  if (n.rank(0) == 4) return n.setShape(0, {(*q)[0], (*q)[1], (*q)[2], (*v)[3]});
  n.setShape(
      0, {(*q)[0], (*q)[2], packedHeads(n, n.shape(2).back(), headsOf(n, "kv_num_heads"), headsOf(n, "q_num_heads"))});
}

// All packed: y[b, t, h_q · d_v], state[b, h_kv, d_k, d_v]
void inferLinearAttention(NodeInference& n) {
  const int64_t heads = headsOf(n, "q_num_heads"), kv = headsOf(n, "kv_num_heads");
  if (heads % kv != 0) NodeInference::invalid(fmt::format("{} heads of queries, {} of keys", heads, kv));
  const Shape &k = n.shapeOfRank(1, 3), &v = n.shapeOfRank(2, 3);
  if (!n.has(3)) n.setElement(1, n.operand(0).element);
  n.setShape(1, {v[0], Dim(kv), n.sizes().quotient(k[2], Dim(kv)), n.sizes().quotient(v[2], Dim(kv))});
  const Shape& q = n.shapeOfRank(0, 3);
  n.setShape(0, {q[0], q[1], packedHeads(n, v[2], kv, heads)});
}

void inferRotary(NodeInference& n) {
  size_t rank = n.rank(0);
  if (rank != 3 && rank != 4) NodeInference::invalid(fmt::format("{} has {} dimensions", operandName(0), rank));
  inferLikeFirst(n);
}

constexpr InferRule kAttentionRules[] = {
    {"Attention", inferAttention},
    {"LinearAttention", inferLinearAttention},
    {"RotaryEmbedding", inferRotary},
};

}  // namespace

std::span<const InferRule> attentionRules() {
  return kAttentionRules;
}

}  // namespace pet
