#include <algorithm>
#include <limits>

#include "rules/check/meaning/normal_form.h"

// Regions as lists of conjunctions. What a constraint says of another one is seen only where both are of one linear
// form but for a number; records depend on it, so that it is part of the page.
namespace pet::check {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

/// What is known of the value of a constraint's expression where another constraint holds.
struct Interval {
  int64_t low = -kNone, high = kNone;

  std::optional<bool> decides(Constraint::Kind kind) const {
    if (high < 0 || (kind == Constraint::Kind::kZero && low > 0)) return false;
    if (low >= 0 && (kind == Constraint::Kind::kNonNegative || high == 0)) return true;
    return std::nullopt;
  }
};

Interval given(const Constraint& known, const Expr& e) {
  Interval result;
  bool isZero = known.kind == Constraint::Kind::kZero;
  if (auto difference = (e - known.expr).asConstant()) {
    result.low = *difference;
    if (isZero) result.high = *difference;
  } else if (auto sum = (e + known.expr).asConstant()) {
    result.high = *sum;
    if (isZero) result.low = *sum;
  }
  return result;
}

std::optional<bool> decided(const Conjunction& known, const Constraint& c) {
  if (auto constant = c.decided()) return constant;
  for (const Constraint& k : known) {
    if (auto answer = given(k, c.expr).decides(c.kind)) return answer;
  }
  return std::nullopt;
}

std::vector<Constraint> negations(const Constraint& c) {
  std::vector<Constraint> result{Constraint::le(c.expr, -1)};
  if (c.kind == Constraint::Kind::kZero) result.push_back(Constraint::le(1, c.expr));
  return result;
}

/// Adds what of `part` lies outside of the conjunction.
void subtract(const Conjunction& part,
              const Conjunction& conjunction,
              const Conjunction& known,
              std::vector<Conjunction>& into) {
  Conjunction all = known;
  all.insert(all.end(), part.begin(), part.end());
  bool apart = std::any_of(conjunction.begin(), conjunction.end(),
                           [&](const Constraint& c) { return decided(all, c) == false; });
  if (apart) return into.push_back(part);
  Conjunction so = part;
  for (const Constraint& c : conjunction) {
    if (decided(all, c) == true) continue;
    for (const Constraint& n : negations(c)) {
      auto holds = decided(all, n);
      if (holds == false) continue;
      into.push_back(so);
      if (!holds) into.back().push_back(n);
    }
    so.push_back(c);
    all.push_back(c);
  }
}

}  // namespace

std::vector<Conjunction> complement(const std::vector<Conjunction>& region, const Conjunction& known) {
  constexpr size_t kMost = 1024;
  std::vector<Conjunction> outside{{}};
  for (const Conjunction& inside : region) {
    std::vector<Conjunction> next;
    for (const Conjunction& part : outside)
      subtract(part, inside, known, next);
    outside = std::move(next);
    if (outside.size() > kMost) throw Opaque("a region with too many cases");
  }
  return outside;
}

bool areDisjoint(const std::vector<Conjunction>& region) {
  for (size_t i = 0; i < region.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      bool apart = std::any_of(region[i].begin(), region[i].end(),
                               [&](const Constraint& c) { return decided(region[j], c) == false; });
      if (!apart) return false;
    }
  }
  return true;
}

}  // namespace pet::check
