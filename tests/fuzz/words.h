#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Mutation of texts by words: most bytes changed at random leave no more than a misspelled name.

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

namespace pet::fuzz {

/// Names, numbers, white space, and single other characters.
inline std::vector<std::string> words(std::string_view text) {
  auto kind = [](char c) {
    auto u = static_cast<unsigned char>(c);
    return std::isalnum(u) || c == '_' || c == '\'' ? 0 : std::isspace(u) && c != '\n' ? 1 : 2;
  };
  std::vector<std::string> result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && kind(text[i]) != 2 && kind(text[i]) == kind(text[i - 1])) {
      result.back() += text[i];
    } else {
      result.emplace_back(1, text[i]);
    }
  }
  return result;
}

/// A few words deleted, doubled, exchanged for others of the text or for a number.
inline std::string mutateWords(std::string_view text, unsigned seed) {
  constexpr std::array kNumbers = {"0", "1", "2", "3", "7", "-1", "100000", "2147483648", "9223372036854775807", "0.5"};
  std::minstd_rand random(seed);
  auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  std::vector<std::string> all = words(text);
  for (size_t changes = 1 + below(3); changes-- > 0 && !all.empty();) {
    size_t at = below(all.size()), other = below(all.size());
    auto place = all.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
      case 0:
        all.erase(place);
        break;
      case 1:
        all.insert(place, std::string(all[other]));
        break;
      case 2:
        all[at] = all[other];
        break;
      case 3:
        std::swap(all[at], all[other]);
        break;
      case 4:
        all[at] = kNumbers[below(kNumbers.size())];
        break;
      default: {  // a line once more, elsewhere
        auto begin = std::find(std::make_reverse_iterator(place), all.rend(), "\n").base();
        auto end = std::find(place, all.end(), "\n");
        std::vector<std::string> line(begin, end);
        line.emplace_back("\n");
        auto to = std::find(all.begin() + static_cast<std::ptrdiff_t>(other), all.end(), "\n");
        all.insert(to == all.end() ? to : to + 1, line.begin(), line.end());
      }
    }
  }
  std::string result;
  for (const std::string& word : all)
    result += word;
  return result;
}

}  // namespace pet::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  std::string text = pet::fuzz::mutateWords({reinterpret_cast<const char*>(data), size}, seed);
  size = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), size);
  return size;
}
