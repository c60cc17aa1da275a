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

Draw::Draw(uint64_t seed, std::string_view name) : engine_(hashOf(name) ^ (seed * 0x9e3779b97f4a7c15u)) {}

int64_t Draw::nonZero(int64_t limit) {
  auto size = static_cast<int64_t>(below(static_cast<uint64_t>(limit)));
  return (engine_() >> 63) != 0 ? size + 1 : -size - 1;
}

float Draw::real() {
  return static_cast<float>(engine_() >> 40) * 0x1p-23f - 1.0f;
}

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
