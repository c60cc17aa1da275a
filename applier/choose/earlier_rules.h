#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "applier/match/find_sites.h"

namespace pet {

/// The rule is already part of what a site is called ("pet/<rule>/<site>"), so it made the site.
bool isMadeBy(std::string_view site, std::string_view rule);

/// How many rules it took to make a site: 0 for a node of the user's.
int generation(std::string_view site);

/// The patterns of the rules that made what stands at sites. Names of nodes say which rules these were, so that it is
/// the same in a second run.
class EarlierRules {
 public:
  /// None.
  EarlierRules() = default;
  /// `sites`: their names. `forms` and what the source gives outlive it. The errors of `rules`.
  static Expected<EarlierRules> of(const std::vector<std::string>& sites, RuleSource& rules, Forms& forms);

  /// A pattern that the rules which made `site` left for good, and that would be there again: it has a site in `after`
  /// and none in `before`. nullptr: there is none. So these rules leave each pattern once at most, and come to an end
  /// even where each seems to gain on what the others made.
  const Pattern* comingBack(std::string_view site,
                            const View& before,
                            const View& after,
                            const ModelSizes& sizes) const;

 private:
  PatternsOfRules patterns_;
  Forms* forms_ = nullptr;
};

}  // namespace pet
