#include "synth/generator.h"

#include <algorithm>
#include <array>

#include "rules/text.h"

namespace pet {
namespace {

constexpr std::array<std::string_view, 3> kSources = {"moves", "skeleton", "template"};

}  // namespace

std::string_view sourceName(Source source) {
  return kSources[static_cast<size_t>(source)];
}

std::optional<Source> sourceOf(std::string_view name) {
  auto it = std::find(kSources.begin(), kSources.end(), name);
  return it == kSources.end() ? std::nullopt : std::optional(static_cast<Source>(it - kSources.begin()));
}

CandidateOutcome outcomeOf(const Candidate& c, std::string name, uint64_t rank) {
  return {.name = std::move(name),
          .rank = rank,
          .fate = c.fate,
          .detail = c.detail,
          .rule = c.fate == Fate::kKept ? print(c.rule) : "",
          .seconds = c.seconds};
}

}  // namespace pet
