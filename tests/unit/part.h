#pragma once

#include <cstdlib>

namespace pet::testing_support {

/// Of a long test: all there is to do; with PET_TEST_PART=K/N, which changes with the commit, one of so many parts of
/// it.
inline bool isInPart(size_t number, size_t parts) {
  const char* part = std::getenv("PET_TEST_PART");
  return !part || number % parts == std::strtoul(part, nullptr, 10) % parts;
}

}  // namespace pet::testing_support
