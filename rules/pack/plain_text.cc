#include "rules/pack/plain_text.h"

#include <cstdint>

namespace pet {
namespace {

/// What a first byte says of its character.
struct Lead {
  size_t more = 0;     ///< bytes that follow
  uint32_t bits = 0;   ///< of the first byte
  uint32_t least = 0;  ///< a smaller number has a shorter form
};

bool leadOf(unsigned char byte, Lead& lead) {
  if (byte < 0x80) {
    lead = {0, byte, 0};
  } else if ((byte & 0xe0) == 0xc0) {
    lead = {1, byte & 0x1fU, 0x80};
  } else if ((byte & 0xf0) == 0xe0) {
    lead = {2, byte & 0x0fU, 0x800};
  } else if ((byte & 0xf8) == 0xf0) {
    lead = {3, byte & 0x07U, 0x10000};
  } else {
    return false;
  }
  return true;
}

bool isControl(uint32_t character) {
  return (character < 0x20 && character != '\n') || (character >= 0x7f && character < 0xa0);
}

}  // namespace

bool isPlainText(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    Lead lead;
    if (!leadOf(static_cast<unsigned char>(bytes[i++]), lead) || bytes.size() - i < lead.more) return false;
    uint32_t character = lead.bits;
    for (size_t end = i + lead.more; i < end; ++i) {
      auto byte = static_cast<unsigned char>(bytes[i]);
      if ((byte & 0xc0) != 0x80) return false;
      character = character << 6 | (byte & 0x3fU);
    }
    bool surrogate = character >= 0xd800 && character < 0xe000;
    if (character < lead.least || character > 0x10ffff || surrogate || isControl(character)) return false;
  }
  return true;
}

}  // namespace pet
