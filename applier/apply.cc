#include "applier/apply.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/choose/attempt.h"
#include "applier/choose/choose_rewrites.h"
#include "applier/clean/simplify.h"
#include "applier/measure/site_timer.h"
#include "applier/measure/whole_model.h"
#include "applier/read/normalise.h"
#include "applier/replace/splice.h"
#include "applier/write/emit.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

// --- One round ---

/// What one round of rewriting decided and did.
struct Round {
  Graph graph;
  std::vector<Fired> fired;
  std::vector<Refused> refused;
  std::vector<Untouched> untouched;
  SiteChecks checks;
  double checkSeconds = 0;
  std::vector<Bindings> sizes;  ///< at which gains were judged
};

/// The sites of all patterns, where the policy wants them.
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
  if (index.sizes().samples().empty()) {
    for (const Site& s : sites)
      refusals.push_back({s.anchor, s.pattern->name, "", "no sizes were found at which the model runs (--expect)"});
    sites.clear();
  }
  std::erase_if(sites, [&](const Site& s) { return unwanted(s.anchor); });
  std::erase_if(refusals, [&](const Refusal& r) { return unwanted(r.anchor); });
  return sites;
}

std::vector<Refused> named(const std::vector<Refusal>& refusals, const Graph& graph, const View& view) {
  std::vector<Refused> result;
  result.reserve(refusals.size());
  for (const Refusal& r : refusals)
    result.push_back({siteName(graph, view, r.anchor), r.pattern, r.rule, r.reason});
  return result;
}

std::vector<Fired> fired(const std::vector<Rewrite>& rewrites, const Graph& graph, const MatchIndex& index) {
  const View& view = index.view();
  std::vector<Fired> result;
  result.reserve(rewrites.size());
  for (const Rewrite& r : rewrites)
    result.push_back({siteName(graph, view, r.site.anchor), r.rule->name, r.site.symbols, r.rule->numerics,
                      occupiedBoxes(*r.rule, rewrite::numbersAt(r.symbols, index.sizes().typical())), r.gain});
  return result;
}

std::vector<Untouched> untouched(const Graph& graph, const Normalised& normalised) {
  std::vector<Untouched> result;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string& reason = normalised.opaque[i];
    if (reason.empty() || reason == kFolded) continue;
    const GraphNode& n = graph.nodes[i];
    result.push_back({n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name, n.type, reason});
  }
  return result;
}

/// At the least sizes and at odd ones.
Expected<void> checkRound(const MatchIndex& index,
                          const std::vector<Rewrite>& rewrites,
                          const ApplyOptions& options,
                          Round& round) {
  if (options.check == ApplyOptions::Check::kNone) return {};
  double start = options.now();
  SiteCheckOptions checks{.seed = options.seed, .progress = options.progress};
  for (const Bindings& sizes : checkSizes(index.view(), index.sizes())) {
    auto view = boundTo(index.view(), sizes);
    if (!view) return tl::unexpected(view.error());
    std::vector<Rewrite> bound;
    for (const Rewrite& r : rewrites)
      bound.push_back(boundTo(r, sizes));
    auto found = checkSites(*view, bound, checks);
    if (!found) return tl::unexpected(found.error());
    round.checks.lines.insert(round.checks.lines.end(), found->lines.begin(), found->lines.end());
    round.checks.unchecked.insert(round.checks.unchecked.end(), found->unchecked.begin(), found->unchecked.end());
  }
  round.checkSeconds = options.now() - start;
  return {};
}

/// Finds the sites of all patterns in a model, chooses among the rules, rewrites, cleans up. Nothing fired: the graph
/// is as it was. kCheck: a site's check failed.
Expected<Round> rewriteOnce(
    const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options, SiteTimer& timer) {
  const Graph& graph = model.graph;
  const Policy& policy = options.policy;
  std::vector<Refusal> refusals;
  const Normalised normalised = normalise(graph, options.normalise);
  const View& view = normalised.view;
  const MatchIndex index(graph, view, normalised.sizes);
  auto sites = matchAll(graph, index, rules, policy, refusals);
  Objection objection;
  if (options.time)
    objection = [&](const std::vector<const Rewrite*>& group) { return timer.objection(model, index, group); };
  auto rewrites = chooseRewrites(graph, index, sites, rules, costs, policy, objection, refusals);
  Round round{graph, fired(rewrites, graph, index), named(refusals, graph, view), untouched(graph, normalised), {}, 0,
              {}};
  if (!symbolsOf(view).empty()) round.sizes = normalised.sizes.samples();
  if (rewrites.empty()) return round;
  if (auto ok = checkRound(index, rewrites, options, round); !ok) return tl::unexpected(ok.error());
  auto rewritten = emit(graph, view, simplify(splice(view, rewrites)), options.keep);
  if (!rewritten) return tl::unexpected(rewritten.error());
  round.graph = std::move(*rewritten);
  return round;
}

// --- All rounds ---

/// Every round adds a generation at the places that it changes, so this bound is only for our own mistakes.
constexpr int kMaxRounds = 4 * kMaxGenerations;

int64_t constantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Initializer& i : graph.initializers)
    bytes += i.value.bytes ? static_cast<int64_t>(i.value.bytes->size()) : 0;
  return bytes;
}

void enter(const Round& round, bool first, ApplyReport& report) {
  report.fired.insert(report.fired.end(), round.fired.begin(), round.fired.end());
  const auto& [lines, unchecked] = round.checks;
  report.checks.insert(report.checks.end(), lines.begin(), lines.end());
  report.unchecked.insert(report.unchecked.end(), unchecked.begin(), unchecked.end());
  if (first) report.refused = round.refused;  // later rounds repeat them
  if (first) report.untouched = round.untouched;
  if (first) report.sizes = round.sizes;
  ++report.rounds;
  report.checkSeconds += round.checkSeconds;
}

/// What the whole model may be off, relative to its outputs, besides what rounding in the coarsest type that it
/// computes with explains.
double floorOf(const View& view, const ApplyReport& report, const ApplyOptions& options) {
  constexpr double kUnits = 16;
  bool conditioned = std::any_of(report.fired.begin(), report.fired.end(),
                                 [](const Fired& f) { return f.numerics.kind == Numerics::Kind::kConditioned; });
  double floor = kUnits * unitRoundoff(ElementType::kFloat);  // in which it is executed
  for (ElementType element : view.elements) {
    floor = std::max(floor, kUnits * unitRoundoff(element));
    if (conditioned) floor = std::max(floor, options.policy.maxRelativeError.at(element));
  }
  return floor;
}

Expected<Model> writeAndReadHere(const Model& rewritten) {
  return serialize(rewritten).and_then([](std::string&& bytes) {
    auto again = parseModel(std::move(bytes), "the rewritten model");
    if (!again) again = fail(ErrorKind::kInternal, again.error().message(), "", "please report this");
    return again;
  });
}

/// What is checked is what is written, read again.
Expected<std::vector<CheckLine>> checkWritten(const Model& original,
                                              const Model& rewritten,
                                              const ApplyReport& report,
                                              const ApplyOptions& options) {
  auto again = options.writeAndRead ? options.writeAndRead(rewritten) : writeAndReadHere(rewritten);
  if (!again) return tl::unexpected(again.error());
  const Normalised before = normalise(original.graph, options.normalise);
  const View after = normalise(again->graph, options.normalise).view;
  std::vector<CheckLine> lines;
  for (const Bindings& sizes : checkSizes(before.view, before.sizes)) {
    auto line =
        checkWhole(before.view, after, sizes, {options.seed, options.progress, floorOf(before.view, report, options)});
    if (!line) return tl::unexpected(line.error());
    lines.push_back(std::move(*line));
  }
  return lines;
}

/// Checks the whole model where that was asked for, and where it alone can speak for a site.
Expected<void> checkRest(const Model& original,
                         const Model& rewritten,
                         const ApplyOptions& options,
                         ApplyReport& report) {
  using Check = ApplyOptions::Check;
  bool needed = options.check != Check::kNone && !report.unchecked.empty();
  if (report.fired.empty() || (options.check != Check::kFull && !needed)) return {};
  auto lines = checkWritten(original, rewritten, report, options);
  if (!lines) return tl::unexpected(lines.error());
  auto impossible = std::find_if(lines->begin(), lines->end(), [](const CheckLine& line) { return !line.possible; });
  if (needed && (lines->empty() || impossible != lines->end())) {
    const UncheckedSite& site = report.unchecked[0];
    const std::string why = lines->empty() ? "no sizes were found at which it runs" : impossible->reason;
    return fail(ErrorKind::kCheck,
                fmt::format("the rewritten site cannot be checked: {}; nor can the whole model: {}", site.reason, why),
                site.label, fmt::format("nothing was written; --skip {}", site.rule));
  }
  report.checks.insert(report.checks.end(), lines->begin(), lines->end());
  return {};
}

void measureSizes(const Graph& before, const Graph& after, const ApplyOptions& options, ApplyReport& report) {
  report.nodesBefore = before.nodes.size();
  report.nodesAfter = after.nodes.size();
  report.constantsBefore = constantBytes(before);
  report.constantsAfter = constantBytes(after);
  for (const Initializer& i : before.initializers)
    report.overridable += i.overridable && !options.normalise.freezeInputs;
}

/// The model after all rounds, and what happened.
struct Draft {
  Model model;
  ApplyReport report;
};

Expected<Draft> rewriteAll(
    const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options, SiteTimer& timer) {
  Draft draft{model, {}};
  for (int i = 0; i < (options.policy.all ? 1 : kMaxRounds); ++i) {
    auto round = rewriteOnce(draft.model, rules, costs, options, timer);
    if (!round) return tl::unexpected(round.error());
    enter(*round, i == 0, draft.report);
    if (round->fired.empty()) break;
    draft.model.graph = std::move(round->graph);
  }
  measureSizes(model.graph, draft.model.graph, options, draft.report);
  return draft;
}

std::vector<std::string> firedRules(const ApplyReport& report) {
  std::vector<std::string> names;
  for (const Fired& f : report.fired) {
    if (std::find(names.begin(), names.end(), f.rule) == names.end()) names.push_back(f.rule);
  }
  return names;
}

/// The policy without the rules that the whole model is faster without.
Expected<Policy> measuredPolicy(const Model& model,
                                const RuleSet& rules,
                                const Costs& costs,
                                const ApplyOptions& options,
                                SiteTimer& timer,
                                std::vector<Measured>& lines) {
  auto original = serialize(model);
  if (!original) return tl::unexpected(original.error());
  auto without = [&](const std::vector<std::string>& left) -> Expected<Variant> {
    ApplyOptions variant = options;
    variant.check = ApplyOptions::Check::kNone;
    variant.policy.skip.insert(variant.policy.skip.end(), left.begin(), left.end());
    auto draft = rewriteAll(model, rules, costs, variant, timer);
    if (!draft) return tl::unexpected(draft.error());
    auto bytes = serialize(draft->model);
    if (!bytes) return tl::unexpected(bytes.error());
    return Variant{std::move(*bytes), firedRules(draft->report)};
  };
  auto losing = rulesThatLose(*original, without, options.time, options.progress, lines);
  if (!losing) return tl::unexpected(losing.error());
  Policy policy = options.policy;
  policy.skip.insert(policy.skip.end(), losing->begin(), losing->end());
  return policy;
}

Expected<Applied> applyUnguarded(const Model& model, const RuleSet& rules, const Costs& costs, ApplyOptions options) {
  double start = options.now();
  SiteTimer timer(options.time, options.policy.minGain);
  std::vector<Measured> whole;
  if (options.time) {
    auto policy = measuredPolicy(model, rules, costs, options, timer, whole);
    if (!policy) return tl::unexpected(policy.error());
    options.policy = std::move(*policy);
  }
  auto draft = rewriteAll(model, rules, costs, options, timer);
  if (!draft) return tl::unexpected(draft.error());
  Applied result{std::move(draft->model), std::move(draft->report)};
  ApplyReport& report = result.report;
  report.measured = timer.lines();
  report.measured.insert(report.measured.end(), whole.begin(), whole.end());
  report.rewriteSeconds = options.now() - start - report.checkSeconds;
  if (auto checked = checkRest(model, result.model, options, report); !checked) return tl::unexpected(checked.error());
  report.checkSeconds = options.now() - start - report.rewriteSeconds;
  return result;
}

}  // namespace

Expected<Applied> apply(const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options) {
  try {
    return applyUnguarded(model, rules, costs, options);
  } catch (const OverflowError&) {
    return fail(ErrorKind::kModel, "extents whose product is beyond 64 bits");
  }
}

}  // namespace pet
