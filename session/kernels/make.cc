// What makes tensors: constants, extents, ranges, positions, random numbers.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

Constant listOf(std::vector<int64_t> values) {
  const auto count = std::ssize(values);
  return Constant::of(Tensor<int64_t>({count}, std::move(values)));
}

std::vector<Constant> runConstant(const NodeCall& call) {
  if (const auto* value = call.attribute("value")) {
    const auto* c = std::get_if<Constant>(value);
    if (!c || !c->bytes) throw BadNode{"a constant of a type without values here"};
    return {*c};
  }
  if (call.attribute("value_int")) return {Constant::of(Tensor<int64_t>({}, {call.integer("value_int", 0)}))};
  if (call.attribute("value_float"))
    return {Constant::of(Tensor<float>({}, {static_cast<float>(call.number("value_float", 0))}))};
  if (auto list = call.integers("value_ints")) return {listOf(*list)};
  if (call.attribute("value_floats")) {
    const auto numbers = call.numbers("value_floats");
    return {Constant::of(Tensor<float>({std::ssize(numbers)}, {numbers.begin(), numbers.end()}))};
  }
  throw BadNode{"a constant of a type without values here"};
}

std::vector<Constant> runShape(const NodeCall& call) {
  const Extents& x = call.extents(0);
  const auto rank = std::ssize(x);
  auto clampedTo = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  const int64_t start = clampedTo(call.integer("start", 0)), end = clampedTo(call.integer("end", rank));
  return {listOf({x.begin() + start, x.begin() + std::max(start, end)})};
}

std::vector<Constant> runSize(const NodeCall& call) {
  return {Constant::of(Tensor<int64_t>({}, {elementCount(call.extents(0))}))};
}

/// `one` everywhere.
Constant filled(const Constant& one, const Extents& to) {
  Made<char> y = makeRaw(one.element, to);
  const std::string_view value = *one.bytes;
  for (int64_t i = 0; i < elementCount(to); ++i)
    std::memcpy(y.data + static_cast<size_t>(i) * value.size(), value.data(), value.size());
  return y.constant;
}

std::vector<Constant> runConstantOfShape(const NodeCall& call) {
  Constant value = Constant::of(Tensor<float>({}, {0.0F}));
  if (const auto* given = call.attribute("value")) {
    const auto* c = std::get_if<Constant>(given);
    if (!c || !c->bytes || elementCount(c->extents) != 1) throw BadNode{"its value is not one number"};
    value = *c;
  }
  return {filled(value, integersOf(call.operand(0)))};
}

std::vector<Constant> runRange(const NodeCall& call) {
  const Constant& start = call.operand(0);
  return {withType(start.element, [&](auto zero) {
    using T = decltype(zero);
    const T first = dataOf<T>(start)[0], limit = dataOf<T>(call.operand(1))[0], step = dataOf<T>(call.operand(2))[0];
    if (step == 0) throw BadNode{"a step of 0"};
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(first)) / static_cast<double>(step));
    Made<T> y = make<T>(start.element, {static_cast<int64_t>(std::max(count, 0.0))});
    for (int64_t i = 0; i < y.constant.extents[0]; ++i)
      y.data[i] = first + static_cast<T>(i) * step;
    return y.constant;
  })};
}

/// [rank, how many]: the positions of what is not 0, in row-major order.
std::vector<Constant> runNonZero(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto rank = x.extents.size();
  const auto strides = rowMajorStrides(x.extents);
  std::vector<int64_t> found;
  withType(x.element, [&](auto zero) {
    using T = decltype(zero);
    const auto values = dataOf<T>(x);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != zero) found.push_back(static_cast<int64_t>(i));
    }
  });
  const size_t count = found.size();
  Made<int64_t> y = make<int64_t>(ElementType::kInt64, {static_cast<int64_t>(rank), static_cast<int64_t>(count)});
  for (size_t d = 0; d < rank; ++d) {
    for (size_t i = 0; i < count; ++i)
      y.data[d * count + i] = found[i] / strides[d] % x.extents[d];
  }
  return {y.constant};
}

std::vector<Constant> runOneHot(const NodeCall& call) {
  const auto indices = doublesOf(call.operand(0));
  const auto depth = static_cast<int64_t>(doublesOf(call.operand(1)).at(0));
  const Constant& values = call.operand(2);
  const size_t rank = call.rank(0) + 1, axis = call.axisOf("axis", -1, rank);
  if (depth < 1 || elementCount(values.extents) != 2) throw BadNode{"a depth below 1, or not two values"};
  Extents to = call.extents(0);
  to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const auto size = elementSize(values.element);
  const std::string off(values.bytes->substr(0, size)), on(values.bytes->substr(size, size));
  Constant y = filled({values.element, {}, Bytes(off)}, to);
  Made<char> out = makeRaw(values.element, to);
  std::memcpy(out.data, y.bytes->data(), y.bytes->size());
  const int64_t inner = elementCount({to.begin() + static_cast<std::ptrdiff_t>(axis) + 1, to.end()});
  for (size_t i = 0; i < indices.size(); ++i) {
    auto index = static_cast<int64_t>(indices[i]);
    if (index < 0) index += depth;
    if (index < 0 || index >= depth) continue;
    const auto n = static_cast<int64_t>(i);
    const int64_t at = (n / inner * depth + index) * inner + n % inner;
    std::memcpy(out.data + static_cast<size_t>(at) * size, on.data(), size);
  }
  return {out.constant};
}

std::vector<Constant> runEyeLike(const NodeCall& call) {
  const Extents& to = call.extents(0);
  if (to.size() != 2) throw BadNode{"it is for matrices"};
  const auto element = static_cast<ElementType>(call.integer("dtype", static_cast<int64_t>(call.operand(0).element)));
  Tensor<double> y(to);
  const int64_t k = call.integer("k", 0);
  for (int64_t r = 0; r < to[0]; ++r) {
    if (r + k >= 0 && r + k < to[1]) y.data[static_cast<size_t>(r * to[1] + r + k)] = 1;
  }
  return {Constant::rounded(element, y)};
}

/// ONNX leaves the numbers open. Each run gives the same, so that what reads them can be compared: of a normal or
/// uniform distribution those that ONNX Runtime draws first of this seed. Without one the seed is 0.
std::default_random_engine generatorOf(const NodeCall& call) {
  return std::default_random_engine(static_cast<uint32_t>(call.number("seed", 0)));
}

ElementType randomElement(const NodeCall& call, ElementType otherwise) {
  const auto element = static_cast<ElementType>(call.integer("dtype", static_cast<int64_t>(otherwise)));
  if (!isComputed(element)) throw BadNode{"random numbers of a type that is not floating point"};
  return element;
}

template <class Distribution>
Constant drawn(const NodeCall& call, ElementType element, const Extents& to, Distribution distribution) {
  auto generator = generatorOf(call);
  Tensor<double> y(to);
  for (double& v : y.data)
    v = static_cast<double>(distribution(generator));
  return Constant::rounded(element, y);
}

Constant drawnNormal(const NodeCall& call, ElementType element, const Extents& to) {
  const double mean = call.number("mean", 0), scale = call.number("scale", 1);
  if (!(scale >= 0)) throw BadNode{"a scale below 0"};
  if (element == ElementType::kDouble) return drawn(call, element, to, std::normal_distribution<double>(mean, scale));
  return drawn(call, element, to, std::normal_distribution<float>(static_cast<float>(mean), static_cast<float>(scale)));
}

Constant drawnUniform(const NodeCall& call, ElementType element, const Extents& to) {
  const double low = call.number("low", 0), high = call.number("high", 1);
  if (!(low <= high)) throw BadNode{"no range from low to high"};
  if (element == ElementType::kDouble)
    return drawn(call, element, to, std::uniform_real_distribution<double>(low, high));
  return drawn(call, element, to,
               std::uniform_real_distribution<float>(static_cast<float>(low), static_cast<float>(high)));
}

template <Constant (*draw)(const NodeCall&, ElementType, const Extents&)>
std::vector<Constant> runRandom(const NodeCall& call) {
  const auto shape = call.integers("shape");
  if (!shape || std::any_of(shape->begin(), shape->end(), [](int64_t e) { return e < 0; }))
    throw BadNode{"a shape that is none"};
  return {draw(call, randomElement(call, ElementType::kFloat), *shape)};
}

template <Constant (*draw)(const NodeCall&, ElementType, const Extents&)>
std::vector<Constant> runRandomLike(const NodeCall& call) {
  return {draw(call, randomElement(call, call.operand(0).element), call.extents(0))};
}

std::vector<Constant> runBernoulli(const NodeCall& call) {
  const Constant& x = call.operand(0);
  const auto element = static_cast<ElementType>(call.integer("dtype", static_cast<int64_t>(x.element)));
  auto generator = generatorOf(call);
  std::uniform_real_distribution<float> distribution(0, 1);
  Tensor<double> y(x.extents, doublesOf(x));
  for (double& v : y.data)
    v = static_cast<double>(distribution(generator)) < v ? 1 : 0;
  return {Constant::rounded(element, y)};
}

const KernelRow kMakeKernels[] = {
    {"Constant", runConstant, false},
    {"Shape", runShape, false},
    {"Size", runSize, false},
    {"ConstantOfShape", runConstantOfShape, false},
    {"Range", runRange},
    {"NonZero", runNonZero, true, -1},
    {"OneHot", runOneHot, false},
    {"EyeLike", runEyeLike, false},
    {"RandomNormal", runRandom<drawnNormal>, false},
    {"RandomNormalLike", runRandomLike<drawnNormal>, false},
    {"RandomUniform", runRandom<drawnUniform>, false},
    {"RandomUniformLike", runRandomLike<drawnUniform>, false},
    {"Bernoulli", runBernoulli, false},
};

}  // namespace

std::span<const KernelRow> makeKernels() {
  return kMakeKernels;
}

}  // namespace pet::session
