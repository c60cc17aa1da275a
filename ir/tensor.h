#pragma once

#include <vector>

#include "ir/field.h"
#include "ir/shape.h"

namespace pet {

/// A dense row-major tensor of concrete extents. Extents may be zero.
template <class T>
struct Tensor {
  Extents extents;
  std::vector<T> data;

  Tensor() = default;
  explicit Tensor(Extents e) : extents(std::move(e)), data(static_cast<size_t>(elementCount(extents))) {}
  Tensor(Extents e, std::vector<T> d) : extents(std::move(e)), data(std::move(d)) {}

  int64_t size() const { return static_cast<int64_t>(data.size()); }
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// Row-major strides, in elements.
inline std::vector<int64_t> rowMajorStrides(const Extents& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;)
    strides[i - 1] = strides[i] * extents[i];
  return strides;
}

}  // namespace pet
