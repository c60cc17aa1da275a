#include "ir/region.h"

#include <algorithm>

namespace pet {
namespace {

constexpr size_t kMostParts = 1024;

/// What a constraint that holds says of another one that differs from it, up to sign, by a number.
enum class Says { kNothing, kHolds, kFails };

Says says(const Constraint& known, const Constraint& c) {
  bool isZero = known.kind == Constraint::Kind::kZero;
  auto sum = (c.expr + known.expr).asConstant(), difference = (c.expr - known.expr).asConstant();
  if (c.kind == Constraint::Kind::kNonNegative) {
    // known >= 0 gives c = known + difference >= difference and c = sum - known <= sum.
    if (difference && *difference >= 0) return Says::kHolds;
    if (sum && *sum < 0) return Says::kFails;
    if (isZero && difference) return Says::kFails;
    if (isZero && sum) return Says::kHolds;
    return Says::kNothing;
  }
  if (isZero && (difference == 0 || sum == 0)) return Says::kHolds;
  if (isZero && (difference || sum)) return Says::kFails;
  return (difference && *difference > 0) || (sum && *sum < 0) ? Says::kFails : Says::kNothing;
}

Says says(const std::vector<Constraint>& known, const Constraint& c) {
  if (auto decided = c.decided()) return *decided ? Says::kHolds : Says::kFails;
  for (const Constraint& k : known) {
    if (Says s = says(k, c); s != Says::kNothing) return s;
  }
  return Says::kNothing;
}

/// The disjoint cases in which a constraint does not hold.
std::vector<Constraint> negations(const Constraint& c) {
  Constraint below{-c.expr - 1, Constraint::Kind::kNonNegative}, above{c.expr - 1, Constraint::Kind::kNonNegative};
  if (c.kind == Constraint::Kind::kNonNegative) return {below};
  return {below, above};
}

/// The parts of `part` outside a conjunction.
Region without(const std::vector<Constraint>& part,
               const std::vector<Constraint>& conjunction,
               const std::vector<Constraint>& known) {
  std::vector<Constraint> prefix = known;  // what holds where the constraints so far do
  prefix.insert(prefix.end(), part.begin(), part.end());
  for (const Constraint& c : conjunction) {
    if (says(prefix, c) == Says::kFails) return {part};
  }
  Region result;
  for (const Constraint& c : conjunction) {
    if (says(prefix, c) == Says::kHolds) continue;
    for (const Constraint& no : negations(c)) {
      Says s = says(prefix, no);
      if (s == Says::kFails) continue;
      result.emplace_back(prefix.begin() + static_cast<std::ptrdiff_t>(known.size()), prefix.end());
      if (s == Says::kNothing) result.back().push_back(no);
    }
    prefix.push_back(c);
  }
  return result;
}

}  // namespace

Expected<Region> complement(const Region& region, const std::vector<Constraint>& known) {
  Region result{{}};
  for (const auto& conjunction : region) {
    Region next;
    for (const auto& part : result) {
      for (auto& rest : without(part, conjunction, known))
        next.push_back(std::move(rest));
    }
    result = std::move(next);
    if (result.size() > kMostParts) return fail(ErrorKind::kUnsupported, "a region with too many cases");
  }
  return result;
}

bool areDisjoint(const Region& region) {
  for (size_t i = 0; i < region.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      bool apart = std::any_of(region[i].begin(), region[i].end(),
                               [&](const Constraint& c) { return says(region[j], c) == Says::kFails; });
      if (!apart) return false;
    }
  }
  return true;
}

}  // namespace pet
