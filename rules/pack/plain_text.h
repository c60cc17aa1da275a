#pragma once

#include <string_view>

namespace pet {

/// Valid UTF-8 (no surrogates, nothing longer than it need be) without control characters but line ends: what may go to
/// a terminal and into JSON as it is.
bool isPlainText(std::string_view bytes);

}  // namespace pet
