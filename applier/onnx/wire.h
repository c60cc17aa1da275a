#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pet {

// Protobuf's wire format, as far as large values are taken out of a model's bytes and put back: protobuf itself copies
// what it reads, and stops at 2 GB.

/// raw_data of the main graph's initializers by their positions, ascending; views of whoever made the list.
using InitializerData = std::vector<std::pair<int, std::string_view>>;

/// A model's bytes with empty raw_data where `values` were.
struct CutModel {
  std::string skeleton;
  InitializerData values;
};

/// Takes raw_data of `least` bytes or more out of the main graph's initializers. Nullopt: something is unusual (a field
/// that should be there once is there twice, a group, another wire type, an end within a field), so that protobuf has
/// to read the bytes whole. Otherwise protobuf reads the skeleton exactly if it reads the whole model, up to 2 GB.
std::optional<CutModel> cutModel(std::string_view bytes, size_t least);

/// A model's bytes in pieces: `text`, then `value`, which is not copied; and so on.
struct WirePiece {
  std::string text;
  std::string_view value;
};

/// The model whose initializers have `values` in place of raw_data that is there and empty: the inverse of cutModel().
/// Nullopt: the skeleton has no such initializers.
std::optional<std::vector<WirePiece>> joinModel(std::string_view skeleton, const InitializerData& values);

}  // namespace pet
