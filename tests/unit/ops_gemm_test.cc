#include <random>

#include <gtest/gtest.h>

#include "ir/ops/kernels/gemm.h"

namespace pet::kernels::ops_gemm_test {
namespace {

/// Small integers, so that every sum is exact in float.
template <class T>
std::vector<T> smallIntegers(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& v : values)
    v = T(static_cast<int64_t>(random() % 15) - 7);
  return values;
}

struct Case {
  int64_t m, n, depth;
};

// Around the borders of tiles (4, 6; 4, 8, 16) and blocks (96; 2048; 256).
const Case kCases[] = {{1, 1, 1},    {6, 16, 3},  {7, 17, 5},   {5, 15, 256},    {4, 8, 257},
                       {97, 33, 20}, {96, 2, 64}, {3, 2049, 4}, {13, 2050, 300}, {100, 19, 513},
                       {0, 5, 5},    {5, 0, 5},   {5, 5, 0}};

template <class T>
class OpsGemm : public testing::Test {};
using Scalars = testing::Types<float, double, int64_t, Fp>;
TYPED_TEST_SUITE(OpsGemm, Scalars);

TYPED_TEST(OpsGemm, EqualsTheTripleLoop) {
  using T = TypeParam;
  for (const auto& [m, n, depth] : kCases) {
    for (bool transposed : {false, true}) {
      auto a = smallIntegers<T>(m * depth, 1), b = smallIntegers<T>(depth * n, 2), c = smallIntegers<T>(m * (n + 3), 3);
      MatrixView<T> viewA{a.data(), depth, 1}, viewB{b.data(), n, 1};
      if (transposed) {
        viewA = {a.data(), 1, m};
        viewB = {b.data(), 1, depth};
      }
      std::vector<T> want = c, portable = c;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          T& sum = want[static_cast<size_t>(i * (n + 3) + j)];
          for (int64_t k = 0; k < depth; ++k)
            sum = sum + *viewA.from(i, k).data * *viewB.from(k, j).data;
        }
      }
      gemm<T>(m, n, depth, viewA, viewB, c.data(), n + 3);
      portableGemm<T>(m, n, depth, viewA, viewB, portable.data(), n + 3);
      EXPECT_TRUE(c == want) << m << " " << n << " " << depth << (transposed ? " transposed" : "");
      EXPECT_TRUE(portable == want) << m << " " << n << " " << depth << (transposed ? " transposed" : "");
    }
  }
}

TEST(OpsGemmRings, LargeResiduesAndWrapping) {
  int64_t depth = 1000;
  std::vector<Fp> a(static_cast<size_t>(depth), Fp(-1)), b = a, c(1);
  gemm<Fp>(1, 1, depth, {a.data(), depth, 1}, {b.data(), 1, 1}, c.data(), 1);
  EXPECT_EQ(c[0], Fp(depth));
  std::vector<int64_t> x(2, INT64_MAX), y(1);
  gemm<int64_t>(1, 1, 2, {x.data(), 2, 1}, {x.data(), 1, 1}, y.data(), 1);
  EXPECT_EQ(y[0], 2);  // (2^63 - 1)² = 1 mod 2^64
}

}  // namespace
}  // namespace pet::kernels::ops_gemm_test
