// Cast and CastLike.

#include <cmath>
#include <limits>

#include "ir/half.h"
#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

/// Towards zero; beyond the range as processors do it: the least number. NaN too.
int64_t truncatedToInteger(double x) {
  constexpr double kBound = 0x1p63;
  if (!(x >= -kBound && x < kBound)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

Constant castReal(const Constant& x, ElementType to) {
  if (to == ElementType::kDouble) return Constant::of(x.values<double>());
  if (isComputed(to)) {
    return x.element == ElementType::kDouble ? Constant::rounded(to, x.values<double>())
                                             : Constant::rounded(to, x.values<float>());
  }
  const Tensor<double> from = x.values<double>();
  Tensor<int64_t> whole(from.extents);
  for (size_t i = 0; i < from.data.size(); ++i) {
    const double v = from.data[i];
    const bool beyond = to == ElementType::kUint64 && v >= 0x1p63 && v < 0x1p64;
    whole.data[i] = to == ElementType::kBool ? int64_t{v != 0}
                  : beyond                   ? static_cast<int64_t>(static_cast<uint64_t>(v))
                                             : truncatedToInteger(v);
  }
  return Constant::whole(to, whole);
}

Constant castWhole(const Constant& x, ElementType to) {
  Tensor<int64_t> whole = x.values<int64_t>();
  if (!isComputed(to)) {
    for (int64_t& v : whole.data)
      v = to == ElementType::kBool ? int64_t{v != 0} : v;
    return Constant::whole(to, whole);
  }
  Tensor<double> real(whole.extents);
  for (size_t i = 0; i < whole.data.size(); ++i) {
    real.data[i] = x.element == ElementType::kUint64 ? static_cast<double>(static_cast<uint64_t>(whole.data[i]))
                                                     : static_cast<double>(whole.data[i]);
  }
  return Constant::rounded(to, real);
}

std::vector<Constant> castTo(const Constant& x, ElementType to) {
  if (!isMoved(to) || !isMoved(x.element))
    throw BadNode{fmt::format("there is no cast from {} to {}", str(x.element), str(to))};
  if (x.element == to) return {x};
  return {isComputed(x.element) ? castReal(x, to) : castWhole(x, to)};
}

std::vector<Constant> runCast(const NodeCall& call) {
  return castTo(call.operand(0), static_cast<ElementType>(call.integer("to", 0)));
}

std::vector<Constant> runCastLike(const NodeCall& call) {
  return castTo(call.operand(0), call.operand(1).element);
}

const KernelRow kCastKernels[] = {
    {"Cast", runCast, false},
    {"CastLike", runCastLike, false},
};

}  // namespace

std::span<const KernelRow> castKernels() {
  return kCastKernels;
}

}  // namespace pet::session
