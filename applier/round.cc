#include "applier/round.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/emit.h"
#include "applier/match.h"
#include "applier/normalise.h"
#include "applier/simplify.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// The most values of weights that one round makes: a gigabyte of floats.
constexpr int64_t kMostNewWeights = 4 * kMostWeights;

std::vector<Site> matchAll(const Graph& graph,
                           const MatchIndex& index,
                           const RuleSet& rules,
                           const Policy& policy,
                           std::vector<Refusal>& refusals) {
  std::vector<Site> sites;
  for (const Pattern& p : rules.patterns) {
    auto found = match(index, p, refusals);
    sites.insert(sites.end(), found.begin(), found.end());
  }
  auto unwanted = [&](int anchor) {
    return !policy.sites.empty() && !matchesAny(siteName(graph, index.view(), anchor), policy.sites);
  };
  std::erase_if(sites, [&](const Site& s) { return unwanted(s.anchor); });
  std::erase_if(refusals, [&](const Refusal& r) { return unwanted(r.anchor); });
  return sites;
}

std::vector<SiteRule> bindAll(const std::vector<Site>& sites,
                              const RuleSet& rules,
                              const Costs& costs,
                              const Policy& policy,
                              std::vector<Refusal>& refusals) {
  std::vector<SiteRule> candidates;
  for (const Site& site : sites) {
    auto at = candidatesAt(site, rules, costs, policy, refusals);
    candidates.insert(candidates.end(), at.begin(), at.end());
  }
  return candidates;
}

/// The rule is already part of what the site is called, so it made the site.
bool madeBy(const std::string& site, const Rule& rule) {
  return site.find(fmt::format("pet/{}/", rule.name)) != std::string::npos;
}

/// Operators of a kind.
size_t countOf(const Program& program, const OpRow* op) {
  const auto& nodes = program.nodes();
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.op == op; }));
}

/// The rule leaves fewer operators of the kind that it looks for: it may meet its own results, and comes to an end.
bool merges(const Rule& rule, const Pattern& pattern) {
  const OpRow* op = pattern.program.node(pattern.program.outputs()[0]).op;
  return countOf(rule.replacement, op) < countOf(pattern.program, op);
}

/// How many rules it took to make the site: 0 for a node of the user's.
int generation(std::string_view site) {
  int count = 0;
  for (size_t at = site.find("pet/"); at != std::string_view::npos; at = site.find("pet/", at + 1))
    count += at == 0 || site[at - 1] == '/';
  return count;
}

/// What computes on activations, in order.
struct Operator {
  const OpRow* op;
  Attributes attributes;
  std::vector<Shape> operands;
  friend bool operator==(const Operator&, const Operator&) = default;
};

std::vector<Operator> operatorsOf(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  std::vector<Operator> operators;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (constant[i] || n.op->name == "Input") continue;
    operators.push_back({n.op, n.attributes, {}});
    for (Value v : n.operands)
      operators.back().operands.push_back(program.shape(v));
  }
  return operators;
}

/// At these shapes the rule has nothing to do: it pads by nothing, say.
bool changesNothing(const View& view, const Rewrite& rewrite) {
  const ViewPart part(view, {rewrite.site.nodes.begin(), rewrite.site.nodes.end()});
  return operatorsOf(part.view().program) ==
         operatorsOf(simplify(splice(part.view(), {movedTo(part, rewrite)})).program);
}

/// Writes a rule at a site, if it can be written in this model and was not what made the site.
Expected<Rewrite> rewriteAt(const Graph& graph, const View& view, const SiteRule& c, const Policy& policy) {
  std::string name = siteName(graph, view, c.site.anchor);
  if (madeBy(name, *c.rule) && !merges(*c.rule, *c.site.pattern)) return fail(ErrorKind::kCheck, "applied here before");
  if (generation(name) >= kMaxGenerations)
    return fail(ErrorKind::kCheck, fmt::format("{} rules made this site, which is the limit", kMaxGenerations));
  auto rewrite = instantiate(c.site, *c.rule, c.symbols, name);
  if (!rewrite) return rewrite;
  if (auto why = whyNotEmitted(rewrite->replacement, graph.opset)) return fail(ErrorKind::kCheck, *why);
  auto before = static_cast<double>(weightElements(rewrite->pattern));
  auto after = static_cast<double>(weightElements(rewrite->replacement));
  if (4 * (after - policy.maxGrowth * before) > kSmallWeights)
    return fail(ErrorKind::kCheck, fmt::format("weights would grow to {:.1f} times their size", after / before));
  if (!policy.all && changesNothing(view, *rewrite)) return fail(ErrorKind::kCheck, "nothing would change");
  return rewrite;
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
  LastWord lastWord{[&](const std::vector<const Rewrite*>& chosen) { return veto(index, chosen); }};
  if (objection) {
    lastWord.objection = [&](const std::vector<const Rewrite*>& group) {
      return objection(graph, index.view(), group);
    };
  }
  std::vector<Rewrite> rewrites;
  for (size_t c : chooseByCost(index.view(), candidates, costs, policy, lastWord, refusals)) {
    rewrites.push_back(std::move(candidates[c].rewrite));
    rewrites.back().gain = candidates[c].cost.ratio();
  }
  return rewrites;
}

std::vector<Refused> named(const std::vector<Refusal>& refusals, const Graph& graph, const View& view) {
  std::vector<Refused> result;
  result.reserve(refusals.size());
  for (const Refusal& r : refusals)
    result.push_back({siteName(graph, view, r.anchor), r.pattern, r.rule, r.reason});
  return result;
}

std::vector<Fired> fired(const std::vector<Rewrite>& rewrites, const Graph& graph, const View& view) {
  std::vector<Fired> result;
  result.reserve(rewrites.size());
  for (const Rewrite& r : rewrites)
    result.push_back({siteName(graph, view, r.site.anchor), r.rule->name, r.site.symbols, r.rule->numerics,
                      occupiedBoxes(*r.rule, r.symbols), r.gain});
  return result;
}

}  // namespace

Expected<Round> rewriteOnce(const Graph& graph,
                            const RuleSet& rules,
                            const Costs& costs,
                            const ApplyOptions& options,
                            const Objection& objection) {
  SiteCheckOptions checks{.seed = options.seed, .normalise = {options.freezeInputs}, .progress = options.progress};
  std::vector<Refusal> refusals;
  Normalised normalised = normalise(graph, checks.normalise);
  const View& view = normalised.view;
  const MatchIndex index(graph, view);
  auto sites = matchAll(graph, index, rules, options.policy, refusals);
  auto candidates = bindAll(sites, rules, costs, options.policy, refusals);
  auto rewrites = options.policy.all
                    ? chosenByTurns(graph, index, std::move(candidates), options.policy, refusals)
                    : chosenByCost(graph, index, candidates, costs, options.policy, objection, refusals);
  Round round{graph, fired(rewrites, graph, view), named(refusals, graph, view), {}, 0};
  if (rewrites.empty()) return round;
  if (options.check != ApplyOptions::Check::kNone) {
    double start = options.now();
    auto found = checkSites(view, rewrites, checks);
    if (!found) return tl::unexpected(found.error());
    round.checks = std::move(*found);
    round.checkSeconds = options.now() - start;
  }
  auto rewritten = emit(graph, view, simplify(splice(view, rewrites)));
  if (!rewritten) return tl::unexpected(rewritten.error());
  round.graph = std::move(*rewritten);
  return round;
}

Expected<Graph> rewriteSites(const Graph& graph, const std::vector<NamedSite>& sites) {
  Normalised normalised = normalise(graph);
  const View& view = normalised.view;
  const MatchIndex index(graph, view);
  std::vector<Rewrite> rewrites;
  for (const NamedSite& wanted : sites) {
    std::vector<Refusal> refusals;
    auto found = match(index, *wanted.pattern, refusals);
    auto site = std::find_if(found.begin(), found.end(), [&](const Site& s) {
      return s.symbols == wanted.shapes && siteName(graph, view, s.anchor) == wanted.site;
    });
    if (site == found.end()) {
      return fail(ErrorKind::kUnsupported,
                  "the pattern does not match" + (refusals.empty() ? "" : ": " + refusals[0].reason), wanted.site);
    }
    auto symbols = bindRuleOrExplain(*wanted.rule, site->symbols);
    if (!symbols) return tl::unexpected(symbols.error());
    auto made = instantiate(*site, *wanted.rule, *symbols, wanted.site);
    if (!made) return tl::unexpected(made.error());
    if (auto why = whyNotEmitted(made->replacement, graph.opset)) return fail(ErrorKind::kUnsupported, *why);
    rewrites.push_back(std::move(*made));
  }
  return emit(graph, view, simplify(splice(view, rewrites)));
}

}  // namespace pet
