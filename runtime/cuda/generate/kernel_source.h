#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pet::cuda {

/// A kernel of ours as CUDA C++, and how it is started. Its arguments are pointers to elements of type T, which the
/// prelude defines: first the result, then the operands.
struct KernelSource {
  std::string name;  ///< follows from the code: equal kernels have equal names
  std::string code;
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  int pointers = 0;
  bool barriers = false;  ///< threads of a block wait for one another, or exchange values
};

/// The types of elements that kernels of ours read and write. They compute in float.
enum class Storage { kFloat, kHalf, kBfloat16 };

/// What stands before kernels in a file: T, functions of one number, sums over threads.
std::string prelude(Storage storage);

/// The number as code, exactly.
std::string number(float value);

/// A kernel with its name filled in where the code says NAME.
KernelSource named(std::string_view kind, std::string code);

}  // namespace pet::cuda
