#pragma once

#include <vector>

#include "ir/program.h"

namespace pet {

/// Operators that an engine for GPUs computes in one go, and what that asks for.
struct DeviceStep {
  std::vector<int> nodes;     ///< ascending
  double gemm = 0, conv = 0;  ///< multiply-adds of products of matrices, and of Convs
  double elements = 0;        ///< read and written: values from outside, and those that are read outside
  friend bool operator==(const DeviceStep&, const DeviceStep&) = default;
};

/// The steps of a program, as our engine for GPUs takes them: a product, Conv, reduction or pool with the element-wise
/// operators that follow it; element-wise operators and layouts that follow each other. What moves nothing, and what is
/// computed of constants, is no step. kCheck: a symbol is unbound, an extent is negative or beyond 64 bits.
Expected<std::vector<DeviceStep>> deviceSteps(const Program& program, const Bindings& symbols);

}  // namespace pet
