#include "synth/free/tensor.h"

namespace pet::freemode {

uint64_t TensorType::extentsKey() const {
  uint64_t h = mix(static_cast<uint64_t>(rank));
  for (int32_t e : extents)
    h = mix(h ^ static_cast<uint64_t>(e));
  return h;
}

uint64_t TensorType::key() const {
  uint64_t h = mix(extentsKey() ^ static_cast<uint64_t>(weight));
  for (JoinKey j : joins)
    h = mix(h ^ j);
  return h;
}

TensorType typeOf(const Leaf& leaf) {
  TensorType type;
  type.rank = static_cast<int32_t>(leaf.extents.size());
  for (size_t d = 0; d < leaf.extents.size(); ++d)
    type.extents[d] = static_cast<int32_t>(leaf.extents[d]);
  type.weight = leaf.weight;
  return type;
}

JoinKey Joins::key(const Join& j) {
  uint64_t h = mix(static_cast<uint64_t>(j.left) << 32 | static_cast<uint64_t>(j.right));
  h = mix(mix(h ^ j.leftJoin) ^ j.rightJoin);
  return h == 0 ? 1 : h;
}

}  // namespace pet::freemode
