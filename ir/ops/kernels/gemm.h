#pragma once

#include "ir/ops/op.h"

namespace pet::kernels {

/// Element (i, j) of a matrix lies at data[i · rows + j · columns].
template <class T>
struct MatrixView {
  const T* data;
  int64_t rows, columns;  ///< strides, in elements

  MatrixView from(int64_t i, int64_t j) const { return {data + i * rows + j * columns, rows, columns}; }
};

/// c[i · ldc + j] += Σ_k a(i, k) · b(k, j), for 0 <= i < m, 0 <= j < n, 0 <= k < depth. Over float, double, int64_t
/// (wrapping), Fp. Blocked for the caches as in Goto & van de Geijn, "Anatomy of High-Performance Matrix
/// Multiplication" (TOMS 2008).
template <class T>
void gemm(int64_t m, int64_t n, int64_t depth, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc);

/// The same with the instructions that every machine has; gemm falls back to it.
template <class T>
void portableGemm(int64_t m, int64_t n, int64_t depth, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc);

}  // namespace pet::kernels
