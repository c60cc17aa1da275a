#include "applier/choose/earlier_rules.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pet {
namespace {

/// `view` is of a part of a graph, with nodes that no graph has yet.
bool hasSite(View view, const Pattern& pattern, const ModelSizes& sizes, Forms& forms) {
  for (Provenance& p : view.provenance)
    p.origin = -1;
  std::vector<Refusal> refusals;
  const MatchIndex index(Graph{}, view, sizes);
  return !match(index, pattern, forms, refusals).empty();
}

}  // namespace

bool isMadeBy(std::string_view site, std::string_view rule) {
  return site.find(fmt::format("pet/{}/", rule)) != std::string_view::npos;
}

int generation(std::string_view site) {
  int count = 0;
  for (size_t at = site.find("pet/"); at != std::string_view::npos; at = site.find("pet/", at + 1))
    count += at == 0 || site[at - 1] == '/';
  return count;
}

Expected<EarlierRules> EarlierRules::of(const std::vector<std::string>& sites, RuleSource& rules, Forms& forms) {
  EarlierRules earlier;
  std::vector<std::string_view> made;
  std::copy_if(sites.begin(), sites.end(), std::back_inserter(made),
               [](const std::string& site) { return generation(site) > 0; });
  if (made.empty()) return earlier;
  auto patterns = rules.patternsOfRules([&](std::string_view rule) {
    return std::any_of(made.begin(), made.end(), [&](std::string_view site) { return isMadeBy(site, rule); });
  });
  if (!patterns) return tl::unexpected(patterns.error());
  earlier.patterns_ = std::move(*patterns);
  earlier.forms_ = &forms;
  return earlier;
}

const Pattern* EarlierRules::comingBack(std::string_view site,
                                        const View& before,
                                        const View& after,
                                        const ModelSizes& sizes) const {
  for (const auto& [rule, pattern] : patterns_) {
    if (isMadeBy(site, rule) && hasSite(after, *pattern, sizes, *forms_) && !hasSite(before, *pattern, sizes, *forms_))
      return pattern;
  }
  return nullptr;
}

}  // namespace pet
