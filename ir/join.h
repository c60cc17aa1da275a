#pragma once

#include <string>
#include <string_view>

namespace pet {

/// "a, b, c": what `text` says of each item, with the separator between.
template <class Items, class Text>
std::string joined(const Items& items, std::string_view separator, Text text) {
  std::string result;
  bool first = true;
  for (const auto& item : items) {
    if (!first) result += separator;
    first = false;
    result += text(item);
  }
  return result;
}

}  // namespace pet
