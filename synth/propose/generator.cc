#include "synth/propose/generator.h"

#include <algorithm>
#include <array>

namespace pet {
namespace {

constexpr std::array<std::string_view, 5> kSources = {"moves", "axes", "exchange", "skeleton", "template"};

}  // namespace

std::string_view sourceName(Source source) {
  return kSources[static_cast<size_t>(source)];
}

std::optional<Source> sourceOf(std::string_view name) {
  const auto* it = std::find(kSources.begin(), kSources.end(), name);
  return it == kSources.end() ? std::nullopt : std::optional(static_cast<Source>(it - kSources.begin()));
}

}  // namespace pet
