#include "applier/apply.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/choose/attempt.h"
#include "applier/infer/signatures.h"
#include "applier/measure/extract.h"
#include "applier/measure/site_timer.h"
#include "applier/measure/whole_model.h"
#include "applier/onnx/inline.h"
#include "applier/read/normalise.h"
#include "applier/read/row_guards.h"
#include "applier/round/places.h"

namespace pet {
namespace {

// --- All rounds ---

/// Every round adds a generation at the places that it changes, so this bound is only for our own mistakes.
constexpr int kMaxRounds = 4 * kMaxGenerations;

/// What a graph holds, with its subgraphs and the functions that it calls, each once.
struct Contents {
  explicit Contents(const Graph& graph) { enter(graph); }
  void enter(const Graph& graph) {
    nodes += graph.nodes.size();
    newestOpset = std::max(newestOpset, graph.opset);
    for (const Initializer& i : graph.initializers)
      constants += i.value.bytes ? static_cast<int64_t>(i.value.bytes->size()) : 0;
    for (const GraphNode& n : graph.nodes) {
      if (isUnknown(n, graph.opset)) ++unknown[(n.domain.empty() ? "" : n.domain + ".") + n.type];
      forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { enter(*inner); });
      if (n.callee && functions.insert(n.callee.get()).second) enter(n.callee->body);
    }
  }
  static bool isUnknown(const GraphNode& n, int64_t opset) {
    if (!n.domain.empty()) return !n.callee;
    return n.standard && !findSignature(n.type, std::max(opset, kOldestOpset));
  }
  size_t nodes = 0;
  std::map<std::string, size_t> unknown;  ///< nodes of operators that are not ONNX's, nor the model's own
  int64_t constants = 0;                  ///< bytes of initializers
  int64_t newestOpset = 0;
  std::set<const Function*> functions;
};

/// The model after all rounds, and what happened.
struct Draft {
  Model model;
  ApplyReport report;
  std::set<std::string> places;  ///< Place::key of the graphs in which something fired
  /// All graphs as the rounds began: with the calls inlined that something fires in.
  std::map<std::string, ReadGraph> originals = {};
  std::string failure = {};  ///< of the check of the whole model
  bool isWritten = false;    ///< for that check
};

/// What a round saves. A later round's patterns were timed by themselves, and not as what an earlier one made: what is
/// left of a run counts as no less than they take, so that it falls as they do.
void enterSaved(const std::vector<Fired>& fired, ApplyReport& report) {
  double before = 0, after = 0;
  for (const Fired& f : fired) {
    before += f.patternSeconds;
    after += f.replacementSeconds;
  }
  const double left = report.runSeconds ? *report.runSeconds - report.savedSeconds : before;
  if (before > 0) report.savedSeconds += (before - after) * std::min(1.0, left / before);
}

void enter(const Round& round, bool first, Draft& draft) {
  ApplyReport& report = draft.report;
  if (first) draft.originals.insert(round.read.begin(), round.read.end());
  draft.places.insert(round.places.begin(), round.places.end());
  report.fired.insert(report.fired.end(), round.fired.begin(), round.fired.end());
  const auto& [lines, unchecked] = round.checks;
  report.checks.insert(report.checks.end(), lines.begin(), lines.end());
  report.unchecked.insert(report.unchecked.end(), unchecked.begin(), unchecked.end());
  if (first) report.refused = round.refused;  // later rounds repeat them
  if (first) report.untouched = round.untouched;
  if (first) report.sizes = round.sizes;
  if (first) report.matched = round.matched;
  if (first) report.canBeMined = round.canBeMined;
  if (first) report.warnings = round.contradictions;
  if (first) report.runSeconds = round.seconds;
  enterSaved(round.fired, report);
  ++report.rounds;
  report.checkSeconds += round.checkSeconds;
}

bool anyConditioned(const ApplyReport& report) {
  return std::any_of(report.fired.begin(), report.fired.end(),
                     [](const Fired& f) { return f.numerics.kind == Numerics::Kind::kConditioned; });
}

/// A site of which only the whole model says whether it is right: one that cannot be checked by itself, or one where
/// rounding is a part of 1, however small the results. Nullopt: there is none.
std::optional<UncheckedSite> onlyOnTheWhole(const ApplyReport& report) {
  if (!report.unchecked.empty()) {
    UncheckedSite site = report.unchecked[0];
    site.reason = "the rewritten site cannot be checked: " + site.reason;
    return site;
  }
  auto it = std::find_if(report.fired.begin(), report.fired.end(), [](const Fired& f) { return f.numerics.ofOne; });
  if (it == report.fired.end()) return std::nullopt;
  return UncheckedSite{it->site, it->rule,
                       "how large the results of the rewritten site are, of which its rounding is no part, cannot be "
                       "checked by itself"};
}

/// All rules that fired compute the same terms as the original, or the same values.
bool roundsAlike(const ApplyReport& report) {
  return std::none_of(report.fired.begin(), report.fired.end(), [](const Fired& f) {
    return f.numerics.kind == Numerics::Kind::kConditioned || f.numerics.kind == Numerics::Kind::kUnbounded;
  });
}

/// The error allowed for the whole model, relative to its outputs, besides what rounding in the coarsest type that it
/// computes with explains.
double floorOf(const View& view, const ApplyReport& report, const ApplyOptions& options) {
  constexpr double kUnits = 16;
  const bool conditioned = anyConditioned(report);
  double floor = kUnits * unitRoundoff(ElementType::kFloat);  // in which it is executed
  for (ElementType element : view.elements) {
    if (!isComputed(element)) continue;
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

/// A graph that was rewritten, as a whole.
Expected<std::vector<CheckLine>> checkPlace(const ReadGraph& original,
                                            const Place& rewritten,
                                            const ApplyReport& report,
                                            const ApplyOptions& options) {
  const Normalised& before = *original.normalised;
  NormaliseOptions how = options.normalise;
  how.neverTrue = before.neverTrue;  // what is an input of one view is an input of the other
  const View after = normalise(rewritten.graph, how, rewritten.inference).view;
  std::vector<CheckLine> lines;
  for (const Bindings& sizes : checkSizes(before.view, before.sizes)) {
    auto line = checkWhole(
        before.view, after, original.outputs, sizes,
        {options.seed, options.progress, floorOf(before.view, report, options), options.engine, roundsAlike(report)});
    if (!line) return tl::unexpected(line.error());
    if (!original.path.empty()) line->where = original.path + " as a whole";
    lines.push_back(std::move(*line));
  }
  return lines;
}

/// What is checked is what is written, read again; graph by graph.
Expected<std::vector<CheckLine>> checkWritten(const Draft& draft, const ApplyOptions& options) {
  auto again = options.writeAndRead ? options.writeAndRead(draft.model) : writeAndReadHere(draft.model);
  if (!again) return tl::unexpected(again.error());
  const Inference after = infer(again->graph, {.freezeInputs = options.normalise.freezeInputs});
  const auto rewritten = placesOf(again->graph, after);
  std::vector<CheckLine> lines;
  for (const std::string& key : draft.places) {
    auto original = draft.originals.find(key), end = draft.originals.end();
    auto other = rewritten.find(key);
    if (original == end || other == rewritten.end())
      return fail(ErrorKind::kInternal, "a graph is not in both models", key, "please report this");
    auto found = checkPlace(original->second, other->second, draft.report, options);
    if (!found) return tl::unexpected(found.error());
    lines.insert(lines.end(), found->begin(), found->end());
  }
  return lines;
}

/// Checks the whole model where that was asked for, and where it alone can speak for a site.
Expected<void> checkRest(Draft& draft, const ApplyOptions& options) {
  ApplyReport& report = draft.report;
  using Check = ApplyOptions::Check;
  const auto only = options.check != Check::kNone ? onlyOnTheWhole(report) : std::nullopt;
  const bool isCopy = report.fired.empty() && report.leftOut.empty();
  if (isCopy || (options.check != Check::kFull && !only)) return {};
  auto lines = checkWritten(draft, options);
  if (!lines) return tl::unexpected(lines.error());
  draft.isWritten = options.writeAndRead != nullptr;
  auto impossible = std::find_if(lines->begin(), lines->end(), [](const CheckLine& line) { return !line.possible; });
  if (only && (lines->empty() || impossible != lines->end())) {
    const std::string why = lines->empty() ? "no sizes were found at which it runs" : impossible->reason;
    return fail(ErrorKind::kCheck, fmt::format("{}; nor can the whole model: {}", only->reason, why), only->label,
                fmt::format("nothing was written; --skip {}", only->rule));
  }
  report.checks.insert(report.checks.end(), lines->begin(), lines->end());
  return {};
}

/// "operators that pet does not know are left as they are: NewOperator x2, ...".
std::string unknownText(const std::map<std::string, size_t>& unknown) {
  constexpr size_t kNamed = 6;
  std::vector<std::string> names;
  for (const auto& [name, count] : unknown)
    names.push_back(names.size() < kNamed ? fmt::format("{} x{}", name, count) : "...");
  names.resize(std::min(names.size(), kNamed + 1));
  return fmt::format("operators that pet does not know are left as they are: {}", fmt::join(names, ", "));
}

void describeModels(const Graph& before, const Graph& after, const ApplyOptions& options, ApplyReport& report) {
  const Contents was(before), is(after);
  report.nodesBefore = was.nodes;
  report.nodesAfter = is.nodes;
  report.constantsBefore = was.constants;
  report.constantsAfter = is.constants;
  if (was.newestOpset > kNewestOpset) {
    report.warnings.insert(
        report.warnings.begin(),
        fmt::format("opset {} is newer than {}, the newest that pet knows: operators are read as they are "
                    "in that one",
                    was.newestOpset, kNewestOpset));
  }
  if (!was.unknown.empty()) report.warnings.push_back(unknownText(was.unknown));
  for (const Initializer& i : before.initializers)
    report.overridable += i.overridable && !options.normalise.freezeInputs;
}

/// The model without the guards of rows that need none, unless the user wants certain rules or sites.
Draft begin(const Model& model, const ApplyOptions& options) {
  Draft draft{model, {}, {}};
  const Policy& policy = options.policy;
  if (!policy.only.empty() || !policy.sites.empty() || matchesAny(kRowGuards, policy.skip)) return draft;
  auto [graph, leftOut] = withoutRowGuards(std::move(draft.model.graph), options.normalise);
  draft.model.graph = std::move(graph);
  draft.report.leftOut = std::move(leftOut);
  if (draft.report.leftOut.empty()) return draft;
  // What was written is compared with the model that has them.
  const Inference inference = infer(model.graph, {.freezeInputs = options.normalise.freezeInputs});
  const Place place = mainPlace(model.graph, inference);
  draft.places.insert(place.key);
  draft.originals[place.key] = {
      place.path, place.graph.outputs,
      std::make_shared<Normalised>(normalise(place.graph, options.normalise, place.inference))};
  return draft;
}

Expected<Draft> rewriteRounds(
    const Model& model, RuleSource& rules, const Costs& costs, const ApplyOptions& options, SiteTimer& timer) {
  Draft draft = begin(model, options);
  Forms forms;
  for (int i = 0; i < (options.policy.all ? 1 : kMaxRounds); ++i) {
    auto round = rewriteOnce(draft.model, rules, forms, costs, options, timer);
    if (!round) return tl::unexpected(round.error());
    enter(*round, i == 0, draft);
    if (round->fired.empty()) break;
    draft.model.graph = std::move(round->graph);
  }
  return draft;
}

std::vector<std::string> firedRules(const ApplyReport& report, bool onlyGuessed = false) {
  std::vector<std::string> names;
  for (const Fired& f : report.fired) {
    const bool isWanted = f.guessed || !onlyGuessed;
    if (isWanted && std::find(names.begin(), names.end(), f.rule) == names.end()) names.push_back(f.rule);
  }
  return names;
}

bool hasCalls(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& n) {
    bool found = n.callee != nullptr;
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { found = found || hasCalls(*inner); });
    return found;
  });
}

/// The model with all calls replaced by their nodes that are not like the others of their function, or within one.
Inlined inlineDiffering(const Model& model, const ApplyOptions& options) {
  if (!hasCalls(model.graph)) return {model, {}};
  const Inference inference = infer(model.graph, {.freezeInputs = options.normalise.freezeInputs});
  return inlineCalls(model, [&](const GraphNode& call) {
    auto use = inference.functions.find(call.callee.get());
    return use != inference.functions.end() && !use->second.agree && whyNotInlined(call, model.opsets).empty();
  });
}

/// A function is rewritten where it stands if all its calls agree. Else its calls are inlined, and those in which
/// nothing fires are put back.
Expected<Draft> rewriteAll(
    const Model& model, RuleSource& rules, const Costs& costs, const ApplyOptions& options, SiteTimer& timer) {
  const Inlined inlined = inlineDiffering(model, options);
  auto draft = rewriteRounds(inlined.model, rules, costs, options, timer);
  if (draft && !inlined.calls.empty()) {
    const auto changed = changedCalls(inlined.calls, draft->model.graph);
    auto isChanged = [&](const GraphNode& call) {
      return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const auto& o) { return changed.contains(o); });
    };
    draft = rewriteRounds(inlineCalls(model, isChanged).model, rules, costs, options, timer);
  }
  if (draft) draft->report.metadata = options.metadata;
  if (draft && !draft->report.fired.empty()) {
    draft->report.metadata[kRulesKey] = firedRules(draft->report);
    if (auto guessed = firedRules(draft->report, true); !guessed.empty())
      draft->report.metadata[kGuessedKey] = std::move(guessed);
    draft->model.metadata = draft->report.metadata;
  }
  if (draft) describeModels(model.graph, draft->model.graph, options, draft->report);
  return draft;
}

/// The extents of the model's inputs at the least, the typical and the largest sizes; without any where it leaves none
/// open, or no sizes were found.
std::vector<TimedSizes> timedSizes(const Model& model, const ApplyOptions& options) {
  const ModelSizes sizes = normalise(model.graph, options.normalise).sizes;
  const Inference inference = infer(model.graph, {.freezeInputs = options.normalise.freezeInputs});
  std::vector<TimedSizes> result;
  for (const Bindings& sample : sizes.spread()) {
    const Bindings own = sizes.inModel(sample);
    TimedSizes at{timedAtText(own), {}};
    const ValueTypes types = typesOf(model.graph, inference.types, own);
    for (const std::string& input : model.graph.inputs) {
      auto type = types.find(input);
      auto extents = type == types.end() ? std::nullopt : type->second.extents();
      if (extents && !sample.empty()) at.extents.byInput.emplace(input, std::move(*extents));
    }
    result.push_back(std::move(at));
  }
  if (result.empty()) result.emplace_back();
  return result;
}

/// The policy without the rules that the whole model is faster without.
Expected<Policy> measuredPolicy(const Model& model,
                                RuleSource& rules,
                                const Costs& costs,
                                const ApplyOptions& options,
                                SiteTimer& timer,
                                std::vector<Measured>& lines) {
  auto without = [&](const std::vector<std::string>& left) -> Expected<Variant> {
    ApplyOptions variant = options;
    variant.check = ApplyOptions::Check::kNone;
    variant.policy.skip.insert(variant.policy.skip.end(), left.begin(), left.end());
    auto draft = rewriteAll(model, rules, costs, variant, timer);
    if (!draft) return tl::unexpected(draft.error());
    return Variant{std::move(draft->model), firedRules(draft->report)};
  };
  auto losing = rulesThatLose(model, without, timedSizes(model, options), options.time, options.progress, lines);
  if (!losing) return tl::unexpected(losing.error());
  Policy policy = options.policy;
  policy.skip.insert(policy.skip.end(), losing->begin(), losing->end());
  return policy;
}

/// Errors that `conditioned` rules explain are the draft's `failure`.
Expected<Draft> rewriteAndCheck(
    const Model& model, RuleSource& rules, const Costs& costs, const ApplyOptions& options, SiteTimer& timer) {
  auto draft = rewriteAll(model, rules, costs, options, timer);
  if (!draft) return draft;
  const double start = options.now();
  auto checked = checkRest(*draft, options);
  draft->report.checkSeconds += options.now() - start;
  if (checked) return draft;
  if (checked.error().kind != ErrorKind::kCheck || !anyConditioned(draft->report))
    return tl::unexpected(checked.error());
  draft->failure = checked.error().what;
  return draft;
}

Expected<Applied> applyUnguarded(const Model& model, RuleSource& rules, const Costs& costs, ApplyOptions options) {
  double start = options.now();
  SiteTimer timer(options.time, options.policy.minGain);
  std::vector<Measured> whole;
  if (options.time) {
    auto policy = measuredPolicy(model, rules, costs, options, timer, whole);
    if (!policy) return tl::unexpected(policy.error());
    options.policy = std::move(*policy);
  }
  auto draft = rewriteAndCheck(model, rules, costs, options, timer);
  if (draft && !draft->failure.empty()) {
    options.policy.whyNotConditioned = "with such rules " + draft->failure;
    const double spent = draft->report.checkSeconds;
    draft = rewriteAndCheck(model, rules, costs, options, timer);
    if (draft) draft->report.checkSeconds += spent;
  }
  if (!draft) return tl::unexpected(draft.error());
  ApplyReport& report = draft->report;
  report.measured = timer.lines();
  report.measured.insert(report.measured.end(), whole.begin(), whole.end());
  report.rewriteSeconds = options.now() - start - report.checkSeconds;
  return Applied{std::move(draft->model), std::move(report), draft->isWritten};
}

}  // namespace

Expected<Applied> apply(const Model& model, RuleSource& rules, const Costs& costs, const ApplyOptions& options) {
  try {
    return applyUnguarded(model, rules, costs, options);
  } catch (const OverflowError&) {
    return fail(ErrorKind::kModel, "extents whose product is beyond 64 bits");
  }
}

Expected<Applied> apply(const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options) {
  WholeSet source(rules);
  return apply(model, source, costs, options);
}

}  // namespace pet
