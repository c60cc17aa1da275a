#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/error.h"

// The wire format of protocol buffers, as far as messages of integers and messages need it: varints and
// length-delimited fields (https://protobuf.dev/programming-guides/encoding/).
namespace pet::taso {

/// One field of a message: a varint or the bytes of a message, by `kind`.
struct WireField {
  enum class Kind { kVarint, kMessage };
  uint32_t number = 0;
  Kind kind = Kind::kVarint;
  uint64_t varint = 0;
  std::string_view bytes = {};  ///< of the message, views the source
  size_t offset = 0;            ///< of the field's key in the file, in bytes
};

/// A message in a file: its bytes, and their offset.
struct WireMessage {
  std::string_view bytes;
  size_t offset = 0;
};

/// The fields of a message, in order. Errors (kText) name the byte: a varint or a length that goes over the end, a
/// varint of more than 64 bits, field number 0, a wire type that is neither varint nor length-delimited.
Expected<std::vector<WireField>> wireFields(const WireMessage& message, std::string_view file);

/// The message in a field of kind kMessage.
WireMessage messageOf(const WireMessage& in, const WireField& field);

}  // namespace pet::taso
