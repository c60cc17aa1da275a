#include "ir/ops/kernels/gemm.h"

#include <algorithm>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace pet::kernels {
namespace {

// A micro-kernel adds a kRows × kColumns tile: c += Σ_k a[k][·] · b[k][·], both packed, in registers.

template <class T, int Bytes>
struct Vector {
  typedef T type __attribute__((vector_size(Bytes)));
  static constexpr int kLanes = Bytes / static_cast<int>(sizeof(T));
};

/// kRows × 2 vector registers. Inlined into functions compiled for one instruction set each.
template <class T, int Bytes, int kRows>
[[gnu::always_inline]] inline void vectorTile(int64_t depth, const T* a, const T* b, T* c, int64_t ldc) {
  using V = typename Vector<T, Bytes>::type;
  constexpr int kLanes = Vector<T, Bytes>::kLanes;
  V sum[kRows][2] = {};
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += 2 * kLanes) {
    V b0, b1;
    std::memcpy(&b0, b, sizeof b0);
    std::memcpy(&b1, b + kLanes, sizeof b1);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      V x = a[i] - V{};  // all lanes
      sum[i][0] += x * b0;
      sum[i][1] += x * b1;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < 2; ++v) {
      V old;
      std::memcpy(&old, c + i * ldc + v * kLanes, sizeof old);
      old += sum[i][v];
      std::memcpy(c + i * ldc + v * kLanes, &old, sizeof old);
    }
  }
}

template <class T>
struct PlainTile {
  using Element = T;
  static constexpr int kRows = 4, kColumns = 2 * Vector<T, 16>::kLanes;
  static Element pack(T x) { return x; }
  static void run(int64_t depth, const T* a, const T* b, T* c, int64_t ldc) {
    vectorTile<T, 16, kRows>(depth, a, b, c, ldc);
  }
};

#ifdef __x86_64__
// The two give the same bits: every element is summed in the same order.
template <class T>
struct Avx2Tile {
  using Element = T;
  static constexpr int kRows = 6, kColumns = 2 * Vector<T, 32>::kLanes;
  static Element pack(T x) { return x; }
  [[gnu::target("avx2,fma")]] static void run(int64_t depth, const T* a, const T* b, T* c, int64_t ldc) {
    vectorTile<T, 32, kRows>(depth, a, b, c, ldc);
  }
};

template <class T>
struct Avx512Tile {
  using Element = T;
  static constexpr int kRows = 12, kColumns = 2 * Vector<T, 64>::kLanes;
  static Element pack(T x) { return x; }
  [[gnu::target("avx512f,avx2,fma")]] static void run(int64_t depth, const T* a, const T* b, T* c, int64_t ldc) {
    vectorTile<T, 64, kRows>(depth, a, b, c, ldc);
  }
};
#endif

/// The exact rings, in unsigned arithmetic. Residues mod p = 2^31 - 1 are below 2^31 and a·b = h·2^31 + l ≡ h + l <
/// 2^32, so that 2^32 terms fit in a sum.
template <class T>
struct ExactTile {
  using Element = uint64_t;
  static constexpr int kRows = 4, kColumns = 4;

  static Element pack(T x) {
    if constexpr (std::is_same_v<T, Fp>)
      return x.value();
    else
      return static_cast<uint64_t>(x);
  }
  static void run(int64_t depth, const Element* a, const Element* b, T* c, int64_t ldc) {
    Element sum[kRows][kColumns] = {};
    for (int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kColumns; ++j) {
          Element product = a[i] * b[j];
          if constexpr (std::is_same_v<T, Fp>) product = (product & Fp::kPrime) + (product >> 31);
          sum[i][j] += product;
        }
      }
    }
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        T& to = c[i * ldc + j];
        if constexpr (std::is_same_v<T, Fp>)
          to += Fp(static_cast<int64_t>(sum[i][j] % Fp::kPrime));
        else
          to = static_cast<T>(static_cast<uint64_t>(to) + sum[i][j]);
      }
    }
  }
};

#ifdef __x86_64__
/// The same with four residues in a register. Four products, each of two numbers below p, fit in 64 bits, so that one
/// step of a reduction does for all of them.
struct Avx2ResidueTile {
  using Element = uint64_t;
  static constexpr int kRows = 4, kLanes = 4, kColumns = 2 * kLanes, kTerms = 4;

  static Element pack(Fp x) { return ExactTile<Fp>::pack(x); }

  using Sums = __m256i[kRows][2];

  template <int kCount>
  [[gnu::target("avx2"), gnu::always_inline]] static inline void addTerms(const Element* a,
                                                                          const Element* b,
                                                                          Sums& sum) {
    const __m256i low = _mm256_set1_epi64x(static_cast<int64_t>(Fp::kPrime));
    for (int v = 0; v < 2; ++v) {
      for (int i = 0; i < kRows; ++i) {
        __m256i products = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (int t = 0; t < kCount; ++t) {
          __m256i x = _mm256_set1_epi64x(static_cast<int64_t>(a[t * kRows + i]));
          __m256i column = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + t * kColumns + v * kLanes));
          products = _mm256_add_epi64(products, _mm256_mul_epu32(x, column));
        }
        __m256i folded = _mm256_add_epi64(_mm256_and_si256(products, low), _mm256_srli_epi64(products, 31));
        sum[i][v] = _mm256_add_epi64(sum[i][v], folded);
      }
    }
  }

  [[gnu::target("avx2")]] static void run(int64_t depth, const Element* a, const Element* b, Fp* c, int64_t ldc) {
    Sums sum = {};
    int64_t k = 0;
    for (; k + kTerms <= depth; k += kTerms)
      addTerms<kTerms>(a + k * kRows, b + k * kColumns, sum);
    for (; k < depth; ++k)
      addTerms<1>(a + k * kRows, b + k * kColumns, sum);
    Element total[kColumns];
    for (int i = 0; i < kRows; ++i) {
      std::memcpy(total, sum[i], sizeof total);
      for (int j = 0; j < kColumns; ++j)
        c[i * ldc + j] += Fp(static_cast<int64_t>(total[j] % Fp::kPrime));
    }
  }
};
#endif

/// Panels of `width` columns, each as [depth][width], the last one filled up with zeros. view(k, j) is strided.
template <class Tile, class T>
void packPanels(MatrixView<T> view, int64_t depth, int64_t count, int64_t width, typename Tile::Element* to) {
  for (int64_t first = 0; first < count; first += width) {
    int64_t used = std::min(width, count - first);
    for (int64_t k = 0; k < depth; ++k) {
      const T* from = view.data + k * view.rows + first * view.columns;
      for (int64_t j = 0; j < used; ++j)
        *to++ = Tile::pack(from[j * view.columns]);
      to = std::fill_n(to, width - used, typename Tile::Element{});
    }
  }
}

constexpr int64_t kDepthBlock = 256, kRowBlock = 96, kColumnBlock = 2048;

/// The product of one packed block of a (rows × depth) with one of b (depth × columns).
template <class Tile, class T>
void multiplyBlock(int64_t rows,
                   int64_t columns,
                   int64_t depth,
                   const typename Tile::Element* a,
                   const typename Tile::Element* b,
                   T* c,
                   int64_t ldc) {
  T border[Tile::kRows * Tile::kColumns];
  for (int64_t j = 0; j < columns; j += Tile::kColumns) {
    for (int64_t i = 0; i < rows; i += Tile::kRows) {
      T* to = c + i * ldc + j;
      int64_t height = std::min<int64_t>(Tile::kRows, rows - i), width = std::min<int64_t>(Tile::kColumns, columns - j);
      if (height == Tile::kRows && width == Tile::kColumns) {
        Tile::run(depth, a + i * depth, b + j * depth, to, ldc);
        continue;
      }
      std::fill(std::begin(border), std::end(border), T());
      for (int64_t y = 0; y < height; ++y)
        std::copy_n(to + y * ldc, width, border + y * Tile::kColumns);
      Tile::run(depth, a + i * depth, b + j * depth, border, Tile::kColumns);
      for (int64_t y = 0; y < height; ++y)
        std::copy_n(border + y * Tile::kColumns, width, to + y * ldc);
    }
  }
}

int64_t roundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

template <class Tile, class T>
void blocked(int64_t m, int64_t n, int64_t depth, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc) {
  static_assert(kRowBlock % Tile::kRows == 0 && kColumnBlock % Tile::kColumns == 0);
  int64_t deep = std::min(depth, kDepthBlock);
  std::vector<typename Tile::Element> packedA(static_cast<size_t>(deep * roundUp(std::min(m, kRowBlock), Tile::kRows)));
  std::vector<typename Tile::Element> packedB(
      static_cast<size_t>(deep * roundUp(std::min(n, kColumnBlock), Tile::kColumns)));
  for (int64_t j = 0; j < n; j += kColumnBlock) {
    int64_t columns = std::min(kColumnBlock, n - j);
    for (int64_t k = 0; k < depth; k += kDepthBlock) {
      int64_t slice = std::min(kDepthBlock, depth - k);
      packPanels<Tile, T>(b.from(k, j), slice, columns, Tile::kColumns, packedB.data());
      for (int64_t i = 0; i < m; i += kRowBlock) {
        int64_t rows = std::min(kRowBlock, m - i);
        MatrixView<T> block = a.from(i, k);
        packPanels<Tile, T>({block.data, block.columns, block.rows}, slice, rows, Tile::kRows, packedA.data());
        multiplyBlock<Tile, T>(rows, columns, slice, packedA.data(), packedB.data(), c + i * ldc + j, ldc);
      }
    }
  }
}

}  // namespace

template <class T>
void portableGemm(int64_t m, int64_t n, int64_t depth, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc) {
  if (m == 0 || n == 0 || depth == 0) return;
  using Chosen = std::conditional_t<std::is_floating_point_v<T>, PlainTile<T>, ExactTile<T>>;
  blocked<Chosen, T>(m, n, depth, a, b, c, ldc);
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t depth, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc) {
#ifdef __x86_64__
  if constexpr (!std::is_same_v<T, int64_t>) {
    if (m == 0 || n == 0 || depth == 0) return;
    if constexpr (std::is_floating_point_v<T>) {
      if (__builtin_cpu_supports("avx512f")) return blocked<Avx512Tile<T>, T>(m, n, depth, a, b, c, ldc);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      using Chosen = std::conditional_t<std::is_same_v<T, Fp>, Avx2ResidueTile, Avx2Tile<T>>;
      return blocked<Chosen, T>(m, n, depth, a, b, c, ldc);
    }
  }
#endif
  portableGemm(m, n, depth, a, b, c, ldc);
}

#define PET_GEMM(T)                                                                         \
  template void gemm(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t); \
  template void portableGemm(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t)
PET_GEMM(float);
PET_GEMM(double);
PET_GEMM(int64_t);
PET_GEMM(Fp);
#undef PET_GEMM

}  // namespace pet::kernels
