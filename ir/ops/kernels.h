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

PET_KERNEL(Reshape);
PET_KERNEL(SpaceToDepth);
PET_KERNEL(DepthToSpace);
PET_KERNEL(Expand);
PET_KERNEL(Tile);

PET_KERNEL(Add);
PET_KERNEL(Sub);
PET_KERNEL(Mul);
PET_KERNEL(Div);
PET_KERNEL(Neg);
PET_KERNEL(Where);
PET_KERNEL(Identity);
PET_KERNEL(Constant);
PET_KERNEL(Eye);

#undef PET_KERNEL

}  // namespace pet::kernels
