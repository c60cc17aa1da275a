#include "tools/common/display.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace pet::tool {
namespace {

struct Range {
  uint32_t first, last;
};

/// Characters that combine with the one before, and marks that are not seen.
constexpr Range kNoColumn[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                               {0x64b, 0x65f},   {0x200b, 0x200f}, {0x202a, 0x202e}, {0x20d0, 0x20f0},
                               {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
/// East Asian wide and full-width characters, and pictures.
constexpr Range kTwoColumns[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x33ff}, {0x3400, 0x4dbf},
                                 {0x4e00, 0x9fff},   {0xa000, 0xa4cf},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},
                                 {0xfe30, 0xfe4f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
                                 {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t kCount>
bool within(const Range (&ranges)[kCount], uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](Range r) { return r.first <= c && c <= r.last; });
}

/// The character at the beginning of a text, and its bytes; what is no UTF-8 is a character of one byte.
std::pair<uint32_t, size_t> characterOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  const size_t size = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 1;
  if (size == 1 || size > text.size()) return {first, 1};
  uint32_t c = first & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return {first, 1};
    c = c << 6 | (byte(i) & 0x3f);
  }
  return {c, size};
}

size_t columnsOf(uint32_t c) {
  return within(kNoColumn, c) ? 0 : within(kTwoColumns, c) ? 2 : 1;
}

}  // namespace

size_t columnsOf(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const auto [c, size] = characterOf(text);
    columns += columnsOf(c);
    text.remove_prefix(size);
  }
  return columns;
}

std::string_view cutTo(std::string_view text, size_t columns) {
  size_t taken = 0, bytes = 0;
  while (bytes < text.size()) {
    const auto [c, size] = characterOf(text.substr(bytes));
    taken += columnsOf(c);
    if (taken > columns) break;
    bytes += size;
  }
  return text.substr(0, bytes);
}

std::string bold(std::string_view text) {
  const char* plain = std::getenv("NO_COLOR");
  const bool isBold = ::isatty(STDOUT_FILENO) == 1 && (!plain || !*plain);
  return isBold ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

}  // namespace pet::tool
