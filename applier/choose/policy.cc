#include "applier/choose/policy.h"

#include <algorithm>

namespace pet {

ElementType computedAt(std::string_view precision) {
  if (precision == "bf16") return ElementType::kBfloat16;
  return precision == "tf32" || precision == "fp16" ? ElementType::kFloat16 : ElementType::kFloat;
}

double relativeError(const Numerics& numerics, ElementType type) {
  return numerics.kind == Numerics::Kind::kConditioned ? numerics.kappa * unitRoundoff(type) : 0;
}

bool matchesGlob(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= text.size(); ++skip) {
      if (matchesGlob(text.substr(skip), pattern.substr(1))) return true;
    }
    return false;
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         matchesGlob(text.substr(1), pattern.substr(1));
}

bool matchesAny(std::string_view text, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matchesGlob(text, p); });
}

}  // namespace pet
