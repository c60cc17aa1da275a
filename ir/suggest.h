#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pet {

/// Of the words that are known the one that was probably meant: it differs by at most a third of the word's letters,
/// or by one, whatever their case (neighbours that changed places count once), and shares one with it; of several the
/// nearest, then the first. Nullopt:
/// none is close.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// "did you mean 'Conv'?"; empty where none is close.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);
/// The same, and what else is to be said: "did you mean 'Conv'? known: Conv, Relu".
std::string suggestionAnd(std::string_view word, const std::vector<std::string>& known, std::string_view more);

}  // namespace pet
