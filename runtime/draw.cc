#include "runtime/draw.h"

#include "ir/value_kinds.h"

namespace pet {
namespace {

/// FNV-1a.
uint64_t hashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211u;
  return hash;
}

}  // namespace

Draw::Draw(uint64_t seed, std::string_view name) : state_(hashOf(name) ^ (seed * 0xff51afd7ed558ccdu)) {}

Tensor<int64_t> drawNonZero(Draw draw, const Extents& extents, int64_t limit) {
  Tensor<int64_t> tensor(extents);
  for (int64_t& x : tensor.data)
    x = draw.nonZero(limit);
  return tensor;
}

Tensor<float> drawReal(Draw draw, const Extents& extents) {
  Tensor<float> tensor(extents);
  for (float& x : tensor.data)
    x = draw.real();
  return tensor;
}

IndexInputs indexInputs(const Program& program, const Bindings& symbols) {
  IndexInputs counts;
  for (Value v : program.inputs()) {
    const auto positions = positionsChosenBy(program, v);
    const auto count = positions ? positions->evaluate(symbols) : std::nullopt;
    if (count) counts.emplace(program.name(v), *count);
  }
  return counts;
}

Tensor<int64_t> drawIndices(Draw draw, const Extents& extents, int64_t count) {
  Tensor<int64_t> tensor(extents);
  for (int64_t& x : tensor.data)
    x = static_cast<int64_t>(draw.below(2 * static_cast<uint64_t>(count) + 2)) - count - 1;
  return tensor;
}

Tensor<float> drawInput(uint64_t seed, std::string_view name, const Extents& extents, const IndexInputs& indices) {
  const auto count = indices.find(name);
  if (count == indices.end()) return drawReal(Draw(seed, name), extents);
  const Tensor<int64_t> drawn = drawIndices(Draw(seed, name), extents, count->second);
  return {extents, {drawn.data.begin(), drawn.data.end()}};
}

}  // namespace pet
