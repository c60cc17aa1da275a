#include "ir/ops/kernels.h"
#include "ir/ops/kernels/support.h"

namespace pet::kernels {

template <class T>
Expected<std::vector<Tensor<T>>> CumSum::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Tensor<T>& x = *in[0];
  const auto axis = static_cast<size_t>(node.scalar("axis"));
  const bool isReverse = node.scalar("reverse") != 0, isExclusive = node.scalar("exclusive") != 0;
  const int64_t length = x.extents[axis], step = rowMajorStrides(x.extents)[axis];
  Tensor<T> y(x.extents);
  for (int64_t first = 0; first < x.size(); ++first) {
    if (first / step % length != 0) continue;
    T sum{};
    for (int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<size_t>(first + (isReverse ? length - 1 - i : i) * step);
      const T through = plus(sum, x.data[at]);
      y.data[at] = isExclusive ? sum : through;
      sum = through;
    }
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_RING(CumSum);

}  // namespace pet::kernels
