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
                              std::vector<Refusal>& refusals,
                              const ReportShare& progress) {
  std::vector<SiteRule> candidates;
  double done = 0;
  for (const Site& site : sites) {
    if (progress) progress(done++ / static_cast<double>(sites.size()));
    auto at = candidatesAt(site, sizes, rules.at(site.pattern), costs, policy, refusals);
    candidates.insert(candidates.end(), at.begin(), at.end());
  }
  return candidates;
}

/// What is chosen, one after the other. Sites of several outputs may wait for each other; and a model can grow too
/// large.
class Together {
 public:
  explicit Together(const MatchIndex& index) : steps_(index.precedence()) {}

  /// Why it cannot be, besides those before; else it is one of them.
  std::optional<Reason> add(const Rewrite& r) {
    const int64_t weights = weights_ + newWeights(r.replacement);
    if (weights > kMostNewWeights) return Reason{ReasonKind::kNotWritten, "the model's weights would grow too much"};
    if (r.site.outputs.size() > 1 && !steps_.add(r.site.nodes))
      return Reason{ReasonKind::kEntangled, "it and another rule's site need each other's results"};
    weights_ = weights;
    return std::nullopt;
  }

 private:
  Steps steps_;
  int64_t weights_ = 0;
};

/// The first that cannot be besides those before it, and why.
std::optional<std::pair<size_t, Reason>> firstVetoed(const MatchIndex& index,
                                                     const std::vector<const Rewrite*>& chosen) {
  Together together(index);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (auto why = together.add(*chosen[i])) return std::pair(i, *why);
  }
  return std::nullopt;
}

std::vector<Rewrite> chosenByTurns(const Graph& graph,
                                   const MatchIndex& index,
                                   std::vector<SiteRule> candidates,
                                   const Policy& policy,
                                   const EarlierRules& earlier,
                                   std::vector<Refusal>& refusals) {
  std::map<std::pair<int, std::string>, Rewrite> made;
  Together together(index);
  auto usable = [&](const SiteRule& c) -> std::optional<Reason> {
    auto rewrite = rewriteAt(graph, index, c, policy, earlier);
    if (!rewrite) return rewrite.error();
    auto [entry, isNew] = made.insert_or_assign({c.site.anchor, c.rule->name}, std::move(*rewrite));
    return together.add(entry->second);
  };
  std::vector<Rewrite> rewrites;
  for (const SiteRule& c : chooseByTurns(std::move(candidates), usable, refusals))
    rewrites.push_back(std::move(made.at({c.site.anchor, c.rule->name})));
  return rewrites;
}

/// Where the replacement takes some more at all sizes. Chains that several sites share count at each of them.
std::vector<CostEstimate> withAll(std::vector<CostEstimate> costs, double seconds) {
  for (CostEstimate& cost : costs) {
    if (seconds > 0) cost = cost.with(seconds);
  }
  return costs;
}

/// Of what the replacement computes at each run of nothing but sizes that are left open, such as matrices of
/// interpolation, the elements beside those of the results. The operator that it replaces takes as long for each.
double shareMade(const Rewrite& r, const Bindings& sizes) {
  const std::vector<bool> constant = constantNodes(r.replacement);
  auto elementsOf = [&](const Shape& shape) {
    const auto extents = evaluate(shape, sizes);
    return extents ? static_cast<double>(elementCount(*extents)) : 0;
  };
  double made = 0, results = 0;
  for (size_t i = 0; i < constant.size(); ++i) {
    const Node& n = r.replacement.nodes()[i];
    if (constant[i] && !asConstants(n.shapes[0])) made += elementsOf(n.shapes[0]);
  }
  for (Value v : r.replacement.outputs())
    results += elementsOf(r.replacement.shape(v));
  return results > 0 ? made / results : 0;
}

std::vector<Rewrite> chosenByCost(const Graph& graph,
                                  const MatchIndex& index,
                                  const std::vector<SiteRule>& siteRules,
                                  const Costs& costs,
                                  const Policy& policy,
                                  const EarlierRules& earlier,
                                  const Objection& objection,
                                  std::vector<Refusal>& refusals,
                                  const ReportShare& progress) {
  const size_t typical = index.sizes().typicalIndex();
  std::vector<PricedRewrite> candidates;
  double done = 0;
  for (const SiteRule& c : siteRules) {
    if (progress) progress(done++ / static_cast<double>(siteRules.size()));
    auto rewrite = rewriteAt(graph, index, c, policy, earlier);
    if (rewrite) {
      const double sizes = costs.sizeStepSeconds * static_cast<double>(rewrite->sizeSteps);
      std::vector<CostEstimate> estimates = withAll(c.costs, sizes);
      for (size_t s = 0; s < estimates.size(); ++s) {
        const double made = shareMade(*rewrite, index.sizes().samples()[s]);
        if (made > 0) estimates[s] = estimates[s].with(made * estimates[s].pattern);
      }
      candidates.push_back({std::move(estimates), std::move(*rewrite)});
    } else {
      Reason reason = rewrite.error();
      if (isUnlocked(reason.kind)) enterGain(c.costs[typical], reason);
      refusals.push_back({c.site.anchor, c.site.pattern->name, c.rule->name, std::move(reason)});
    }
  }
  LastWord lastWord{[&](const std::vector<const Rewrite*>& chosen) { return firstVetoed(index, chosen); }, objection};
  std::vector<Rewrite> rewrites;
  for (size_t c : chooseByCost(index, candidates, costs, policy, lastWord, refusals)) {
    rewrites.push_back(std::move(candidates[c].rewrite));
    rewrites.back().cost = candidates[c].costs[typical];
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
                                    const EarlierRules& earlier,
                                    const Objection& objection,
                                    std::vector<Refusal>& refusals,
                                    const ReportShare& progress) {
  auto candidates = bindAll(sites, index.sizes(), rules, costs, policy, refusals, shareWithin(progress, 0, 0.5));
  return policy.all ? chosenByTurns(graph, index, std::move(candidates), policy, earlier, refusals)
                    : chosenByCost(graph, index, candidates, costs, policy, earlier, objection, refusals,
                                   shareWithin(progress, 0.5, 0.5));
}

}  // namespace pet
