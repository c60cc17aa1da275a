// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: integers that stand for numbers.

#include <algorithm>
#include <cmath>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

struct IntegerRange {
  double least, most;
};

IntegerRange rangeOf(ElementType element) {
  switch (element) {
    case ElementType::kInt8:
      return {-128, 127};
    case ElementType::kUint8:
      return {0, 255};
    case ElementType::kInt16:
      return {-32768, 32767};
    case ElementType::kUint16:
      return {0, 65535};
    case ElementType::kInt32:
      return {-0x1p31, 0x1p31 - 1};
    default:
      throw BadNode{fmt::format("nothing is quantized to {}", str(element))};
  }
}

/// A scale or a zero point for each element: of one number, of a vector along the axis, or of blocks along it.
class PerElement {
 public:
  PerElement(const NodeCall& call, const Extents& x, const Constant& parameter) {
    const Extents& p = parameter.extents;
    const size_t axis = p.empty() || x.empty() ? 0 : call.axisOf("axis", 1, std::max<size_t>(x.size(), 2));
    values_ = doublesOf(parameter);
    if (values_.size() == 1) return;
    if (axis >= x.size()) throw BadNode{"its axis is beyond the rank"};
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(axis);
    inner_ = elementCount({at + 1, x.end()});
    extent_ = *at;
    const int64_t block = call.integer("block_size", 0);
    block_ = block > 0 ? block : 1;
    own_ = block > 0 ? (extent_ + block - 1) / block : extent_;
    outer_ = block > 0 ? own_ * inner_ : 0;
    const int64_t needed = block > 0 ? elementCount(x) / std::max<int64_t>(extent_ * inner_, 1) * outer_ : own_;
    if (std::ssize(values_) != needed) throw BadNode{"as many scales as there are positions along the axis are needed"};
    each_ = block > 0 ? inner_ : 1;
  }
  double operator()(int64_t i) const {
    if (values_.size() == 1) return values_[0];
    const int64_t along = i / inner_ % extent_ / block_;
    const int64_t before = i / (inner_ * extent_) * outer_;
    return values_[static_cast<size_t>(before + along * each_ + (each_ > 1 ? i % inner_ : 0))];
  }

 private:
  std::vector<double> values_;
  int64_t inner_ = 1, extent_ = 1, block_ = 1, own_ = 1, outer_ = 0, each_ = 1;
};

ElementType quantizedTo(const NodeCall& call) {
  if (call.has(2)) return call.operand(2).element;
  const auto given = static_cast<ElementType>(call.integer("output_dtype", 0));
  return given == ElementType::kUnknown ? ElementType::kUint8 : given;
}

/// In float, as engines do: x / scale is rounded to it first.
double quantized(float x, float scale, double zero, const IntegerRange& range) {
  return std::clamp(std::nearbyint(static_cast<double>(x / scale)) + zero, range.least, range.most);
}

std::vector<Constant> runQuantizeLinear(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const ElementType element = quantizedTo(call);
  const IntegerRange range = rangeOf(element);
  const PerElement scale(call, x.extents, call.operand(1));
  const Constant none = Constant::of(Tensor<int64_t>({}, {0}));
  const PerElement zero(call, x.extents, call.has(2) ? call.operand(2) : none);
  const auto numbers = doublesOf(x);
  Tensor<int64_t> y(x.extents);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto n = static_cast<int64_t>(i);
    y.data[i] =
        static_cast<int64_t>(quantized(static_cast<float>(numbers[i]), static_cast<float>(scale(n)), zero(n), range));
  }
  return {Constant::whole(element, y)};
}

std::vector<Constant> runDequantizeLinear(const NodeCall& call) {
  const Constant &x = call.operand(0), &scales = call.operand(1);
  const PerElement scale(call, x.extents, scales);
  const Constant none = Constant::of(Tensor<int64_t>({}, {0}));
  const PerElement zero(call, x.extents, call.has(2) ? call.operand(2) : none);
  const auto numbers = integersOf(x);
  Tensor<float> y(x.extents);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto n = static_cast<int64_t>(i);
    y.data[i] = static_cast<float>(static_cast<double>(numbers[i]) - zero(n)) * static_cast<float>(scale(n));
  }
  return {Constant::rounded(scales.element, y)};
}

/// y, its scale and its zero point, of 8 bits without a sign; 0 is a number of the range.
std::vector<Constant> runDynamicQuantizeLinear(const NodeCall& call) {
  const Tensor<float> x = call.operand(0).values<float>();
  float least = 0, most = 0;
  for (float v : x.data) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const float scale = most == least ? 1.0F : (most - least) / 255.0F;
  const double zero = std::clamp(std::nearbyint(static_cast<double>(-least / scale)), 0.0, 255.0);
  Tensor<int64_t> y(x.extents);
  std::transform(x.data.begin(), x.data.end(), y.data.begin(), [&](float v) {
    return static_cast<int64_t>(quantized(v, scale, zero, {0, 255}));
  });
  return {Constant::whole(ElementType::kUint8, y), Constant::of(Tensor<float>({}, {scale})),
          Constant::whole(ElementType::kUint8, Tensor<int64_t>({}, {static_cast<int64_t>(zero)}))};
}

const KernelRow kQuantizeKernels[] = {
    {"QuantizeLinear", runQuantizeLinear, false},
    {"DequantizeLinear", runDequantizeLinear, false},
    {"DynamicQuantizeLinear", runDynamicQuantizeLinear, false},
};

}  // namespace

std::span<const KernelRow> quantizeKernels() {
  return kQuantizeKernels;
}

}  // namespace pet::session
