#include "applier/round/round.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "applier/check/members.h"
#include "applier/choose/choose_rewrites.h"
#include "applier/choose/model_seconds.h"
#include "applier/clean/simplify.h"
#include "applier/replace/splice.h"
#include "applier/round/places.h"
#include "applier/round/quantized.h"
#include "applier/write/emit.h"
#include "rules/rewrite/bind.h"
#include "rules/values.h"

namespace pet {
namespace {

/// One graph of the model, as the steps of a round see it.
struct Seen {
  const Place& place;
  const Normalised& normalised;
  const MatchIndex& index;
  std::string siteAt(int anchor) const { return place.path + siteName(place.graph, normalised.view, anchor); }
};

/// The sites of all patterns, where the policy wants them.
Expected<std::vector<Site>> matchAll(const Seen& seen,
                                     RuleSource& rules,
                                     Forms& forms,
                                     const Policy& policy,
                                     const ReportProgress& progress,
                                     std::vector<Refusal>& refusals) {
  std::vector<Site> sites;
  auto patterns = rules.patternsOf(seen.index.operators());
  if (!patterns) return tl::unexpected(patterns.error());
  for (size_t i = 0; i < patterns->size(); ++i) {
    if (progress) progress("looking for sites", static_cast<double>(i) / static_cast<double>(patterns->size()));
    auto found = match(seen.index, *(*patterns)[i], forms, refusals);
    sites.insert(sites.end(), found.begin(), found.end());
  }
  auto unwanted = [&](int anchor) { return !policy.sites.empty() && !matchesAny(seen.siteAt(anchor), policy.sites); };
  if (seen.index.sizes().samples().empty()) {
    for (const Site& s : sites)
      refusals.push_back({s.anchor,
                          s.pattern->name,
                          "",
                          {ReasonKind::kNoSizes, "no sizes were found at which the model runs (--expect)"}});
    sites.clear();
  }
  std::erase_if(sites, [&](const Site& s) { return unwanted(s.anchor); });
  std::erase_if(refusals, [&](const Refusal& r) { return unwanted(r.anchor); });
  return sites;
}

Expected<RulesByPattern> rulesAt(const std::vector<Site>& sites, RuleSource& rules) {
  RulesByPattern result;
  for (const Site& s : sites) {
    if (result.contains(s.pattern)) continue;
    auto own = rules.rulesOf(*s.pattern);
    if (!own) return tl::unexpected(own.error());
    result.emplace(s.pattern, std::move(*own));
  }
  return result;
}

bool isEmpty(const PositionBox& box) {
  return std::any_of(box.begin(), box.end(), [](const PositionRange& r) { return r.lower >= r.upper; });
}

void enterFired(const Seen& seen, const std::vector<Rewrite>& rewrites, const Costs& costs, Round& round) {
  for (const Rewrite& r : rewrites) {
    const Bindings typical = rewrite::numbersAt(r.symbols, seen.index.sizes().typical());
    const Program& pattern = r.site.pattern->program;
    auto corrected = boxesAt(*r.rule, pattern, typical);
    std::erase_if(corrected, isEmpty);
    const Bindings shapes = rewrite::numbersAt(r.site.symbols, seen.index.sizes().typical());
    auto output = evaluate(pattern.shape(pattern.outputs()[0]), shapes);
    const auto gain = r.cost ? std::optional(r.cost->ratio()) : std::nullopt;
    const double beside = r.cost ? besideSeconds(*r.cost, r.site, shapes, costs) : 0;
    const double before = r.cost ? r.cost->pattern - beside : 0, after = r.cost ? r.cost->replacement - beside : 0;
    round.fired.push_back({seen.siteAt(r.site.anchor), r.rule->name, r.site.symbols, r.rule->numerics,
                           occupiedBoxes(*r.rule, typical), gain, r.cost ? r.cost->margin : 1, before, after,
                           output.value_or(Extents{}), std::move(corrected), r.cost && r.cost->guessed,
                           valuesAsked(*r.site.pattern)});
  }
  if (!rewrites.empty()) round.places.insert(seen.place.key);
}

class RoundRewriter {
 public:
  RoundRewriter(const Model& model,
                RuleSource& rules,
                Forms& forms,
                const Costs& costs,
                const ApplyOptions& options,
                SiteTimer& timer)
      : model_(model),
        rules_(rules),
        forms_(forms),
        costs_(costs),
        options_(options),
        timer_(timer),
        inference_(infer(model.graph, {.freezeInputs = options.normalise.freezeInputs})),
        taken_(model.graph),
        weights_(options.keep) {
    if (!options.policy.all) round_.seconds = 0;
  }

  Expected<Round> run() {
    auto rewritten = rewrite(mainPlace(model_.graph, inference_));
    if (!rewritten) return tl::unexpected(rewritten.error());
    round_.graph = *rewritten ? std::move(**rewritten) : model_.graph;
    for (const InferenceProblem& p : inference_.problems) {
      if (p.kind == InferenceProblem::Kind::kDeclaration) round_.contradictions.push_back(p.text);
    }
    return std::move(round_);
  }

 private:
  Expected<std::optional<Graph>> rewrite(const Place& place);
  Expected<std::vector<Rewrite>> choose(const Seen& seen);
  Expected<void> enterQuantized(const Seen& seen, const std::vector<Site>& sites);
  Expected<RenewedNodes> rewriteWithin(const Place& place, const std::vector<InnerPlace>& inner);
  Expected<void> rewriteFunction(GraphNode& call, const Place& body);
  Expected<void> check(const Seen& seen, const std::vector<Rewrite>& rewrites);
  void enterUntouched(const Seen& seen, const std::vector<InnerPlace>& inner);

  const Model& model_;
  RuleSource& rules_;
  Forms& forms_;
  const Costs& costs_;
  const ApplyOptions& options_;
  SiteTimer& timer_;
  Inference inference_;
  TakenNames taken_;
  CheckedRules checked_;
  NewWeights weights_;
  std::map<const Function*, std::shared_ptr<const Function>> functions_;  ///< as they are after this round
  Round round_;
};

void RoundRewriter::enterUntouched(const Seen& seen, const std::vector<InnerPlace>& inner) {
  std::set<size_t> entered;
  for (const InnerPlace& p : inner)
    entered.insert(p.node);
  for (size_t i = 0; i < seen.place.graph.nodes.size(); ++i) {
    const std::string& reason = seen.normalised.opaque[i];
    if (reason.empty() || reason == kFolded || entered.contains(i)) continue;
    const GraphNode& n = seen.place.graph.nodes[i];
    const std::string why = n.callee ? whyNotInlined(n, model_.opsets) : "";
    round_.untouched.push_back({seen.place.path + nameOf(n), n.type, why.empty() ? reason : why});
  }
}

Expected<std::vector<Rewrite>> RoundRewriter::choose(const Seen& seen) {
  std::vector<Refusal> refusals;
  const Graph& graph = seen.place.graph;
  auto sites = matchAll(seen, rules_, forms_, options_.policy, options_.progress, refusals);
  if (!sites) return tl::unexpected(sites.error());
  auto rules = rulesAt(*sites, rules_);
  if (!rules) return tl::unexpected(rules.error());
  Objection objection;
  if (options_.time) {
    objection = [&, part = Model{graph, model_.file, true, model_.opsets}](const std::vector<const Rewrite*>& group,
                                                                           double share) {
      if (options_.progress) options_.progress("timing the sites", share);
      return timer_.objection(part, seen.place.inference.types, seen.index, group);
    };
  }
  round_.matched += sites->size();
  std::vector<std::string> names;
  for (const Site& s : *sites)
    names.push_back(siteName(graph, seen.normalised.view, s.anchor));
  auto earlier = EarlierRules::of(names, rules_, forms_);
  if (!earlier) return tl::unexpected(earlier.error());
  auto rewrites = chooseRewrites(graph, seen.index, *sites, *rules, costs_, options_.policy, *earlier, objection,
                                 refusals, [&](double share) {
                                   if (options_.progress) options_.progress("choosing rules", share);
                                 });
  if (round_.seconds) {
    auto seconds = modelSeconds(seen.index, *sites, rewrites, *rules, costs_);
    round_.seconds = seconds ? std::optional(*round_.seconds + *seconds) : std::nullopt;
  }
  for (const Refusal& r : refusals)
    round_.refused.push_back({seen.siteAt(r.anchor), r.pattern, r.rule, r.reason});
  if (auto ok = enterQuantized(seen, *sites); !ok) return tl::unexpected(ok.error());
  return rewrites;
}

/// Sites that there would be if the model were not quantized, where no other reason is known.
Expected<void> RoundRewriter::enterQuantized(const Seen& seen, const std::vector<Site>& sites) {
  std::set<std::pair<std::string, std::string>> known;
  for (const Site& s : sites)
    known.emplace(seen.siteAt(s.anchor), s.pattern->name);
  for (const Refused& r : round_.refused)
    known.emplace(r.site, r.pattern);
  auto quantized = quantizedSites(seen.place.graph, options_.normalise, rules_, forms_);
  if (!quantized) return tl::unexpected(quantized.error());
  for (const QuantizedSite& q : *quantized) {
    const std::string site = seen.place.path + q.site;
    const bool wanted = options_.policy.sites.empty() || matchesAny(site, options_.policy.sites);
    if (wanted && known.emplace(site, q.pattern).second)
      round_.refused.push_back({site, q.pattern, "", {ReasonKind::kQuantized, q.reason}});
  }
  return {};
}

/// At the least sizes and at odd ones.
Expected<void> RoundRewriter::check(const Seen& seen, const std::vector<Rewrite>& rewrites) {
  if (options_.check == ApplyOptions::Check::kNone || rewrites.empty()) return {};
  double start = options_.now();
  SiteCheckOptions checks{.seed = options_.seed, .progress = options_.progress, .engine = options_.engine};
  for (const Bindings& sizes : checkSizes(seen.index.view(), seen.index.sizes())) {
    auto view = boundTo(seen.index.view(), sizes);
    if (!view) return tl::unexpected(view.error());
    std::vector<Rewrite> bound;
    for (const Rewrite& r : rewrites) {
      bound.push_back(boundTo(r, sizes));
      bound.back().label = seen.place.path + bound.back().label;
    }
    auto found = checkSites(*view, bound, checks, checked_, weights_);
    if (!found) return tl::unexpected(found.error());
    auto& [lines, unchecked] = round_.checks;
    lines.insert(lines.end(), found->lines.begin(), found->lines.end());
    unchecked.insert(unchecked.end(), found->unchecked.begin(), found->unchecked.end());
  }
  round_.checkSeconds += options_.now() - start;
  return {};
}

/// Nullopt: nothing fired, in it or within.
Expected<std::optional<Graph>> RoundRewriter::rewrite(const Place& place) {
  const auto read = std::make_shared<const Normalised>(normalise(place.graph, options_.normalise, place.inference));
  round_.read.emplace(place.key, ReadGraph{place.path, place.graph.outputs, read});
  const Normalised& normalised = *read;
  const View& view = normalised.view;
  if (place.path.empty()) round_.canBeMined = !view.program.outputs().empty() && !normalised.sizes.samples().empty();
  const MatchIndex index(place.graph, view, normalised.sizes);
  const Seen seen{place, normalised, index};
  auto chosen = choose(seen);
  if (!chosen) return tl::unexpected(chosen.error());
  const std::vector<Rewrite>& rewrites = *chosen;
  enterFired(seen, rewrites, costs_, round_);
  if (round_.sizes.empty() && !symbolsOf(view).empty()) round_.sizes = normalised.sizes.samples();
  auto inner = placesWithin(place, inference_);
  enterUntouched(seen, inner);
  if (auto ok = check(seen, rewrites); !ok) return tl::unexpected(ok.error());
  auto renewed = rewriteWithin(place, inner);
  if (!renewed) return tl::unexpected(renewed.error());
  if (rewrites.empty() && renewed->empty()) return std::nullopt;
  const View replaced = rewrites.empty() ? view : splice(view, rewrites);
  const View after = rewrites.empty() ? view : simplify(replaced);
  auto emitted = emit(place.graph, view, after, *renewed, taken_, weights_);
  // Layouts that were joined may need a size that is not at hand; each by itself did not.
  if (!emitted && emitted.error().kind == ErrorKind::kUnsupported)
    emitted = emit(place.graph, view, replaced, *renewed, taken_, weights_);
  if (!emitted) return tl::unexpected(emitted.error());
  return std::optional(std::move(*emitted));
}

Expected<void> RoundRewriter::rewriteFunction(GraphNode& call, const Place& body) {
  auto [known, isNew] = functions_.try_emplace(call.callee.get(), call.callee);
  if (isNew) {
    auto rewritten = rewrite(body);
    if (!rewritten) return tl::unexpected(rewritten.error());
    if (*rewritten) {
      Function function = *call.callee;
      function.body = closeGraph(std::move(**rewritten), *inference_.functions.at(call.callee.get()).body);
      function.isGeneric = false;
      function.rewritten = true;
      known->second = std::make_shared<const Function>(std::move(function));
    }
  }
  call.callee = known->second;
  return {};
}

/// The nodes of a graph in whose subgraphs or functions something fired.
Expected<RenewedNodes> RoundRewriter::rewriteWithin(const Place& place, const std::vector<InnerPlace>& inner) {
  RenewedNodes renewed;
  for (const InnerPlace& p : inner) {
    const GraphNode& before = place.graph.nodes[p.node];
    auto known = renewed.find(static_cast<int>(p.node));
    GraphNode node = known == renewed.end() ? before : known->second;
    if (p.attribute.empty()) {
      if (auto ok = rewriteFunction(node, p.place); !ok) return tl::unexpected(ok.error());
      if (node.callee == before.callee) continue;
    } else {
      auto rewritten = rewrite(p.place);
      if (!rewritten) return tl::unexpected(rewritten.error());
      if (!*rewritten) continue;
      GraphAttribute& value = node.attributes.at(p.attribute);
      Graph closed = closeGraph(std::move(**rewritten), *std::get<Subgraph>(value));
      value = std::make_shared<const Graph>(std::move(closed));
      node.renewed = true;
      std::set<std::string> captured;
      forEachSubgraph(node,
                      [&](const auto&, const Subgraph& g) { captured.insert(g->captured.begin(), g->captured.end()); });
      node.captured.assign(captured.begin(), captured.end());
    }
    renewed.insert_or_assign(static_cast<int>(p.node), std::move(node));
  }
  return renewed;
}

}  // namespace

Expected<Round> rewriteOnce(const Model& model,
                            RuleSource& rules,
                            Forms& forms,
                            const Costs& costs,
                            const ApplyOptions& options,
                            SiteTimer& timer) {
  return RoundRewriter(model, rules, forms, costs, options, timer).run();
}

}  // namespace pet
