#pragma once

#include <string>
#include <string_view>

namespace pet {

/// BLAKE2b-256 over a sequence of fields; each goes in as its decimal length, a colon and its bytes, so that no two
/// sequences share an input.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  Digest& add(std::string_view field);
  /// 64 hexadecimal digits. Ends the digest.
  std::string hex();

 private:
  struct State;
  State* state_;
};

}  // namespace pet
