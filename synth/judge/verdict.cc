#include "synth/judge/verdict.h"

#include <algorithm>
#include <array>

namespace pet {
namespace {

struct DropText {
  std::string_view name, meaning;
};

constexpr std::array<DropText, 15> kDrops = {{
    {"not applicable", "the layouts or the operator do not fit the pattern"},
    {"no vote", "no weight program explains what the pattern computes"},
    {"shape", "the extents do not come out as the pattern's"},
    {"empty class", "no shape is left"},
    {"too deep", "more operators than --depth"},
    {"identity", "the pattern itself"},
    {"cost", "too much more work than the pattern"},
    {"fingerprint", "refuted: differs from the pattern in most places, by evaluation at a small shape"},
    {"unknown", "the prover does not decide"},
    {"no correction", "wrong in places that no boxes cover"},
    {"unproved", "unknown: the last proof, of what would be emitted, does not succeed"},
    {"unchecked", "proved, but the independent checker does not confirm it: a bug in pet"},
    {"composition", "redundant: a smaller kept rule, followed by a change of operator"},
    {"duplicate", "redundant: the same program as a kept rule"},
    {"instance", "redundant: a kept rule with other names, or a more general one"},
}};
static_assert(kDrops.size() == static_cast<size_t>(DropReason::kInstance) + 1);

}  // namespace

std::string_view dropName(DropReason reason) {
  return kDrops.at(static_cast<size_t>(reason)).name;
}

std::string_view dropMeaning(DropReason reason) {
  return kDrops.at(static_cast<size_t>(reason)).meaning;
}

std::optional<DropReason> dropOf(std::string_view name) {
  const auto* found = std::find_if(kDrops.begin(), kDrops.end(), [&](const DropText& d) { return d.name == name; });
  if (found == kDrops.end()) return std::nullopt;
  return static_cast<DropReason>(found - kDrops.begin());
}

StageTimes& StageTimes::operator+=(const StageTimes& o) {
  build += o.build;
  filter += o.filter;
  prove += o.prove;
  correct += o.correct;
  check += o.check;
  return *this;
}

}  // namespace pet
