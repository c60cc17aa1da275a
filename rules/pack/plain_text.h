#pragma once

#include <string_view>

namespace pet {

/// Valid UTF-8 (no surrogates, no overlong encodings) without control characters except line ends: text that may go to
/// a terminal and into JSON unchanged.
bool isPlainText(std::string_view bytes);

}  // namespace pet
