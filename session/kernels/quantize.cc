// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: integers that stand for numbers.

#include <algorithm>
#include <cmath>

#include "session/kernels/bytes.h"
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

std::vector<float> realOf(const Constant& c) {
  const auto numbers = doublesOf(c);
  return {numbers.begin(), numbers.end()};
}

/// Scales and zero points of x: one of each, or one for each position of an axis, or of each block along it.
class Scales {
 public:
  Scales(const NodeCall& call, const Constant& x) : whole_(elementCount(x.extents)) {
    const Constant& scale = call.operand(1);
    for (double s : doublesOf(scale))
      scales_.push_back(static_cast<float>(s));
    zeros_.assign(scales_.size(), 0);
    if (call.has(2)) zeros_ = doublesOf(call.operand(2));
    if (zeros_.size() != scales_.size()) throw BadNode{"as many zero points as scales are needed"};
    if (scales_.size() == 1) return;
    const size_t axis = call.axisOf("axis", 1, x.extents.size());
    const auto at = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
    extent_ = *at;
    inner_ = elementCount({at + 1, x.extents.end()});
    block_ = call.integer("block_size", 0);
    const int64_t blocks = block_ > 0 ? (extent_ + block_ - 1) / block_ : extent_;
    const int64_t outer = whole_ / std::max<int64_t>(extent_ * inner_, 1);
    if (std::ssize(scales_) != (block_ > 0 ? outer * blocks * inner_ : blocks))
      throw BadNode{"as many scales as there are positions along the axis are needed"};
  }

  /// visit(begin, end, scale, zero point) for runs of elements that have the same.
  template <class Visit>
  void forRuns(Visit visit) const {
    if (scales_.size() == 1) return visit(int64_t{0}, whole_, scales_[0], zeros_[0]);
    const int64_t run = block_ > 0 ? 1 : inner_;
    for (int64_t i = 0; i < whole_; i += run) {
      const auto n = static_cast<size_t>(block_ > 0 ? blockOf(i) : i / inner_ % extent_);
      visit(i, i + run, scales_[n], zeros_[n]);
    }
  }

 private:
  int64_t blockOf(int64_t i) const {
    const int64_t blocks = (extent_ + block_ - 1) / block_;
    return (i / (inner_ * extent_) * blocks + i / inner_ % extent_ / block_) * inner_ + i % inner_;
  }

  int64_t whole_, extent_ = 1, inner_ = 1, block_ = 0;
  std::vector<float> scales_;
  std::vector<double> zeros_;
};

ElementType quantizedTo(const NodeCall& call) {
  if (call.has(2)) return call.operand(2).element;
  const auto given = static_cast<ElementType>(call.integer("output_dtype", 0));
  return given == ElementType::kUnknown ? ElementType::kUint8 : given;
}

/// Calls f with a zero of the type that integers of at most 32 bits have in memory.
template <class F>
void withNarrow(ElementType element, F f) {
  if (element == ElementType::kInt8) return f(int8_t{});
  if (element == ElementType::kUint8) return f(uint8_t{});
  if (element == ElementType::kInt16) return f(int16_t{});
  if (element == ElementType::kUint16) return f(uint16_t{});
  if (element == ElementType::kInt32) return f(int32_t{});
  throw BadNode{fmt::format("{} stands for no numbers", str(element))};
}

/// In float, as engines do: x / scale is rounded to it first.
std::vector<Constant> runQuantizeLinear(const NodeCall& call) {
  const Constant& given = call.operand(0);
  const Constant x = given.element == ElementType::kFloat ? aligned(given)
                   : isComputed(given.element)            ? Constant::of(given.values<float>())
                                                          : Constant::of(Tensor<float>(given.extents, realOf(given)));
  const ElementType element = quantizedTo(call);
  const IntegerRange range = rangeOf(element);
  const Scales scales(call, x);
  const float* from = dataOf<float>(x).data();
  Made<char> y = makeRaw(element, x.extents);
  withNarrow(element, [&](auto zero) {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(y.data);
    scales.forRuns([&](int64_t begin, int64_t end, float scale, double zeroPoint) {
      if constexpr (sizeof(T) == 1)
        return quantizeBytes(from + begin, to + begin, end - begin, scale, static_cast<float>(zeroPoint));
      for (int64_t i = begin; i < end; ++i) {
        const double rounded = std::nearbyint(static_cast<double>(from[i] / scale)) + zeroPoint;
        to[i] = static_cast<T>(std::clamp(rounded, range.least, range.most));
      }
    });
  });
  return {y.constant};
}

std::vector<Constant> runDequantizeLinear(const NodeCall& call) {
  const Constant x = aligned(call.operand(0));
  const Scales scales(call, x);
  Made<float> y = make<float>(ElementType::kFloat, x.extents);
  withNarrow(x.element, [&](auto zero) {
    using T = decltype(zero);
    const T* from = dataOf<T>(x).data();
    scales.forRuns([&](int64_t begin, int64_t end, float scale, double zeroPoint) {
      if constexpr (sizeof(T) == 1)
        return dequantizeBytes(from + begin, y.data + begin, end - begin, scale, static_cast<float>(zeroPoint));
      for (int64_t i = begin; i < end; ++i)
        y.data[i] = static_cast<float>(static_cast<double>(from[i]) - zeroPoint) * scale;
    });
  });
  return {narrowedTo(call.operand(1).element, y.constant)};
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
    const double rounded = std::nearbyint(static_cast<double>(v / scale)) + zero;
    return static_cast<int64_t>(std::clamp(rounded, 0.0, 255.0));
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
