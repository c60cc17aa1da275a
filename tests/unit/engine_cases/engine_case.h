#pragma once

#include <ostream>
#include <string>

namespace pet::testing_support {

/// A program that every engine of ours computes: one or a few operators.
struct EngineCase {
  std::string name;
  std::string text;
  double tolerance = 0;  ///< of max|y|; 0: integers, equal
  bool winograd = false;
};

inline void PrintTo(const EngineCase& c, std::ostream* out) {
  *out << c.name;
}

}  // namespace pet::testing_support
