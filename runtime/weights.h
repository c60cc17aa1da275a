#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/reference/reference.h"

namespace pet {

/// A tensor where it is stored, row-major, and whatever keeps it there. Its floats need not be aligned.
struct StoredFloats {
  Extents extents;
  const void* data = nullptr;
  std::shared_ptr<const void> owner;

  /// Only to copy from: they need not be aligned.
  const float* floats() const { return static_cast<const float*>(data); }
  Tensor<float> copy() const { return {extents, std::vector<float>(floats(), floats() + elementCount(extents))}; }
};

/// The values of a program's constant inputs, by name.
struct Weights {
  using Stored = std::function<std::optional<StoredFloats>(std::string_view name)>;
  Weights(InputSource<float> values, Stored inPlace = nullptr)
      : tensors(std::move(values)), stored(std::move(inPlace)) {}

  InputSource<float> tensors;
  /// Those that need not be copied to be read: in a file's mapping, say. Nullopt: one of `tensors`. Null: all are.
  Stored stored;
};

}  // namespace pet
