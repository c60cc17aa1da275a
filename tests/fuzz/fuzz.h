#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ir/error.h"

// What the fuzz targets share. Each target is one file: what it reads, and what must hold of any input.
namespace pet::fuzz {

inline std::string_view view(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Stops where a property does not hold, so that libFuzzer keeps the input.
inline void require(bool holds, std::string_view what, std::string_view detail = "") {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n%.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

/// The error is about a place in the text: file:line:column, inside it or right behind it.
inline void requirePlace(const Error& error, std::string_view file, std::string_view text) {
  require(!error.what.empty(), "an error says what is wrong");
  int line = 0, column = 0, end = 0;
  bool starts = error.where.starts_with(file);
  bool read = starts && std::sscanf(error.where.c_str() + file.size(), ":%d:%d%n", &line, &column, &end) == 2 &&
              file.size() + static_cast<size_t>(end) == error.where.size();
  require(read && line >= 1 && column >= 1, "an error has its line and column", error.message());
  for (int i = 1; i < line; ++i) {
    size_t next = text.find('\n');
    require(next != std::string_view::npos, "an error's line is one of the text's", error.message());
    text.remove_prefix(next + 1);
  }
  size_t length = std::min(text.find('\n'), text.size());
  require(static_cast<size_t>(column) <= length + 1, "an error's column is one of its line's", error.message());
}

}  // namespace pet::fuzz
