#include "runtime/cuda/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::cuda {
namespace {

std::string_view nameOf(plan::Function function) {
  using plan::Function;
  switch (function) {
    case Function::kLinear:
      return "linear";
    case Function::kRelu:
      return "relu";
    case Function::kSigmoid:
      return "sigmoid";
    case Function::kTanh:
      return "tanh";
    case Function::kExp:
      return "exp";
    case Function::kLog:
      return "log";
    case Function::kSqrt:
      return "sqrt";
    case Function::kSquare:
      return "square";
    case Function::kPow:
      return "pow";
    case Function::kElu:
      return "elu";
    case Function::kSoftplus:
      return "softplus";
    case Function::kSwish:
      return "swish";
    case Function::kMish:
      return "mish";
    case Function::kHardSwish:
      return "hardswish";
    case Function::kGeluErf:
      return "gelu";
    case Function::kGeluTanh:
      return "gelu_tanh";
    case Function::kClip:
      return "clip";
  }
  return "";
}

std::string_view nameOf(NormCall::Kind kind) {
  using Kind = NormCall::Kind;
  return kind == Kind::kLayer ? "layer" : kind == Kind::kRms ? "rms" : "instance";
}

/// "2x3x9x8:216,72,8,1"
std::string textOf(const TensorForm& form) {
  return fmt::format("{}:{}", fmt::join(form.extents, "x"), fmt::join(form.strides, ","));
}

std::string textOf(const std::optional<plan::Activation>& activation) {
  if (!activation) return "";
  return fmt::format(" {}({},{})", nameOf(activation->function), activation->alpha, activation->beta);
}

std::string textOf(std::string_view name, const std::optional<TensorForm>& form) {
  return form ? fmt::format(" {}={}", name, textOf(*form)) : "";
}

int64_t elementsOf(const TensorForm& form) {
  int64_t last = 0;
  for (size_t d = 0; d < form.extents.size(); ++d)
    last += (form.extents[d] - 1) * form.strides[d];
  return last + 1;
}

}  // namespace

std::string problemOf(const ConvCall& c, Precision precision) {
  return fmt::format("{} {} x={} w={} y={} strides={} dilations={} pads={};{} group={}{}{}{}",
                     c.transposed ? "dgrad" : "conv", nameOf(precision), textOf(c.x), textOf(c.w), textOf(c.y),
                     fmt::join(c.strides, ","), fmt::join(c.dilations, ","), fmt::join(c.before, ","),
                     fmt::join(c.after, ","), c.group, c.bias ? " bias" : "", textOf("added", c.added),
                     textOf(c.activation));
}

std::string problemOf(const ProductCall& c, Precision precision) {
  return fmt::format("product {} left={} right={} y={}{}{}", nameOf(precision), textOf(c.left), textOf(c.right),
                     textOf(c.y), c.bias ? " bias" : "", textOf(c.activation));
}

std::string problemOf(const AttentionCall& c, Precision precision) {
  return fmt::format("attention {} q={} k={} v={} y={} scale={}{}{}", nameOf(precision), textOf(c.q), textOf(c.k),
                     textOf(c.v), textOf(c.y), c.scale, textOf("bias", c.bias), c.causal ? " causal" : "");
}

std::string problemOf(const PoolCall& c, Precision precision) {
  return fmt::format("{} pool {} x={} y={} kernel={} strides={} dilations={} pads={};{}{}", c.isMax ? "max" : "mean",
                     nameOf(precision), textOf(c.x), textOf(c.y), fmt::join(c.kernel, ","), fmt::join(c.strides, ","),
                     fmt::join(c.dilations, ","), fmt::join(c.before, ","), fmt::join(c.after, ","),
                     c.countsPads ? " counted" : "");
}

std::string problemOf(const NormCall& c, Precision precision) {
  return fmt::format("{} norm {} x={} y={} epsilon={}{}", nameOf(c.kind), nameOf(precision), textOf(c.x), textOf(c.y),
                     c.epsilon, c.shift ? " shift" : "");
}

std::vector<int64_t> elementsOf(const ConvCall& c) {
  std::vector<int64_t> elements{elementsOf(c.y), elementsOf(c.x), elementsOf(c.w)};
  if (c.bias) elements.push_back(c.y.extents[1]);
  if (c.added) elements.push_back(elementsOf(*c.added));
  return elements;
}

std::vector<int64_t> elementsOf(const ProductCall& c) {
  std::vector<int64_t> elements{elementsOf(c.y), elementsOf(c.left), elementsOf(c.right)};
  if (c.bias) elements.push_back(c.y.extents[2]);
  return elements;
}

std::vector<int64_t> elementsOf(const AttentionCall& c) {
  std::vector<int64_t> elements{elementsOf(c.y), elementsOf(c.q), elementsOf(c.k), elementsOf(c.v)};
  if (c.bias) elements.push_back(elementsOf(*c.bias));
  return elements;
}

std::vector<int64_t> elementsOf(const PoolCall& c) {
  return {elementsOf(c.y), elementsOf(c.x)};
}

std::vector<int64_t> elementsOf(const NormCall& c) {
  std::vector<int64_t> elements{elementsOf(c.y), elementsOf(c.x), c.x.extents[1]};
  if (c.shift) elements.push_back(c.x.extents[1]);
  return elements;
}

}  // namespace pet::cuda
