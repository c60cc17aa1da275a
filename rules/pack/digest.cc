#include "rules/pack/digest.h"

#include <sodium.h>

namespace pet {

struct Digest::State {
  crypto_generichash_state hash;
};

Digest::Digest() : state_(new State) {
  crypto_generichash_init(&state_->hash, nullptr, 0, crypto_generichash_BYTES);
}
Digest::~Digest() {
  delete state_;
}

Digest& Digest::add(std::string_view field) {
  std::string length = std::to_string(field.size()) + ":";
  for (std::string_view part : {std::string_view(length), field}) {
    crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  }
  return *this;
}

std::string Digest::hex() {
  unsigned char bytes[crypto_generichash_BYTES];
  crypto_generichash_final(&state_->hash, bytes, sizeof bytes);
  char text[2 * sizeof bytes + 1];
  sodium_bin2hex(text, sizeof text, bytes, sizeof bytes);
  return text;
}

}  // namespace pet
