#include "runtime/onednn/lowerings.h"

namespace pet::onednn {

const LowerRow* findLowering(std::string_view op) {
  for (auto rows : {convLowerings(), matmulLowerings(), elementLowerings(), poolLowerings(), normalizationLowerings(),
                    resampleLowerings(), concatLowerings()}) {
    for (const LowerRow& row : rows) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

dnnl::algorithm algorithmOf(Function function) {
  using Algorithm = dnnl::algorithm;
  switch (function) {
    case Function::kLinear:
      return Algorithm::eltwise_linear;
    case Function::kRelu:
      return Algorithm::eltwise_relu;
    case Function::kSigmoid:
      return Algorithm::eltwise_logistic;
    case Function::kTanh:
      return Algorithm::eltwise_tanh;
    case Function::kExp:
      return Algorithm::eltwise_exp;
    case Function::kLog:
      return Algorithm::eltwise_log;
    case Function::kSqrt:
      return Algorithm::eltwise_sqrt;
    case Function::kSquare:
      return Algorithm::eltwise_square;
    case Function::kPow:
      return Algorithm::eltwise_pow;
    case Function::kElu:
      return Algorithm::eltwise_elu;
    case Function::kSoftplus:
      return Algorithm::eltwise_soft_relu;
    case Function::kSwish:
      return Algorithm::eltwise_swish;
    case Function::kMish:
      return Algorithm::eltwise_mish;
    case Function::kHardSwish:
      return Algorithm::eltwise_hardswish;
    case Function::kGeluErf:
      return Algorithm::eltwise_gelu_erf;
    case Function::kGeluTanh:
      return Algorithm::eltwise_gelu_tanh;
    case Function::kClip:
      return Algorithm::eltwise_clip;
  }
  return Algorithm::undef;
}

dnnl::primitive_attr attributesOf(const Epilogue& epilogue, const dnnl::memory::desc* binary) {
  dnnl::post_ops ops;
  for (const auto& p : epilogue.post) {
    if (const auto* a = std::get_if<Activation>(&p)) {
      const float scale = a->function == Function::kElu ? a->beta : 1;
      ops.append_eltwise(scale, algorithmOf(a->function), a->alpha, a->beta);
    } else if (binary) {
      ops.append_binary(dnnl::algorithm::binary_add, *binary);
    } else {
      ops.append_sum(1);
    }
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(ops);
  return attributes;
}

}  // namespace pet::onednn
