#pragma once

#include <cstdint>

namespace pet::onednn {

/// Channels side by side: a register, or as many as the processor needs. In PET_WIDE_LOOPS.
inline constexpr int64_t kLanes = 16;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using UnalignedLanes [[gnu::vector_size(kLanes * sizeof(float)), gnu::aligned(alignof(float)), gnu::may_alias]] = float;

/// Those from an address on.
inline const UnalignedLanes& lanesAt(const float* x) {
  return *reinterpret_cast<const UnalignedLanes*>(x);
}
inline UnalignedLanes& lanesAt(float* x) {
  return *reinterpret_cast<UnalignedLanes*>(x);
}

}  // namespace pet::onednn
