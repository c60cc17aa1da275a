#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "applier/match.h"

namespace pet {

/// How much faster a rule was, measured at one choice of shapes.
struct GainSample {
  Bindings shapes;   ///< the pattern's symbols
  double ratio = 1;  ///< time of the pattern / time of the replacement
  double lower = 1;  ///< a value that the ratio exceeds but for noise
};
/// The samples of each rule on the device that is rewritten for, by the rule's name.
using Gains = std::map<std::string, std::vector<GainSample>, std::less<>>;

/// A rule that may be applied at a site: its class holds there.
struct SiteRule {
  Site site;
  const Rule* rule = nullptr;
  Bindings symbols;            ///< the rule's
  int boxes = 0;               ///< how many of the rule's boxes are not empty here
  std::optional<double> gain;  ///< the measured ratio that is expected here
};

/// How many of a rule's boxes hold a position, where its symbols have these values.
int occupiedBoxes(const Rule& rule, const Bindings& symbols);

/// Which candidates are wanted.
struct Policy {
  std::vector<std::string> sites;       ///< by name, if given
  std::vector<std::string> only, skip;  ///< rules by name; * and ? as in a shell
  bool all = false;                     ///< whatever the gain
  double minGain = 1.05;                ///< the least ratio that counts as a gain
};

/// The rules of a site's pattern whose class holds there and that the policy wants. Without `all`, only rules that were
/// measured to pay at shapes close to the site's; a rule that is not tuned, or loses, is refused.
std::vector<SiteRule> candidatesAt(
    const Site& site, const RuleSet& rules, const Gains& gains, const Policy& policy, std::vector<Refusal>& refusals);

/// Candidates that do not overlap. With `all`: sites in the order of the graph; of a site's rules the one that had the
/// fewest turns, then the one with the most boxes, then the first by name. Else: the one of the largest gain, then the
/// next; ties by (anchor, rule's name, outputs). `usable` has the last word, and says why not.
std::vector<SiteRule> choose(std::vector<SiteRule> candidates,
                             const Policy& policy,
                             const std::function<Expected<void>(const SiteRule&)>& usable,
                             std::vector<Refusal>& refusals);

/// Two sets of shapes are close if no symbol differs by more than a factor of two. The distance of close ones; else
/// nullopt.
std::optional<double> distance(const Bindings& a, const Bindings& b);

/// The text is described by the pattern, in which * stands for any text and ? for any character.
bool matchesGlob(std::string_view text, std::string_view pattern);
bool matchesAny(std::string_view text, const std::vector<std::string>& patterns);

}  // namespace pet
