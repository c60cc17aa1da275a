#include "applier/choose/choose_rewrites.h"

#include <map>

#include "applier/choose/attempt.h"
#include "applier/choose/by_cost.h"
#include "applier/choose/by_turns.h"

namespace pet {
namespace {

/// The most values of weights that one round makes: a gigabyte of floats.
constexpr int64_t kMostNewWeights = 4 * kMostWeights;

std::vector<SiteRule> bindAll(const std::vector<Site>& sites,
                              const ModelSizes& sizes,
                              const RulesByPattern& rules,
                              const Costs& costs,
                              const Policy& policy,
                              std::vector<Refusal>& refusals) {
  std::vector<SiteRule> candidates;
  for (const Site& site : sites) {
    auto at = candidatesAt(site, sizes, rules.at(site.pattern), costs, policy, refusals);
    candidates.insert(candidates.end(), at.begin(), at.end());
  }
  return candidates;
}

/// Sites of several outputs may wait for each other; and a model can grow too large.
std::optional<std::string> veto(const MatchIndex& index, const std::vector<const Rewrite*>& chosen) {
  std::vector<std::vector<int>> joined;
  int64_t weights = 0;
  for (const Rewrite* r : chosen) {
    if (r->site.outputs.size() > 1) joined.push_back(r->site.nodes);
    weights += newWeights(r->replacement);
  }
  if (weights > kMostNewWeights) return "the model's weights would grow too much";
  if (!index.precedence().allows(joined)) return "it and another rule's site need each other's results";
  return std::nullopt;
}

std::vector<Rewrite> chosenByTurns(const Graph& graph,
                                   const MatchIndex& index,
                                   std::vector<SiteRule> candidates,
                                   const Policy& policy,
                                   std::vector<Refusal>& refusals) {
  std::map<std::pair<int, std::string>, Rewrite> made;
  std::vector<const Rewrite*> kept;
  auto usable = [&](const SiteRule& c) -> Expected<void> {
    auto rewrite = rewriteAt(graph, index.view(), c, policy);
    if (!rewrite) return tl::unexpected(rewrite.error());
    auto [entry, isNew] = made.insert_or_assign({c.site.anchor, c.rule->name}, std::move(*rewrite));
    kept.push_back(&entry->second);
    auto why = veto(index, kept);
    if (!why) return {};
    kept.pop_back();
    return fail(ErrorKind::kCheck, *why);
  };
  std::vector<Rewrite> rewrites;
  for (const SiteRule& c : chooseByTurns(std::move(candidates), usable, refusals))
    rewrites.push_back(std::move(made.at({c.site.anchor, c.rule->name})));
  return rewrites;
}

std::vector<Rewrite> chosenByCost(const Graph& graph,
                                  const MatchIndex& index,
                                  const std::vector<SiteRule>& siteRules,
                                  const Costs& costs,
                                  const Policy& policy,
                                  const Objection& objection,
                                  std::vector<Refusal>& refusals) {
  std::vector<PricedRewrite> candidates;
  for (const SiteRule& c : siteRules) {
    auto rewrite = rewriteAt(graph, index.view(), c, policy);
    if (rewrite) {
      candidates.push_back({*c.cost, std::move(*rewrite)});
    } else {
      refusals.push_back({c.site.anchor, c.site.pattern->name, c.rule->name, rewrite.error().what});
    }
  }
  LastWord lastWord{[&](const std::vector<const Rewrite*>& chosen) { return veto(index, chosen); }, objection};
  std::vector<Rewrite> rewrites;
  for (size_t c : chooseByCost(index, candidates, costs, policy, lastWord, refusals)) {
    rewrites.push_back(std::move(candidates[c].rewrite));
    rewrites.back().gain = candidates[c].cost.ratio();
  }
  return rewrites;
}

}  // namespace

std::vector<Rewrite> chooseRewrites(const Graph& graph,
                                    const MatchIndex& index,
                                    const std::vector<Site>& sites,
                                    const RulesByPattern& rules,
                                    const Costs& costs,
                                    const Policy& policy,
                                    const Objection& objection,
                                    std::vector<Refusal>& refusals) {
  auto candidates = bindAll(sites, index.sizes(), rules, costs, policy, refusals);
  return policy.all ? chosenByTurns(graph, index, std::move(candidates), policy, refusals)
                    : chosenByCost(graph, index, candidates, costs, policy, objection, refusals);
}

}  // namespace pet
