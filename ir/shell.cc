#include "ir/shell.h"

#include <algorithm>
#include <cctype>

namespace pet {

std::string shellWord(std::string_view word) {
  constexpr std::string_view kPlain = "-_./=,:+%@";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
    return std::isalnum(c) || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace pet
