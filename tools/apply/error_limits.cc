#include "tools/apply/error_limits.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace pet::tool {
namespace {

std::optional<double> limit(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Expected<ErrorLimits> errorLimits(const std::vector<std::string>& texts) {
  ErrorLimits limits = kErrorLimits;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    const std::string_view type = std::string_view(text).substr(0, at == std::string::npos ? 0 : at);
    auto value = limit(std::string_view(text).substr(at == std::string::npos ? 0 : at + 1));
    bool found = false;
    for (auto& [element, current] : limits) {
      const bool isWide = element == ElementType::kFloat || element == ElementType::kDouble;
      if (at == std::string::npos ? !isWide : str(element) != type) continue;
      found = true;
      if (value) current = *value;
    }
    if (!found || !value)
      return fail(ErrorKind::kUsage, fmt::format("--max-rel-error {}: not of the form 1e-4 or float16=0.02", text), "",
                  "types are float, double, float16 and bfloat16; the number is finite and not negative");
  }
  return limits;
}

}  // namespace pet::tool
