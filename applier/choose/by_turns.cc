#include "applier/choose/by_turns.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "applier/choose/same_place.h"

namespace pet {
namespace {

/// Under --all the rules of a site take turns: the one that fired least so far goes first, so that one model shows
/// many; of those the one with the most boxes, for it has the most to show.
std::vector<SiteRule> byTurns(std::vector<SiteRule> candidates) {
  std::map<std::string_view, int> turns;
  for (size_t begin = 0; begin < candidates.size();) {
    size_t end = begin;
    while (end < candidates.size() && candidates[end].site.anchor == candidates[begin].site.anchor)
      ++end;
    auto first = candidates.begin() + static_cast<std::ptrdiff_t>(begin);
    auto last = candidates.begin() + static_cast<std::ptrdiff_t>(end);
    std::stable_sort(first, last, [&](const SiteRule& x, const SiteRule& y) {
      return std::pair(turns[x.rule->name], -x.boxes) < std::pair(turns[y.rule->name], -y.boxes);
    });
    ++turns[first->rule->name];
    begin = end;
  }
  return candidates;
}

}  // namespace

std::vector<SiteRule> chooseByTurns(std::vector<SiteRule> candidates,
                                    const std::function<std::optional<Reason>(const SiteRule&)>& whyNot,
                                    std::vector<Refusal>& refusals) {
  auto before = [](const SiteRule& a, const SiteRule& b) { return placeKey(a) < placeKey(b); };
  std::stable_sort(candidates.begin(), candidates.end(), before);
  std::vector<SiteRule> chosen;
  std::map<int, size_t> taken;  // by node: which of the chosen
  for (SiteRule& c : byTurns(std::move(candidates))) {
    auto refused = [&](Reason reason) {
      refusals.push_back({c.site.anchor, c.site.pattern->name, c.rule->name, std::move(reason)});
    };
    auto other = std::find_if(c.site.nodes.begin(), c.site.nodes.end(), [&](int n) { return taken.contains(n); });
    if (other != c.site.nodes.end()) {
      if (!sameBut(chosen[taken.at(*other)], c)) refused({ReasonKind::kOtherPreferred, "another rule was preferred"});
    } else if (auto why = whyNot(c)) {
      refused(std::move(*why));
    } else {
      for (int node : c.site.nodes)
        taken.emplace(node, chosen.size());
      chosen.push_back(std::move(c));
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), before);
  return chosen;
}

}  // namespace pet
