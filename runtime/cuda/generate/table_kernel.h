#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/plan/access.h"

namespace pet::cuda {

/// A product with a small matrix of known numbers, at every position v, as Winograd's transforms are (PET's and
/// EinNet's eOperators):
///
///     y_k[v] = value(Σ_j table[k, j] · x_j[v] + Σ_a added_a,k[v])
struct TableKernel {
  std::vector<plan::Access> x, y;  ///< of the positions' extents; x may have a fill
  std::vector<float> table;        ///< a row for each y
  struct Addend {
    int pointer;
    std::vector<plan::Access> at;  ///< as y
  };
  std::vector<Addend> added;
  int xPointer = 1;         ///< y is pointer 0
  int pointers = 2;         ///< in all, of which some may not be read
  std::string value = "r";  ///< of the sum r
};

/// A thread for each position: it reads every x once, and computes each y from those that its row has. The numbers are
/// in the code.
KernelSource generate(const TableKernel& kernel);

}  // namespace pet::cuda
