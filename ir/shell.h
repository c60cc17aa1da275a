#pragma once

#include <string>
#include <string_view>

namespace pet {

/// The word as a shell reads it back: in quotes where it needs them.
std::string shellWord(std::string_view word);

}  // namespace pet
