#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ir/program.h"
#include "ir/tensor.h"

namespace pet {

/// A stream of random numbers that is a function of (seed, name) alone, the same on every platform. (SplitMix64:
/// tensors of a model's weights are drawn, and a number has to cost no more than its store.)
class Draw {
 public:
  Draw(uint64_t seed, std::string_view name);
  /// 0 <= result < n.
  uint64_t below(uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(Wide{next()} * n >> 64);
  }
  /// Uniform in {-limit, …, -1, 1, …, limit}: never 0, so that no term can hide.
  int64_t nonZero(int64_t limit) {
    const auto x = static_cast<int64_t>(below(2 * static_cast<uint64_t>(limit)));
    return x < limit ? x - limit : x - limit + 1;
  }
  /// Uniform in [-1, 1), a multiple of 2^-23.
  float real() { return static_cast<float>(static_cast<int64_t>(next() >> 40)) * 0x1p-23F - 1.0F; }

 private:
  uint64_t next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

Tensor<int64_t> drawNonZero(Draw draw, const Extents& extents, int64_t limit);
Tensor<float> drawReal(Draw draw, const Extents& extents);

/// The inputs that OneHot or Lookup reads, maybe by way of operators that move values, and among how many positions
/// they choose there.
using IndexInputs = std::map<std::string, int64_t, std::less<>>;
IndexInputs indexInputs(const Program& program, const Bindings& symbols);
/// Uniform in {-count - 1, …, count}: also what counts from the end, and what is none of the positions.
Tensor<int64_t> drawIndices(Draw draw, const Extents& extents, int64_t count);
/// Indices for one of these inputs, reals for another one.
Tensor<float> drawInput(uint64_t seed, std::string_view name, const Extents& extents, const IndexInputs& indices);

}  // namespace pet
