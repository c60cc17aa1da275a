#include "synth/candidate.h"

#include <algorithm>
#include <array>

namespace pet {
namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "not applicable", "no vote", "shape",         "empty class", "too deep",    "identity",  "cost",
    "fingerprint",    "unknown", "no correction", "unproved",    "composition", "duplicate", "kept"};
static_assert(kNames.size() == static_cast<size_t>(Fate::kKept) + 1);

}  // namespace

std::string_view fateName(Fate fate) {
  return kNames.at(static_cast<size_t>(fate));
}

std::optional<Fate> fateOf(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Fate>(found - kNames.begin());
}

StageTimes& StageTimes::operator+=(const StageTimes& o) {
  build += o.build;
  filter += o.filter;
  prove += o.prove;
  correct += o.correct;
  return *this;
}

}  // namespace pet
