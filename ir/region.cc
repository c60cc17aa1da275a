#include "ir/region.h"

#include <algorithm>

namespace pet {
namespace {

constexpr size_t kMostParts = 256;

/// The disjoint cases in which a constraint does not hold.
std::vector<Constraint> negations(const Constraint& c) {
  Constraint below{-c.expr - 1, Constraint::Kind::kNonNegative}, above{c.expr - 1, Constraint::Kind::kNonNegative};
  if (c.kind == Constraint::Kind::kNonNegative) return {below};
  return {below, above};
}

bool contains(const std::vector<Constraint>& all, const Constraint& c) {
  return std::find(all.begin(), all.end(), c) != all.end();
}

}  // namespace

Expected<Region> complement(const Region& region, const std::vector<Constraint>& known) {
  Region result{{}};
  for (const auto& conjunction : region) {
    Region next;
    for (const auto& part : result) {
      std::vector<Constraint> prefix = part;  // the case in which the constraints so far hold, and this one does not
      for (const Constraint& c : conjunction) {
        if (c.decided() == true || contains(known, c) || contains(prefix, c)) continue;
        for (const Constraint& no : negations(c)) {
          if (no.decided() == false) continue;
          next.push_back(prefix);
          if (!no.decided()) next.back().push_back(no);
        }
        prefix.push_back(c);
      }
    }
    result = std::move(next);
    if (result.size() > kMostParts) return fail(ErrorKind::kUnsupported, "a region with too many cases");
  }
  return result;
}

}  // namespace pet
