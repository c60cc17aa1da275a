#pragma once

#include "ir/ops/op.h"

// The evaluation functors that the rows name; each is defined and instantiated in kernels/*.cc.
namespace pet::kernels {

#define PET_KERNEL(Name)                                                                                         \
  struct Name {                                                                                                  \
    template <class T>                                                                                           \
    static Expected<std::vector<Tensor<T>>> run(const ConcreteNode& node, std::span<const Tensor<T>* const> in); \
  }

PET_KERNEL(Conv);
PET_KERNEL(ConvTranspose);
PET_KERNEL(MatMul);
PET_KERNEL(Einsum);
PET_KERNEL(OffsetReduce);
PET_KERNEL(Layout);
PET_KERNEL(IndexMap);
PET_KERNEL(CyclicMap);
PET_KERNEL(Pad);
PET_KERNEL(Slice);
PET_KERNEL(Concat);
PET_KERNEL(Split);
PET_KERNEL(Transpose);
PET_KERNEL(Gather);
PET_KERNEL(ScatterND);
PET_KERNEL(OneHot);
PET_KERNEL(Lookup);
PET_KERNEL(Col2Im);

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
PET_KERNEL(Select);
PET_KERNEL(Where);
PET_KERNEL(Greater);
PET_KERNEL(Identity);
PET_KERNEL(Constant);
PET_KERNEL(Eye);
PET_KERNEL(Band);
PET_KERNEL(Table);

PET_KERNEL(PRelu);
PET_KERNEL(Max);
PET_KERNEL(Pow);
PET_KERNEL(Exponential);
PET_KERNEL(Softmax);
PET_KERNEL(LogSoftmax);

PET_KERNEL(MaxPool);
PET_KERNEL(AveragePool);
PET_KERNEL(GlobalMaxPool);
PET_KERNEL(GlobalAveragePool);
PET_KERNEL(ReduceSum);
PET_KERNEL(ReduceMean);
PET_KERNEL(ReduceMax);
PET_KERNEL(ArgMax);
PET_KERNEL(ReduceL2);

PET_KERNEL(BatchNormalization);
PET_KERNEL(InstanceNormalization);
PET_KERNEL(LayerNormalization);
PET_KERNEL(RMSNormalization);
PET_KERNEL(LRN);
PET_KERNEL(Gemm);

PET_KERNEL(Resize);

PET_KERNEL(CumSum);

PET_KERNEL(DFT);
PET_KERNEL(STFT);

#undef PET_KERNEL

}  // namespace pet::kernels
