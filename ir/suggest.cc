#include "ir/suggest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace pet {
namespace {

std::string lower(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// Letters that are inserted, left out, or others, and neighbours that changed places.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr size_t kLongest = 200;  // a word that somebody typed
  if (word.size() > kLongest) return std::nullopt;
  const std::string wanted = lower(word);
  size_t best = std::min(std::max<size_t>(1, word.size() / 3) + 1, word.size());
  std::optional<std::string> found;
  for (const std::string& each : known) {
    if (each.size() + best <= word.size() || word.size() + best <= each.size()) continue;
    const size_t d = distance(wanted, lower(each));
    if (d >= best) continue;
    best = d;
    found = each;
  }
  return found;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  auto meant = nearest(word, known);
  return meant ? "did you mean '" + *meant + "'?" : "";
}

std::string suggestionAnd(std::string_view word, const std::vector<std::string>& known, std::string_view more) {
  const std::string meant = suggestion(word, known);
  return (meant.empty() ? meant : meant + " ") + std::string(more);
}

}  // namespace pet
