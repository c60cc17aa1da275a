#pragma once

#include <string_view>

namespace pet {

/// The name of a row of the operator table (ir/ops/op.h), for code that is about that operator and no other. A test
/// holds that each of `ops` is one.
struct OpName {
  std::string_view text;
};

namespace ops {

inline constexpr OpName kAbs{"Abs"};
inline constexpr OpName kAdd{"Add"};
inline constexpr OpName kArgMax{"ArgMax"};
inline constexpr OpName kAveragePool{"AveragePool"};
inline constexpr OpName kBand{"Band"};
inline constexpr OpName kBatchNormalization{"BatchNormalization"};
inline constexpr OpName kCeil{"Ceil"};
inline constexpr OpName kClip{"Clip"};
inline constexpr OpName kCol2Im{"Col2Im"};
inline constexpr OpName kConcat{"Concat"};
inline constexpr OpName kConstant{"Constant"};
inline constexpr OpName kConvTranspose{"ConvTranspose"};
inline constexpr OpName kConv{"Conv"};
inline constexpr OpName kCos{"Cos"};
inline constexpr OpName kCumSum{"CumSum"};
inline constexpr OpName kCyclicMap{"CyclicMap"};
inline constexpr OpName kDFT{"DFT"};
inline constexpr OpName kDepthToSpace{"DepthToSpace"};
inline constexpr OpName kDiv{"Div"};
inline constexpr OpName kEinsum{"Einsum"};
inline constexpr OpName kElu{"Elu"};
inline constexpr OpName kExp{"Exp"};
inline constexpr OpName kExpand{"Expand"};
inline constexpr OpName kExponential{"Exponential"};
inline constexpr OpName kEye{"Eye"};
inline constexpr OpName kFlatten{"Flatten"};
inline constexpr OpName kFloor{"Floor"};
inline constexpr OpName kGather{"Gather"};
inline constexpr OpName kGemm{"Gemm"};
inline constexpr OpName kGlobalAveragePool{"GlobalAveragePool"};
inline constexpr OpName kGlobalMaxPool{"GlobalMaxPool"};
inline constexpr OpName kGreater{"Greater"};
inline constexpr OpName kIdentity{"Identity"};
inline constexpr OpName kIndexMap{"IndexMap"};
inline constexpr OpName kInput{"Input"};
inline constexpr OpName kLayerNormalization{"LayerNormalization"};
inline constexpr OpName kLayout{"Layout"};
inline constexpr OpName kLog{"Log"};
inline constexpr OpName kLogSoftmax{"LogSoftmax"};
inline constexpr OpName kLookup{"Lookup"};
inline constexpr OpName kMatMul{"MatMul"};
inline constexpr OpName kMaxPool{"MaxPool"};
inline constexpr OpName kMish{"Mish"};
inline constexpr OpName kMod{"Mod"};
inline constexpr OpName kMul{"Mul"};
inline constexpr OpName kNeg{"Neg"};
inline constexpr OpName kNot{"Not"};
inline constexpr OpName kOffsetReduce{"OffsetReduce"};
inline constexpr OpName kOneHot{"OneHot"};
inline constexpr OpName kPRelu{"PRelu"};
inline constexpr OpName kPad{"Pad"};
inline constexpr OpName kPow{"Pow"};
inline constexpr OpName kRMSNormalization{"RMSNormalization"};
inline constexpr OpName kReciprocal{"Reciprocal"};
inline constexpr OpName kReduceL2{"ReduceL2"};
inline constexpr OpName kReduceMax{"ReduceMax"};
inline constexpr OpName kReduceMean{"ReduceMean"};
inline constexpr OpName kReduceSum{"ReduceSum"};
inline constexpr OpName kRelu{"Relu"};
inline constexpr OpName kReshape{"Reshape"};
inline constexpr OpName kResize{"Resize"};
inline constexpr OpName kSTFT{"STFT"};
inline constexpr OpName kSelect{"Select"};
inline constexpr OpName kSelu{"Selu"};
inline constexpr OpName kSigmoid{"Sigmoid"};
inline constexpr OpName kSin{"Sin"};
inline constexpr OpName kSlice{"Slice"};
inline constexpr OpName kSoftmax{"Softmax"};
inline constexpr OpName kSoftplus{"Softplus"};
inline constexpr OpName kSplit{"Split"};
inline constexpr OpName kSqrt{"Sqrt"};
inline constexpr OpName kSquare{"Square"};
inline constexpr OpName kSqueeze{"Squeeze"};
inline constexpr OpName kSub{"Sub"};
inline constexpr OpName kTable{"Table"};
inline constexpr OpName kTile{"Tile"};
inline constexpr OpName kTranspose{"Transpose"};
inline constexpr OpName kUnsqueeze{"Unsqueeze"};
inline constexpr OpName kWhere{"Where"};

}  // namespace ops
}  // namespace pet
