#pragma once

#include <cstdint>
#include <random>
#include <string_view>

#include "ir/tensor.h"

namespace pet {

/// A stream of random numbers that is a function of (seed, name) alone, the same on every platform.
class Draw {
 public:
  Draw(uint64_t seed, std::string_view name);
  /// 0 <= result < n.
  uint64_t below(uint64_t n) { return engine_() % n; }
  /// Uniform in {-limit, …, -1, 1, …, limit}: never 0, so that no term can hide.
  int64_t nonZero(int64_t limit);
  /// Uniform in [-1, 1), a multiple of 2^-23.
  float real();

 private:
  std::mt19937_64 engine_;
};

Tensor<int64_t> drawNonZero(Draw draw, const Extents& extents, int64_t limit);
Tensor<float> drawReal(Draw draw, const Extents& extents);

}  // namespace pet
