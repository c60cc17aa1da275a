#include "synth/candidate.h"

#include <algorithm>
#include <array>

#include "synth/enumerate/plan.h"

namespace pet {
namespace {

struct FateText {
  std::string_view name, meaning;
};

constexpr std::array<FateText, 15> kFates = {{
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
    {"composition", "redundant: a smaller kept rule, followed by a change of operator"},
    {"duplicate", "redundant: the same program as a kept rule"},
    {"instance", "redundant: a kept rule with other names, or a more general one"},
    {"kept", "proved"},
}};
static_assert(kFates.size() == static_cast<size_t>(Fate::kKept) + 1);

}  // namespace

std::string_view fateName(Fate fate) {
  return kFates.at(static_cast<size_t>(fate)).name;
}

std::string_view fateMeaning(Fate fate) {
  return kFates.at(static_cast<size_t>(fate)).meaning;
}

std::optional<Fate> fateOf(std::string_view name) {
  const auto* found = std::find_if(kFates.begin(), kFates.end(), [&](const FateText& f) { return f.name == name; });
  if (found == kFates.end()) return std::nullopt;
  return static_cast<Fate>(found - kFates.begin());
}

StageTimes& StageTimes::operator+=(const StageTimes& o) {
  build += o.build;
  filter += o.filter;
  prove += o.prove;
  correct += o.correct;
  return *this;
}

void end(Candidate& c, Fate fate, std::string detail) {
  c.fate = fate;
  c.detail = std::move(detail);
}

Rule uncorrectedRule(const std::string& pattern,
                     const std::string& name,
                     std::string family,
                     std::vector<std::pair<std::string, Expr>> where,
                     const ShapeClass& shapes,
                     const Program& program) {
  return {.name = pattern + "/" + name,
          .pattern = pattern,
          .family = std::move(family),
          .depth = depthOf(program),
          .where = std::move(where),
          .shapes = shapes,
          .mutant = program,
          .boxes = {},
          .replacement = program,
          .numerics = {},
          .proofs = {}};
}

}  // namespace pet
