#include "session/kernels/array.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace pet::session {
namespace {

constexpr std::align_val_t kLineBorder{64};

}  // namespace

RawBytes allocate(size_t count) {
  auto* data = static_cast<char*>(::operator new(std::max<size_t>(count, 1), kLineBorder));
  std::shared_ptr<void> owner(data, [](void* at) { ::operator delete(at, kLineBorder); });
  return {Bytes(std::string_view(data, count), std::move(owner)), data};
}

Made<char> makeRaw(ElementType element, Extents extents) {
  const size_t size = elementSize(element);
  if (size == 0) throw BadNode{fmt::format("it does not compute with {}", str(element))};
  if (std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; }))
    throw BadNode{fmt::format("its result would have the extents {}", str(extents))};
  RawBytes raw = allocate(static_cast<size_t>(elementCount(extents)) * size);
  return {{element, std::move(extents), std::move(raw.bytes)}, raw.data};
}

Constant aligned(const Constant& c) {
  const size_t size = elementSize(c.element);
  if (size < 2 || reinterpret_cast<uintptr_t>(c.bytes->data()) % size == 0) return c;
  Made<char> copy = makeRaw(c.element, c.extents);
  std::memcpy(copy.data, c.bytes->data(), c.bytes->size());
  return copy.constant;
}

Constant withExtents(const Constant& c, Extents extents) {
  const bool negative = std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; });
  if (negative || elementCount(extents) != elementCount(c.extents))
    throw BadNode{fmt::format("{} does not fit into {}", str(c.extents), str(extents))};
  return {c.element, std::move(extents), c.bytes};
}

std::vector<int64_t> integersOf(const Constant& c) {
  auto values = c.integers();
  if (!values) throw BadNode{fmt::format("integers are needed, and these are {}", str(c.element))};
  return std::move(*values);
}

Integers::Integers(const Constant& c) {
  const bool isRead = c.element == ElementType::kInt64 && reinterpret_cast<uintptr_t>(c.bytes->data()) % 8 == 0;
  if (!isRead) converted_ = integersOf(c);
  all_ = isRead ? dataOf<int64_t>(c) : std::span<const int64_t>(converted_);
}

std::vector<double> doublesOf(const Constant& c) {
  if (auto values = c.numbers()) return std::move(*values);
  const auto integers = integersOf(c);
  return {integers.begin(), integers.end()};
}

ElementType widenedType(ElementType element) {
  switch (element) {
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return ElementType::kFloat;
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kBool:
      return ElementType::kInt64;
    default:
      return element;
  }
}

Constant widened(const Constant& c) {
  const ElementType wide = widenedType(c.element);
  if (wide == c.element) return aligned(c);
  return wide == ElementType::kFloat ? Constant::of(c.values<float>()) : Constant::of(c.values<int64_t>());
}

Constant narrowedTo(ElementType element, const Constant& c) {
  if (element == c.element) return c;
  if (isComputed(element)) return Constant::rounded(element, c.values<float>());
  return Constant::whole(element, c.values<int64_t>());
}

Extents broadcastExtents(const Extents& a, const Extents& b) {
  Extents to(std::max(a.size(), b.size()));
  for (size_t d = 0; d < to.size(); ++d) {
    const int64_t x = d + a.size() < to.size() ? 1 : a[d + a.size() - to.size()];
    const int64_t y = d + b.size() < to.size() ? 1 : b[d + b.size() - to.size()];
    if (x != y && x != 1 && y != 1) throw BadNode{fmt::format("{} and {} do not broadcast", str(a), str(b))};
    to[d] = x == 1 ? y : x;
  }
  return to;
}

std::vector<int64_t> broadcastStrides(const Extents& from, const Extents& to) {
  const auto strides = rowMajorStrides(from);
  std::vector<int64_t> result(to.size(), 0);
  const bool fits = from.size() <= to.size();
  for (size_t d = to.size() - std::min(to.size(), from.size()); fits && d < to.size(); ++d) {
    const size_t own = d + from.size() - to.size();
    if (from[own] != 1 && from[own] != to[d])
      throw BadNode{fmt::format("{} does not broadcast to {}", str(from), str(to))};
    result[d] = from[own] == 1 ? 0 : strides[own];
  }
  if (!fits) throw BadNode{fmt::format("{} does not broadcast to {}", str(from), str(to))};
  return result;
}

}  // namespace pet::session
