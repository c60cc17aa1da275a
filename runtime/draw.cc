#include "runtime/draw.h"

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

}  // namespace pet
