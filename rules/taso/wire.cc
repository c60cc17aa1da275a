#include "rules/taso/wire.h"

#include <string>

#include <fmt/format.h>

namespace pet::taso {
namespace {

/// Reads one message from front to back.
class WireReader {
 public:
  WireReader(const WireMessage& message, std::string_view file) : message_(message), file_(file) {}

  Expected<std::vector<WireField>> fields() {
    std::vector<WireField> result;
    while (at_ < message_.bytes.size()) {
      auto f = field();
      if (!f) return tl::unexpected(f.error());
      result.push_back(*f);
    }
    return result;
  }

 private:
  /// key = number · 8 + wire type
  Expected<WireField> field() {
    WireField f;
    f.offset = message_.offset + at_;
    auto key = varint();
    if (!key) return tl::unexpected(key.error());
    if (*key >> 3 == 0 || *key >> 3 >= (uint64_t{1} << 29)) {
      return error(f.offset, fmt::format("{} is no field number", *key >> 3));
    }
    f.number = static_cast<uint32_t>(*key >> 3);
    auto value = varint();  // or the length
    switch (*key & 7) {
      case 0:
        if (!value) return tl::unexpected(value.error());
        f.varint = *value;
        return f;
      case 2:
        if (!value) return tl::unexpected(value.error());
        if (*value > message_.bytes.size() - at_) {
          return error(f.offset,
                       fmt::format("a field of {} bytes, where {} are left", *value, message_.bytes.size() - at_));
        }
        f.kind = WireField::Kind::kMessage;
        f.bytes = message_.bytes.substr(at_, *value);
        at_ += *value;
        return f;
      default:
        return error(f.offset, fmt::format("wire type {}, which no field here has", *key & 7));
    }
  }

  /// Seven bits a byte, the lowest first; the highest bit says that more follow.
  Expected<uint64_t> varint() {
    size_t start = at_;
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == message_.bytes.size()) return error(message_.offset + start, "a number that is cut off");
      auto byte = static_cast<uint8_t>(message_.bytes[at_++]);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return error(message_.offset + start, "a number of more than 64 bits");
  }

  tl::unexpected<Error> error(size_t offset, std::string what) const {
    return fail(ErrorKind::kText, std::move(what), fmt::format("{}: byte {}", file_, offset),
                "not a file of TASO's substitutions, or a damaged one");
  }

  WireMessage message_;
  std::string_view file_;
  size_t at_ = 0;
};

}  // namespace

Expected<std::vector<WireField>> wireFields(const WireMessage& message, std::string_view file) {
  return WireReader(message, file).fields();
}

WireMessage messageOf(const WireMessage& in, const WireField& field) {
  return {field.bytes, in.offset + static_cast<size_t>(field.bytes.data() - in.bytes.data())};
}

}  // namespace pet::taso
