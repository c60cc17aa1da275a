#include <algorithm>

#include "ir/ops/kernels/broadcast.h"

namespace pet::kernels {
namespace {

/// y[v] = f(a[v], b[v]), both broadcast.
template <class T, class F>
Expected<std::vector<Tensor<T>>> zipped(const ConcreteNode& node, std::span<const Tensor<T>* const> in, F f) {
  Broadcast<T> a(*in[0], node.outputs[0]), b(*in[1], node.outputs[0]);
  Tensor<T> y(node.outputs[0]);
  std::transform(a.begin(), a.end(), b.begin(), y.data.begin(), f);
  return std::vector{std::move(y)};
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> Add::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return zipped(node, in, [](T a, T b) { return plus(a, b); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Sub::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return zipped(node, in, [](T a, T b) { return minus(a, b); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Mul::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return zipped(node, in, [](T a, T b) { return times(a, b); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Div::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return zipped(node, in, [](T a, T b) { return a / b; });
}

template <class T>
Expected<std::vector<Tensor<T>>> Neg::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Tensor<T> y(node.outputs[0]);
  std::transform(in[0]->data.begin(), in[0]->data.end(), y.data.begin(), [](T a) { return times(T(-1), a); });
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Where::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Broadcast<T> condition(*in[0], node.outputs[0]), a(*in[1], node.outputs[0]), b(*in[2], node.outputs[0]);
  Tensor<T> y(node.outputs[0]);
  for (size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = condition.begin()[i] == T(0) ? b.begin()[i] : a.begin()[i];
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Greater::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return zipped(node, in, [](T a, T b) { return a > b ? T(1) : T(0); });
}

template <class T>
Expected<std::vector<Tensor<T>>> Select::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  Broadcast<T> condition(*in[0], node.outputs[0]), value(*in[1], node.outputs[0]);
  Tensor<T> y(node.outputs[0]);
  for (size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = condition.begin()[i] == T(0) ? T(0) : times(condition.begin()[i], value.begin()[i]);
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Identity::run(const ConcreteNode&, std::span<const Tensor<T>* const> in) {
  return std::vector{*in[0]};
}

template <class T>
Expected<std::vector<Tensor<T>>> Constant::run(const ConcreteNode& node, std::span<const Tensor<T>* const>) {
  auto value = fromNumber<T>(node.number("value"));
  if (!value) return tl::unexpected(value.error());
  Tensor<T> y(node.outputs[0]);
  std::fill(y.data.begin(), y.data.end(), *value);
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Eye::run(const ConcreteNode& node, std::span<const Tensor<T>* const>) {
  Tensor<T> y(node.outputs[0]);
  auto step = static_cast<size_t>(y.extents[0] + 1);
  for (size_t i = 0; i < y.data.size(); i += step)
    y.data[i] = T(1);
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Band::run(const ConcreteNode& node, std::span<const Tensor<T>* const>) {
  Tensor<T> y(node.outputs[0]);
  int64_t lower = node.scalar("lower"), upper = node.scalar("upper"), columns = y.extents[1];
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t distance = i % columns - i / columns;
    if (-lower <= distance && distance <= upper) y.data[static_cast<size_t>(i)] = T(1);
  }
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> Table::run(const ConcreteNode& node, std::span<const Tensor<T>* const>) {
  Tensor<T> y(node.outputs[0]);
  Extents values = node.list("values");
  int64_t denominator = node.scalar("denominator");
  for (size_t i = 0; i < y.data.size(); ++i) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (values[i] % denominator != 0) {
        return fail(ErrorKind::kUnsupported, fmt::format("{}/{} over the integers", values[i], denominator));
      }
      y.data[i] = values[i] / denominator;
    } else {
      y.data[i] = static_cast<T>(values[i]) / static_cast<T>(denominator);
    }
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_RING(Add);
PET_INSTANTIATE_RING(Sub);
PET_INSTANTIATE_RING(Mul);
PET_INSTANTIATE_FIELD(Div);
PET_INSTANTIATE_RING(Neg);
PET_INSTANTIATE_RING(Select);
PET_INSTANTIATE_RING(Where);
PET_INSTANTIATE_ORDERED(Greater);
PET_INSTANTIATE_RING(Identity);
PET_INSTANTIATE_RING(Constant);
PET_INSTANTIATE_RING(Eye);
PET_INSTANTIATE_RING(Band);
PET_INSTANTIATE_RING(Table);

}  // namespace pet::kernels
