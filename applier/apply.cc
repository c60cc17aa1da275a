#include "applier/apply.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/emit.h"
#include "applier/instantiate.h"
#include "applier/match.h"
#include "applier/normalise.h"
#include "applier/simplify.h"

namespace pet {
namespace {

/// Rules may build on each other's results, but each only once at a place: so this many rounds are never the limit in
/// practice, and a second run finds nothing to do.
constexpr int kMaxRounds = 4;

/// What one round decided.
struct Round {
  Graph graph;
  std::vector<Rewrite> rewrites;
  std::vector<Refused> refused;
  std::vector<Fired> fired;
  std::vector<CheckLine> checks;
};

void note(const ApplyOptions& options, const std::string& what) {
  if (options.progress) options.progress(what);
}

std::vector<Site> matchAll(const View& view, const RuleSet& rules, std::vector<Refusal>& refusals) {
  MatchIndex index(view);
  std::vector<Site> sites;
  for (const Pattern& p : rules.patterns) {
    auto found = match(index, p, refusals);
    sites.insert(sites.end(), found.begin(), found.end());
  }
  return sites;
}

std::vector<Candidate> bindAll(const std::vector<Site>& sites,
                               const RuleSet& rules,
                               const Gains& gains,
                               const Policy& policy,
                               std::vector<Refusal>& refusals) {
  std::vector<Candidate> candidates;
  for (const Site& site : sites) {
    auto at = candidatesAt(site, rules, gains, policy, refusals);
    candidates.insert(candidates.end(), at.begin(), at.end());
  }
  return candidates;
}

/// The rule is already part of what the site is called, so it made the site.
bool madeBy(const std::string& site, const Rule& rule) {
  return site.find(fmt::format("pet/{}/", rule.name)) != std::string::npos;
}

/// Instantiates each candidate that can be written in this model.
std::vector<Rewrite> instantiateChosen(const Graph& graph,
                                       const View& view,
                                       std::vector<Candidate> candidates,
                                       const Policy& policy,
                                       std::vector<Refusal>& refusals) {
  std::map<std::pair<int, std::string>, Rewrite> made;
  auto usable = [&](const Candidate& c) -> Expected<void> {
    std::string name = siteName(graph, view, c.site.anchor);
    if (madeBy(name, *c.rule)) return fail(ErrorKind::kCheck, "applied here before");
    auto rewrite = instantiate(c.site, *c.rule, c.symbols, name);
    if (!rewrite) return tl::unexpected(rewrite.error());
    if (auto why = whyNotEmitted(rewrite->replacement, graph.opset)) return fail(ErrorKind::kCheck, *why);
    made.insert_or_assign({c.site.anchor, c.rule->name}, std::move(*rewrite));
    return {};
  };
  std::vector<Rewrite> rewrites;
  for (const Candidate& c : choose(std::move(candidates), policy, usable, refusals)) {
    rewrites.push_back(std::move(made.at({c.site.anchor, c.rule->name})));
    rewrites.back().gain = c.gain;
  }
  return rewrites;
}

std::vector<Refused> named(const std::vector<Refusal>& refusals, const Graph& graph, const View& view) {
  std::vector<Refused> result;
  for (const Refusal& r : refusals)
    result.push_back({siteName(graph, view, r.anchor), r.pattern, r.rule, r.reason});
  return result;
}

std::vector<Fired> fired(const std::vector<Rewrite>& rewrites, const Graph& graph, const View& view) {
  std::vector<Fired> result;
  for (const Rewrite& r : rewrites)
    result.push_back({siteName(graph, view, r.site.anchor), r.rule->name, r.site.symbols, r.gain});
  return result;
}

Expected<Round> rewriteOnce(const Graph& graph, const RuleSet& rules, const Gains& gains, const ApplyOptions& options) {
  CheckOptions checks{.seed = options.seed, .normalise = {options.freezeInputs}, .progress = options.progress};
  std::vector<Refusal> refusals;
  Normalised normalised = normalise(graph, checks.normalise);
  const View& view = normalised.view;
  auto sites = matchAll(view, rules, refusals);
  auto candidates = bindAll(sites, rules, gains, options.policy, refusals);
  auto rewrites = instantiateChosen(graph, view, std::move(candidates), options.policy, refusals);
  Round round{graph, {}, named(refusals, graph, view), fired(rewrites, graph, view), {}};
  if (rewrites.empty()) return round;
  if (options.check) {
    auto lines = checkSites(view, rewrites, checks);
    if (!lines) return tl::unexpected(lines.error());
    round.checks = std::move(*lines);
  }
  auto rewritten = emit(graph, view, simplify(splice(view, rewrites)));
  if (!rewritten) return tl::unexpected(rewritten.error());
  round.graph = std::move(*rewritten);
  round.rewrites = std::move(rewrites);
  return round;
}

int64_t constantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Initializer& i : graph.initializers)
    bytes += i.value.bytes ? static_cast<int64_t>(i.value.bytes->size()) : 0;
  return bytes;
}

void enter(const Round& round, bool first, ApplyReport& report) {
  report.fired.insert(report.fired.end(), round.fired.begin(), round.fired.end());
  report.checks.insert(report.checks.end(), round.checks.begin(), round.checks.end());
  if (first) report.refused = round.refused;  // later rounds repeat them
  ++report.rounds;
}

}  // namespace

Expected<Applied> apply(const Model& model, const RuleSet& rules, const Gains& gains, const ApplyOptions& options) {
  Applied result;
  ApplyReport& report = result.report;
  Model rewritten = model;
  int rounds = options.policy.all ? 1 : kMaxRounds;
  for (int i = 0; i < rounds; ++i) {
    note(options, fmt::format("round {}", i + 1));
    auto round = rewriteOnce(rewritten.graph, rules, gains, options);
    if (!round) return tl::unexpected(round.error());
    enter(*round, i == 0, report);
    if (round->fired.empty()) break;
    rewritten.graph = std::move(round->graph);
  }
  report.nodesBefore = model.graph.nodes.size();
  report.nodesAfter = rewritten.graph.nodes.size();
  report.constantsBefore = constantBytes(model.graph);
  report.constantsAfter = constantBytes(rewritten.graph);
  auto bytes = serialize(rewritten);
  if (!bytes) return tl::unexpected(bytes.error());
  if (!report.fired.empty() && options.check) {
    auto again = parseModel(*bytes, "the rewritten model");  // what is checked is what is written
    if (!again) return fail(ErrorKind::kInternal, again.error().message());
    auto line = checkWhole(model.graph, again->graph, {options.seed, {options.freezeInputs}, options.progress});
    if (!line) return tl::unexpected(line.error());
    report.checks.push_back(std::move(*line));
  }
  result.bytes = std::move(*bytes);
  return result;
}

}  // namespace pet
