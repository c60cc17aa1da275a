#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pet {

/// Of the words that are known the one that was probably meant: it differs by at most a third of the word's letters,
/// one at least, in other cases or as neighbours that changed places; of several the nearest, then the first. Nullopt:
/// none is close.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// "did you mean 'Conv'?"; empty where none is close.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace pet
