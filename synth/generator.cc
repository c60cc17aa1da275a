#include "synth/generator.h"

#include "rules/text.h"

namespace pet {

CandidateOutcome outcomeOf(const Candidate& c, std::string name, uint64_t rank) {
  return {.name = std::move(name),
          .rank = rank,
          .fate = c.fate,
          .detail = c.detail,
          .rule = c.fate == Fate::kKept ? print(c.rule) : "",
          .seconds = c.seconds};
}

}  // namespace pet
