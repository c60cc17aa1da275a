#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Mutation of protobuf messages by fields, whatever their type: most bytes changed at random leave no message.

namespace pet::fuzz {

/// One field of a message on the wire: a number, or bytes of a string, a message, or a fixed width.
struct Field {
  uint64_t tag = 0;  ///< number · 8 + wire type
  uint64_t number = 0;
  std::string bytes;
  bool isNumber() const { return tag % 8 == 0; }
};

inline std::optional<uint64_t> readVarint(std::string_view& in) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    auto byte = static_cast<unsigned char>(in[0]);
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 127U) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128U);
  return out + static_cast<char>(value);
}

/// Nullopt: not a message (or not one of these: ONNX has no field above 100).
inline std::optional<std::vector<Field>> readFields(std::string_view in) {
  std::vector<Field> fields;
  while (!in.empty()) {
    auto tag = readVarint(in);
    if (!tag || *tag / 8 < 1 || *tag / 8 > 100) return std::nullopt;
    Field f{*tag, 0, ""};
    std::optional<uint64_t> size;
    switch (*tag % 8) {
      case 0:
        size = readVarint(in);
        if (!size) return std::nullopt;
        f.number = *size;
        fields.push_back(f);
        continue;
      case 1:
        size = 8;
        break;
      case 2:
        size = readVarint(in);
        break;
      case 5:
        size = 4;
        break;
      default:
        break;
    }
    if (!size || *size > in.size()) return std::nullopt;
    f.bytes = in.substr(0, *size);
    in.remove_prefix(*size);
    fields.push_back(std::move(f));
  }
  return fields;
}

inline std::string writeFields(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& f : fields) {
    out += varint(f.tag);
    if (f.isNumber()) {
      out += varint(f.number);
    } else {
      if (f.tag % 8 == 2) out += varint(f.bytes.size());
      out += f.bytes;
    }
  }
  return out;
}

class FieldMutator {
 public:
  explicit FieldMutator(unsigned seed) : random_(seed) {}

  std::string mutate(const std::string& message) {
    auto fields = readFields(message);
    return fields && !fields->empty() ? mutateFields(std::move(*fields)) : mutateBytes(message);
  }

 private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  uint64_t number() {
    constexpr std::array<int64_t, 18> kNumbers = {
        0,         1,         2,         3,         4,    7, 13, -1, -2, 9, 1 << 20, 1LL << 31, (1LL << 32) + 1,
        1LL << 40, INT64_MAX, INT64_MIN, 1LL << 62, 65536};
    return static_cast<uint64_t>(kNumbers[below(kNumbers.size())]);
  }

  std::string mutateFields(std::vector<Field> fields) {
    size_t at = below(fields.size()), other = below(fields.size());
    Field& f = fields[at];
    switch (below(8)) {
      case 0:
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), Field(fields[other]));
        break;
      case 2:  // the contents of another field
        if (f.isNumber() == fields[other].isNumber()) {
          f.bytes = fields[other].bytes;
          f.number = fields[other].number;
          break;
        }
        [[fallthrough]];
      default:
        if (f.isNumber()) {
          f.number = number();
        } else {
          f.bytes = mutate(f.bytes);
        }
    }
    return writeFields(fields);
  }

  /// A string, or the values of a tensor.
  std::string mutateBytes(std::string bytes) {
    if (bytes.size() >= 8 && bytes.size() % 8 == 0) {
      uint64_t value = number();
      std::memcpy(bytes.data() + below(bytes.size() / 8) * 8, &value, 8);
    } else if (bytes.empty() || below(2) == 0) {
      bytes += static_cast<char>(below(256));
    } else if (below(2) == 0) {
      bytes.pop_back();
    } else {
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    return bytes;
  }

  std::minstd_rand random_;
};

}  // namespace pet::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  std::string message(reinterpret_cast<const char*>(data), size);
  pet::fuzz::FieldMutator mutator(seed);
  for (unsigned changes = 1 + seed / 8 % 3; changes-- > 0;)
    message = mutator.mutate(message);
  if (message.size() > maxSize) return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, message.data(), message.size());
  return message.size();
}
