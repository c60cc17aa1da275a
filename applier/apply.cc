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

/// Rules may build on each other's results, but each only once at a place, and only so many. Names of nodes say which
/// rules made them, so this holds over several runs, too: a second one finds nothing to do.
constexpr int kMaxGenerations = 4;
/// Every round adds a generation at the places that it changes, so this bound is only for our own mistakes.
constexpr int kMaxRounds = 4 * kMaxGenerations;

/// The most values of weights that one round makes: a gigabyte of floats.
constexpr int64_t kMostNewWeights = 4 * kMostWeights;

/// What one round decided.
struct Round {
  Graph graph;
  std::vector<Rewrite> rewrites;
  std::vector<Refused> refused;
  std::vector<Fired> fired;
  std::vector<CheckLine> checks;
  double checkSeconds = 0;
};

double now(const ApplyOptions& options) {
  return options.clock ? options.clock() : 0;
}

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
                              const Gains& gains,
                              const Policy& policy,
                              std::vector<Refusal>& refusals) {
  std::vector<SiteRule> candidates;
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

/// Instantiates each candidate that can be written in this model.
std::vector<Rewrite> instantiateChosen(const Graph& graph,
                                       const MatchIndex& index,
                                       std::vector<SiteRule> candidates,
                                       const Policy& policy,
                                       std::vector<Refusal>& refusals) {
  const View& view = index.view();
  std::map<std::pair<int, std::string>, Rewrite> made;
  std::vector<std::vector<int>> joined;  // sites of several outputs may wait for each other
  int64_t weights = 0;
  auto usable = [&](const SiteRule& c) -> Expected<void> {
    std::string name = siteName(graph, view, c.site.anchor);
    if (madeBy(name, *c.rule) && !merges(*c.rule, *c.site.pattern))
      return fail(ErrorKind::kCheck, "applied here before");
    if (generation(name) >= kMaxGenerations)
      return fail(ErrorKind::kCheck, fmt::format("{} rules made this site, which is the limit", kMaxGenerations));
    auto rewrite = instantiate(c.site, *c.rule, c.symbols, name);
    if (!rewrite) return tl::unexpected(rewrite.error());
    if (auto why = whyNotEmitted(rewrite->replacement, graph.opset)) return fail(ErrorKind::kCheck, *why);
    int64_t more = newWeights(rewrite->replacement);
    if (weights + more > kMostNewWeights) return fail(ErrorKind::kCheck, "the model's weights would grow too much");
    if (c.site.outputs.size() > 1) {
      joined.push_back(c.site.nodes);
      if (!index.precedence().allows(joined)) {
        joined.pop_back();
        return fail(ErrorKind::kCheck, "it and another rule's site need each other's results");
      }
    }
    weights += more;
    made.insert_or_assign({c.site.anchor, c.rule->name}, std::move(*rewrite));
    return {};
  };
  std::vector<Rewrite> rewrites;
  for (const SiteRule& c : choose(std::move(candidates), policy, usable, refusals)) {
    rewrites.push_back(std::move(made.at({c.site.anchor, c.rule->name})));
    rewrites.back().gain = c.gain;
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

Expected<Round> rewriteOnce(const Graph& graph, const RuleSet& rules, const Gains& gains, const ApplyOptions& options) {
  SiteCheckOptions checks{.seed = options.seed, .normalise = {options.freezeInputs}, .progress = options.progress};
  std::vector<Refusal> refusals;
  Normalised normalised = normalise(graph, checks.normalise);
  const View& view = normalised.view;
  const MatchIndex index(graph, view);
  auto sites = matchAll(graph, index, rules, options.policy, refusals);
  auto candidates = bindAll(sites, rules, gains, options.policy, refusals);
  auto rewrites = instantiateChosen(graph, index, std::move(candidates), options.policy, refusals);
  Round round{graph, {}, named(refusals, graph, view), fired(rewrites, graph, view), {}, 0};
  if (rewrites.empty()) return round;
  if (options.check != ApplyOptions::Check::kNone) {
    double start = now(options);
    auto lines = checkSites(view, rewrites, checks);
    if (!lines) return tl::unexpected(lines.error());
    round.checks = std::move(*lines);
    round.checkSeconds = now(options) - start;
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
  report.checkSeconds += round.checkSeconds;
}

/// What the whole model may be off, relative to its outputs, besides what rounding explains.
double floorOf(const ApplyReport& report, const ApplyOptions& options) {
  const double strict = SiteCheckOptions().floor;
  bool conditioned = std::any_of(report.fired.begin(), report.fired.end(),
                                 [](const Fired& f) { return f.numerics.kind == Numerics::Kind::kConditioned; });
  return conditioned ? std::max(strict, options.maxRelativeError) : strict;
}

/// What is checked is what is written: the bytes, read again.
Expected<CheckLine> checkBytes(const Model& original,
                               const std::string& bytes,
                               const ApplyReport& report,
                               const ApplyOptions& options) {
  auto again = parseModel(bytes, "the rewritten model");
  if (!again) return fail(ErrorKind::kInternal, again.error().message(), "", "please report this");
  return checkWhole(original.graph, again->graph,
                    {options.seed, {options.freezeInputs}, options.progress, floorOf(report, options)});
}

void measureSizes(const Graph& before, const Graph& after, const ApplyOptions& options, ApplyReport& report) {
  report.nodesBefore = before.nodes.size();
  report.nodesAfter = after.nodes.size();
  report.constantsBefore = constantBytes(before);
  report.constantsAfter = constantBytes(after);
  for (const Initializer& i : before.initializers)
    report.overridable += i.overridable && !options.freezeInputs;
}

Expected<Applied> applyUnguarded(const Model& model,
                                 const RuleSet& rules,
                                 const Gains& gains,
                                 const ApplyOptions& options) {
  Applied result;
  ApplyReport& report = result.report;
  double start = now(options);
  Model rewritten = model;
  for (int i = 0; i < (options.policy.all ? 1 : kMaxRounds); ++i) {
    auto round = rewriteOnce(rewritten.graph, rules, gains, options);
    if (!round) return tl::unexpected(round.error());
    enter(*round, i == 0, report);
    if (round->fired.empty()) break;
    rewritten.graph = std::move(round->graph);
  }
  measureSizes(model.graph, rewritten.graph, options, report);
  auto bytes = serialize(rewritten);
  if (!bytes) return tl::unexpected(bytes.error());
  result.bytes = std::move(*bytes);
  report.rewriteSeconds = now(options) - start - report.checkSeconds;
  if (!report.fired.empty() && options.check == ApplyOptions::Check::kFull) {
    auto line = checkBytes(model, result.bytes, report, options);
    if (!line) return tl::unexpected(line.error());
    report.checks.push_back(std::move(*line));
    report.checkSeconds = now(options) - start - report.rewriteSeconds;
  }
  return result;
}

}  // namespace

Expected<Applied> apply(const Model& model, const RuleSet& rules, const Gains& gains, const ApplyOptions& options) {
  try {
    return applyUnguarded(model, rules, gains, options);
  } catch (const OverflowError&) {
    return fail(ErrorKind::kModel, "extents whose product is beyond 64 bits");
  }
}

}  // namespace pet
