#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

// What of two candidates, each a SiteRule or a Rewrite, says how their places lie to each other.
namespace pet {

/// The order in which candidates are looked at.
template <class At>
auto placeKey(const At& at) {
  return std::tuple(at.site.anchor, std::string_view(at.rule->name), at.site.outputs);
}

/// The rule at the same nodes, in another order of what is alike in its pattern.
template <class At>
bool sameBut(const At& a, const At& b) {
  return a.rule == b.rule && a.site.nodes == b.site.nodes;
}

inline bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int n) { return std::binary_search(b.begin(), b.end(), n); });
}

}  // namespace pet
