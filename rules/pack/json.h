#pragma once

#include <concepts>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace pet {

/// Json's own conversion would make 2.5 to 2, true to 1 and 2^64 - 1 to -1, and is undefined for 1e300. Throws
/// std::invalid_argument for a value that does not fit.
template <std::integral T>
T integer(const nlohmann::ordered_json& value) {
  bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<uint64_t>())
                                         : value.is_number_integer() && std::in_range<T>(value.get<int64_t>());
  if (!fits) throw std::invalid_argument("expected an integer, got " + value.dump());
  return value.get<T>();
}

/// Json's own parser takes a key that comes twice, and keeps one of its values. Throws std::invalid_argument for that,
/// and the parser's own exceptions.
inline nlohmann::ordered_json parseJson(std::string_view text) {
  using Json = nlohmann::ordered_json;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  return Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw std::invalid_argument("the key " + parsed.dump() + " comes twice");
    return true;
  });
}

}  // namespace pet
