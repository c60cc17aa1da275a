#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "applier/onnx/graph.h"

// Tensors of any element type while a model runs: Constant (applier/onnx/graph.h), whose bytes are shared and never
// change. Here is how kernels read them and make new ones.
namespace pet::session {

/// Why a node cannot be computed on these operands. Thrown by kernels; it does not leave session/.
struct BadNode {
  std::string what;
};

/// A tensor that is being made: `data` may be written until the constant is handed on.
template <class T>
struct Made {
  Constant constant;
  T* data;
};

/// Bytes on a cache line's border, and their owner. The content is not set.
struct RawBytes {
  Bytes bytes;
  char* data;
};
RawBytes allocate(size_t count);

/// A tensor of uninitialised bytes. Throws BadNode for an element type that has no size, or an extent below 0.
Made<char> makeRaw(ElementType element, Extents extents);

/// `T`: the type in memory of `element`.
template <class T>
Made<T> make(ElementType element, Extents extents) {
  Made<char> raw = makeRaw(element, std::move(extents));
  return {std::move(raw.constant), reinterpret_cast<T*>(raw.data)};
}

/// The elements of a tensor that is aligned().
template <class T>
std::span<const T> dataOf(const Constant& c) {
  return {reinterpret_cast<const T*>(c.bytes->data()), c.bytes->size() / sizeof(T)};
}

/// The same tensor, copied if its elements do not lie as their type demands: what is mapped from a file may lie
/// anywhere.
Constant aligned(const Constant& c);

/// The same bytes with other extents, of as many elements. Throws BadNode.
Constant withExtents(const Constant& c, Extents extents);

/// Integers or truth values as int64. Throws BadNode for other types.
std::vector<int64_t> integersOf(const Constant& c);
/// The same to read: where they are, if they are int64, which the constant keeps.
class Integers {
 public:
  /// Throws BadNode for other types.
  explicit Integers(const Constant& c);
  Integers(const Integers&) = delete;
  Integers& operator=(const Integers&) = delete;
  int64_t operator[](size_t i) const { return all_[i]; }
  size_t size() const { return all_.size(); }

 private:
  std::vector<int64_t> converted_;
  std::span<const int64_t> all_;
};
/// Numbers of any type as double.
std::vector<double> doublesOf(const Constant& c);

/// The type that kernels compute in: 16-bit floats in float, integers of less than 64 bits in int64; else itself.
ElementType widenedType(ElementType element);
/// The tensor in that type.
Constant widened(const Constant& c);
/// A tensor of widenedType(element) in `element`: rounded, or modulo 2^bits.
Constant narrowedTo(ElementType element, const Constant& c);

/// Calls f with a zero of the type that a widened tensor has in memory.
template <class F>
auto withType(ElementType element, F f) {
  switch (element) {
    case ElementType::kFloat:
      return f(float{});
    case ElementType::kDouble:
      return f(double{});
    case ElementType::kInt64:
      return f(int64_t{});
    case ElementType::kUint64:
      return f(uint64_t{});
    default:
      throw BadNode{fmt::format("it does not compute with {}", str(element))};
  }
}

/// The extents of two operands, broadcast. Throws BadNode.
Extents broadcastExtents(const Extents& a, const Extents& b);
/// By how much the offset into a tensor of extents `from` grows along each dimension of `to`; 0 where it is repeated.
/// Throws BadNode where `from` cannot be broadcast to `to`.
std::vector<int64_t> broadcastStrides(const Extents& from, const Extents& to);

/// Visits a tensor row by row: row(offsets, count, steps) with the offset into each of N tensors whose strides along
/// the dimensions of `over` are given. A row is the last dimension; a scalar is one row of one element.
template <size_t N, class Row>
void forRows(const Extents& over, const std::array<std::vector<int64_t>, N>& strides, Row row) {
  if (elementCount(over) == 0) return;
  const size_t outer = over.empty() ? 0 : over.size() - 1;
  std::array<int64_t, N> at{}, steps{};
  for (size_t n = 0; n < N; ++n)
    steps[n] = over.empty() ? 0 : strides[n][outer];
  std::vector<int64_t> position(outer, 0);
  for (;;) {
    row(at, over.empty() ? 1 : over[outer], steps);
    size_t d = outer;
    for (; d > 0; --d) {
      for (size_t n = 0; n < N; ++n)
        at[n] += strides[n][d - 1];
      if (++position[d - 1] < over[d - 1]) break;
      for (size_t n = 0; n < N; ++n)
        at[n] -= strides[n][d - 1] * over[d - 1];
      position[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace pet::session
