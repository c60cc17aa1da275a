#include "synth/free/proved.h"

#include <set>

#include "synth/cover/chain.h"

namespace pet::freemode {
namespace {

/// Of matrices, and of images and kernels: what looks at each position by itself is stated of one rank alone.
constexpr size_t kRanks[] = {2, 4};
/// Of chains by any of the rules, three thousand of them at depth 4.
constexpr cover::ChainLimits kShort{.steps = 3, .programs = 200, .values = 10'000},
    kLong{.steps = 6, .programs = 400, .values = 20'000};

bool implied(const Pattern& pattern,
             const Rule& rule,
             const cover::KnownEquations& known,
             const cover::ChainLimits& limits) {
  auto goal = rewrite::equationOf(pattern, rule);
  return goal && cover::findChain(*goal, known, limits).has_value();
}

}  // namespace

void ProvedRules::add(size_t number, const Judgement& proved) {
  auto equation = rewrite::equationOf(proved.pattern, proved.rule);
  if (!equation) return;
  std::vector<rewrite::Equation>& own = equations_[number];
  own.push_back(*equation);
  for (size_t rank : kRanks) {
    if (rewrite::rankOf(*equation) == rank) continue;
    if (auto other = rewrite::atRank(*equation, rank)) own.push_back(std::move(*other));
  }
  for (const rewrite::Equation& e : own)
    all_.add(e);
}

bool ProvedRules::imply(const Pattern& pattern, const Rule& rule, const std::vector<size_t>& numbers) const {
  cover::KnownEquations some;
  for (size_t n : std::set<size_t>(numbers.begin(), numbers.end())) {
    auto it = equations_.find(n);
    if (it == equations_.end()) continue;
    for (const rewrite::Equation& e : it->second)
      some.add(e);
  }
  return implied(pattern, rule, some, {.steps = numbers.size() + 1});
}

bool ProvedRules::imply(const Pattern& pattern, const Rule& rule, Effort effort) const {
  return implied(pattern, rule, all_, effort == Effort::kShort ? kShort : kLong);
}

}  // namespace pet::freemode
