// Arithmetic, element-wise functions, pools, reductions, normalisations, Resize.

#include <algorithm>
#include <cmath>

#include "applier/operators/emission.h"

namespace pet {
namespace {

/// The operator of the same name, without attributes.
void emitSame(const Emission& e) {
  e.last(e.node().op->name, e.operands());
}

void emitSquare(const Emission& e) {
  e.last("Mul", {e.operand(0), e.operand(0)});
}

GraphAttribute numberAttribute(const Emission& e, std::string_view name) {
  return static_cast<float>(e.node().number(name));
}

void emitLeakyRelu(const Emission& e) {
  e.last("LeakyRelu", e.operands(), {{"alpha", numberAttribute(e, "alpha")}});
}

void emitHardSigmoid(const Emission& e) {
  e.last("HardSigmoid", e.operands(), {{"alpha", numberAttribute(e, "alpha")}, {"beta", numberAttribute(e, "beta")}});
}

void emitGelu(const Emission& e) {
  e.last("Gelu", e.operands(), {{"approximate", e.node().text("approximate")}});
}

void emitClip(const Emission& e) {
  double low = e.node().number("min"), high = e.node().number("max");
  bool hasLow = !std::isinf(low), hasHigh = !std::isinf(high);
  std::vector<std::string> inputs = e.operands();
  Emission::OnnxAttributes attributes;
  if (e.opset() < 11) {
    if (hasLow) attributes.emplace("min", static_cast<float>(low));
    if (hasHigh) attributes.emplace("max", static_cast<float>(high));
  } else if (hasLow || hasHigh) {
    inputs.emplace_back();
    if (hasLow) inputs.back() = e.number("min", low);
    if (hasHigh) inputs.push_back(e.number("max", high));
  }
  e.last("Clip", inputs, attributes);
}

void emitSoftmax(const Emission& e) {
  auto axis = e.scalar("axis"), rank = static_cast<int64_t>(e.extents(0).size());
  if (axis + 1 != rank) e.require(13, "Softmax along an inner axis");
  e.last("Softmax", e.operands(), {{"axis", axis}});
}

void emitWhere(const Emission& e) {
  std::string condition = e.step("Cast", {e.operand(0)}, {{"to", static_cast<int64_t>(ElementType::kBool)}});
  e.last("Where", {condition, e.operand(1), e.operand(2)});
}

void emitPool(const Emission& e) {
  Emission::OnnxAttributes attributes{
      {"kernel_shape", e.list("kernel_shape")}, {"strides", e.list("strides")}, {"pads", e.list("pads")}};
  auto dilations = e.list("dilations");
  bool average = e.node().op->name == "AveragePool";
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) {
    e.require(average ? 19 : 10, "a pool with dilations");
    attributes.emplace("dilations", dilations);
  }
  if (e.scalar("ceil_mode") != 0) {
    e.require(10, "a pool with ceil_mode");
    attributes.emplace("ceil_mode", e.scalar("ceil_mode"));
  }
  if (average && e.scalar("count_include_pad") != 0) {
    e.require(7, "count_include_pad");
    attributes.emplace("count_include_pad", e.scalar("count_include_pad"));
  }
  e.last(e.node().op->name, e.operands(), attributes);
}

void emitReduce(const Emission& e) {
  auto axes = e.list("axes");
  std::vector<std::string> inputs = e.operands();
  Emission::OnnxAttributes attributes{{"keepdims", e.scalar("keepdims")}};
  if (!axes.empty() && e.opset() >= (e.node().op->name == "ReduceSum" ? 13 : 18)) {
    inputs.push_back(e.integers("axes", axes));
  } else if (!axes.empty()) {
    attributes.emplace("axes", axes);
  }
  e.last(e.node().op->name, inputs, attributes);
}

void emitEpsilon(const Emission& e) {
  e.last(e.node().op->name, e.operands(), {{"epsilon", numberAttribute(e, "epsilon")}});
}

void emitLayerNormalization(const Emission& e) {
  e.last("LayerNormalization", e.operands(), {{"axis", e.scalar("axis")}, {"epsilon", numberAttribute(e, "epsilon")}});
}

void emitGemm(const Emission& e) {
  if (e.operands().size() < 3) e.require(11, "Gemm without a third operand");
  e.last("Gemm", e.operands(),
         {{"alpha", numberAttribute(e, "alpha")},
          {"beta", numberAttribute(e, "beta")},
          {"transA", e.scalar("transA")},
          {"transB", e.scalar("transB")}});
}

/// The factors that a Resize has as fractions.
std::vector<double> factorsOf(const std::vector<int64_t>& scales) {
  std::vector<double> factors;
  for (size_t d = 0; d < scales.size() / 2; ++d) {
    factors.push_back(static_cast<double>(scales[2 * d]) / static_cast<double>(scales[2 * d + 1]));
  }
  return factors;
}

/// The factors that lead to these sizes in an engine's arithmetic; none where it may miss one.
std::vector<double> factorsOf(const std::vector<int64_t>& sizes, const Extents& from) {
  std::vector<double> factors;
  for (size_t d = 0; d < sizes.size(); ++d) {
    auto factor = static_cast<float>(sizes[d]) / static_cast<float>(from[d]);
    if (std::floor(static_cast<float>(from[d]) * factor) != static_cast<float>(sizes[d])) return {};
    factors.push_back(factor);
  }
  return factors;
}

// Upsample 7 and 9, Resize 10: positions are x / scale, cut off.
void emitOldResize(const Emission& e) {
  auto sizes = e.list("sizes");
  auto factors = sizes.empty() ? factorsOf(e.list("scales")) : factorsOf(sizes, e.extents(0));
  bool cubic = e.node().text("mode") == "cubic";
  if (factors.empty() || cubic || e.node().text("coordinate_transformation_mode") != "asymmetric") {
    e.require(11, "this Resize");
  }
  if (e.node().text("mode") == "nearest" && e.node().text("nearest_mode") != "floor") e.require(11, "this Resize");
  Emission::OnnxAttributes attributes{{"mode", e.node().text("mode")}};
  if (e.opset() >= 9) {
    e.last(e.opset() == 10 ? "Resize" : "Upsample", {e.operand(0), e.numbers("scales", factors)}, attributes);
  } else {
    attributes.emplace("scales", std::vector<float>(factors.begin(), factors.end()));
    e.last("Upsample", {e.operand(0)}, attributes);
  }
}

void emitResize(const Emission& e) {
  if (e.opset() < 11) return emitOldResize(e);
  auto sizes = e.list("sizes"), scales = e.list("scales");
  if (!sizes.empty() && !scales.empty()) throw NotEmitted{"Resize by sizes and scales"};
  const std::string& coordinates = e.node().text("coordinate_transformation_mode");
  if (coordinates == "half_pixel_symmetric") e.require(19, "Resize by half_pixel_symmetric");
  Emission::OnnxAttributes attributes{{"mode", e.node().text("mode")},
                                      {"coordinate_transformation_mode", coordinates},
                                      {"nearest_mode", e.node().text("nearest_mode")}};
  if (e.node().text("mode") == "cubic") attributes.emplace("cubic_coeff_a", numberAttribute(e, "cubic_coeff_a"));
  // What is not used may be left out from opset 13 on.
  std::string region, none;
  if (e.opset() < 13) region = none = e.numbers("none", {});
  if (sizes.empty()) {
    e.last("Resize", {e.operand(0), region, e.numbers("scales", factorsOf(scales))}, attributes);
  } else {
    e.last("Resize", {e.operand(0), region, none, e.integers("sizes", sizes)}, attributes);
  }
}

constexpr EmitRow kEmitFunctionRows[] = {
    {"Add", 7, emitSame},
    {"Sub", 7, emitSame},
    {"Mul", 7, emitSame},
    {"Div", 7, emitSame},
    {"Where", 9, emitWhere},
    {"Neg", 6, emitSame},
    {"Relu", 6, emitSame},
    {"LeakyRelu", 6, emitLeakyRelu},
    {"PRelu", 9, emitSame},
    {"Sigmoid", 6, emitSame},
    {"Tanh", 6, emitSame},
    {"Erf", 9, emitSame},
    {"Exp", 6, emitSame},
    {"Sqrt", 6, emitSame},
    {"Reciprocal", 6, emitSame},
    {"Square", 7, emitSquare},
    {"Softplus", 1, emitSame},
    {"HardSwish", 14, emitSame},
    {"HardSigmoid", 6, emitHardSigmoid},
    {"Gelu", 20, emitGelu},
    {"Clip", 6, emitClip},
    {"Softmax", 1, emitSoftmax},
    {"MaxPool", 1, emitPool},
    {"AveragePool", 1, emitPool},
    {"GlobalMaxPool", 1, emitSame},
    {"GlobalAveragePool", 1, emitSame},
    {"ReduceSum", 1, emitReduce},
    {"ReduceMean", 1, emitReduce},
    {"ReduceMax", 1, emitReduce},
    {"BatchNormalization", 9, emitEpsilon},
    {"InstanceNormalization", 6, emitEpsilon},
    {"LayerNormalization", 17, emitLayerNormalization},
    {"Gemm", 7, emitGemm},
    {"Resize", 7, emitResize},
};

}  // namespace

std::span<const EmitRow> emitFunctionRows() {
  return kEmitFunctionRows;
}

}  // namespace pet
