#pragma once

#include <string_view>

#include "rules/pack/pack.h"

namespace pet::tool {

/// Pack::digest() of the default pack that this build made. A pack that has it is the tool's own: its rules are trusted
/// as the tool itself is (docs/install.md).
std::string_view defaultPackDigest();

inline bool isDefaultPack(const Pack& pack) {
  return pack.digest() == defaultPackDigest();
}

}  // namespace pet::tool
