#pragma once

#include "ir/ops/op.h"

// The evaluation functors that the rows name; each is defined and instantiated in kernels/*.cc.
namespace pet::kernels {

#define PET_KERNEL(Name)                                                                                          \
  struct Name {                                                                                                   \
    template <class T>                                                                                            \
    static Expected<std::vector<Tensor<T>>> run(const ConcreteNode& node, std::span<const Tensor<T>* const> in); \
  }

PET_KERNEL(Conv);
PET_KERNEL(ConvTranspose);
PET_KERNEL(MatMul);
PET_KERNEL(OffsetReduce);
PET_KERNEL(Layout);
PET_KERNEL(IndexMap);
PET_KERNEL(Pad);
PET_KERNEL(Slice);
PET_KERNEL(Concat);
PET_KERNEL(Split);
PET_KERNEL(Transpose);

#undef PET_KERNEL

}  // namespace pet::kernels
