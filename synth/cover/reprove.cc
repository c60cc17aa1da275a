#include "synth/cover/reprove.h"

#include <fmt/format.h>

namespace pet::cover {
namespace {

/// "step 2: unknown: …" unless both programs are proved equal.
std::optional<std::string> faultOf(
    size_t number, Program before, Program after, const ShapeClass& shapes, const DecideOptions& options) {
  rewrite::Equation step{fmt::format("step {}", number), std::move(before), std::move(after), shapes};
  rewrite::Claim claim = rewrite::claimOf(step);
  Decision d = decide(claim.pattern, claim.rule, options);
  if (std::holds_alternative<Proved>(d)) return std::nullopt;
  std::string why = explain(d);
  return fmt::format("{} is {}: {}", step.name, verdictOf(d), why.substr(0, why.find('\n')));
}

}  // namespace

std::optional<std::string> faultOf(const Chain& chain,
                                   const Pattern& pattern,
                                   const Rule& rule,
                                   const DecideOptions& options) {
  auto before = instantiate(pattern, rule);
  if (!before) return before.error().message();
  // The first and the last program are as they were written.
  for (size_t i = 0; i + 1 < chain.steps.size(); ++i) {
    const Program& after = chain.steps[i].after;
    if (auto fault = faultOf(i + 1, std::move(*before), after, rule.shapes, options)) return fault;
    before = after;
  }
  return faultOf(chain.steps.size(), std::move(*before), rule.replacement, rule.shapes, options);
}

}  // namespace pet::cover
