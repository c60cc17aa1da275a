#pragma once

#include <concepts>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace pet {

/// Json's own conversion would make 2.5 to 2, true to 1 and 2^64 - 1 to -1, and is undefined for 1e300. Throws
/// std::invalid_argument for what does not fit.
template <std::integral T>
T integer(const nlohmann::ordered_json& value) {
  bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<uint64_t>())
                                         : value.is_number_integer() && std::in_range<T>(value.get<int64_t>());
  if (!fits) throw std::invalid_argument("expected an integer, got " + value.dump());
  return value.get<T>();
}

}  // namespace pet
