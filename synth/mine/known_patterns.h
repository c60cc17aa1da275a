#pragma once

#include <string>
#include <vector>

#include "rules/rewrite/equation.h"
#include "rules/rule.h"

namespace pet::mine {

/// Patterns that a search has been made for.
class KnownPatterns {
 public:
  explicit KnownPatterns(const std::vector<Pattern>& patterns);
  /// The name of a known pattern that this one is: up to names, or for some values of its symbols, the class of which
  /// contains this one's. Not where a symbol's value is 1: of kernels of extent 1 more holds than of others.
  std::optional<std::string> nameOf(const Pattern& pattern) const;

 private:
  std::vector<rewrite::Equation> known_;  ///< each pattern equal to itself
};

}  // namespace pet::mine
