#include "synth/free/proved.h"

#include <set>

#include "synth/cover/chain.h"

namespace pet::freemode {
namespace {

/// Of matrices, and of images and kernels: what looks at each position by itself is stated of one rank alone.
constexpr size_t kRanks[] = {2, 4};
/// Of chains by any of the rules, three thousand of them at depth 4.
constexpr cover::ChainLimits kShort{.steps = 3, .programs = 60, .values = 5'000},
    kLong{.steps = 6, .programs = 100, .values = 10'000};

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
  std::vector<rewrite::Equation> own;
  for (size_t rank : kRanks) {
    if (rewrite::rankOf(*equation) == rank) continue;
    if (auto other = rewrite::atRank(*equation, rank)) own.push_back(std::move(*other));
  }
  own.insert(own.begin(), std::move(*equation));
  const size_t first = all_.all().size();
  for (rewrite::Equation& e : own)
    all_.add(std::move(e));
  for (size_t i = first; i < all_.all().size(); ++i)
    equations_[number].push_back(i);
}

cover::KnownEquations ProvedRules::some(const std::vector<size_t>& numbers) const {
  cover::KnownEquations result;
  for (size_t n : std::set<size_t>(numbers.begin(), numbers.end())) {
    auto it = equations_.find(n);
    if (it == equations_.end()) continue;
    for (size_t i : it->second)
      result.add(all_.all()[i]);
  }
  return result;
}

bool ProvedRules::imply(const Pattern& pattern, const Rule& rule, const std::vector<size_t>& numbers) const {
  return implied(pattern, rule, some(numbers), {.steps = numbers.size() + 1});
}

bool ProvedRules::implyAmong(const Pattern& pattern, const Rule& rule, const std::vector<size_t>& numbers) const {
  return implied(pattern, rule, some(numbers), kShort);
}

bool ProvedRules::imply(const Pattern& pattern, const Rule& rule, Effort effort) const {
  return implied(pattern, rule, all_, effort == Effort::kShort ? kShort : kLong);
}

}  // namespace pet::freemode
