#include "applier/apply.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "applier/round.h"

namespace pet {
namespace {

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

/// Checks the whole model where that was asked for, and where it alone can speak for a site.
Expected<void> checkRest(const Model& original,
                         const std::string& bytes,
                         const ApplyOptions& options,
                         ApplyReport& report) {
  using Check = ApplyOptions::Check;
  bool needed = options.check != Check::kNone && !report.unchecked.empty();
  if (report.fired.empty() || (options.check != Check::kFull && !needed)) return {};
  auto line = checkBytes(original, bytes, report, options);
  if (!line) return tl::unexpected(line.error());
  if (needed && !line->possible) {
    const UncheckedSite& site = report.unchecked[0];
    return fail(
        ErrorKind::kCheck,
        fmt::format("the rewritten site cannot be checked: {}; nor can the whole model: {}", site.reason, line->reason),
        site.label, fmt::format("nothing was written; --skip {}", site.rule));
  }
  report.checks.push_back(std::move(*line));
  return {};
}

void measureSizes(const Graph& before, const Graph& after, const ApplyOptions& options, ApplyReport& report) {
  report.nodesBefore = before.nodes.size();
  report.nodesAfter = after.nodes.size();
  report.constantsBefore = constantBytes(before);
  report.constantsAfter = constantBytes(after);
  for (const Initializer& i : before.initializers)
    report.overridable += i.overridable && !options.freezeInputs;
}

/// The model after all rounds, and what happened.
struct Draft {
  Model model;
  ApplyReport report;
};

Expected<Draft> rewriteAll(
    const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options, SiteTimer& timer) {
  Draft draft{model, {}};
  Objection objection;
  if (options.time) {
    objection = [&](const Graph& graph, const View& view, const std::vector<const Rewrite*>& group) {
      return timer.objection({graph, model.file}, view, group);
    };
  }
  for (int i = 0; i < (options.policy.all ? 1 : kMaxRounds); ++i) {
    auto round = rewriteOnce(draft.model.graph, rules, costs, options, objection);
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

/// Times the whole model as it would be written, and without each of the rules that fired; leaves out a rule without
/// which it is faster beyond noise, and all of them where it is not faster than the original. Sites that gain by
/// themselves can still lose in the whole: caches and the engine's own fusions are shared.
Expected<Policy> leaveOutWhatLoses(const Model& model,
                                   const RuleSet& rules,
                                   const Costs& costs,
                                   ApplyOptions options,
                                   SiteTimer& timer,
                                   std::vector<Measured>& lines) {
  constexpr size_t kMostVariants = 8;
  constexpr double kModelSeconds = 20;
  constexpr double kClearly = 1.01;  ///< faster than another variant
  options.check = ApplyOptions::Check::kNone;
  const Policy asked = options.policy;
  auto original = serialize(model);
  if (!original) return tl::unexpected(original.error());
  while (true) {
    std::vector<std::string> models{*original}, without{""};
    for (size_t i = 0; i < without.size() && i < kMostVariants; ++i) {
      ApplyOptions variant = options;
      if (i > 0) variant.policy.skip.push_back(without[i]);
      auto draft = rewriteAll(model, rules, costs, variant, timer);
      if (!draft) return tl::unexpected(draft.error());
      auto bytes = serialize(draft->model);
      if (!bytes) return tl::unexpected(bytes.error());
      models.push_back(std::move(*bytes));
      if (i > 0) continue;
      if (draft->report.fired.empty()) return options.policy;
      auto names = firedRules(draft->report);
      if (names.size() > 1) without.insert(without.end(), names.begin(), names.end());
    }
    if (options.progress) options.progress("timing the whole model");
    auto samples = options.time({models, kModelSeconds, false});
    if (!samples) return tl::unexpected(samples.error());
    size_t first = lines.size();
    std::optional<std::string> better;
    double most = 0;
    for (size_t i = 1; i < models.size(); ++i) {
      std::string what = i == 1 ? "the model" : "the model without " + without[i - 1];
      lines.push_back(compareTurns(what, (*samples)[0], (*samples)[i], 1));
      Measured gain = compareTurns(what, (*samples)[1], (*samples)[i], kClearly);
      if (!gain.pays || gain.ratio <= most) continue;
      better = without[i - 1];
      most = gain.ratio;
    }
    if (better) {
      options.policy.skip.push_back(*better);
      continue;
    }
    if (!lines[first].pays) {
      options.policy = asked;
      options.policy.skip.push_back("*");
    }
    return options.policy;
  }
}

Expected<Applied> applyUnguarded(const Model& model, const RuleSet& rules, const Costs& costs, ApplyOptions options) {
  double start = options.now();
  SiteTimer timer(options.time, options.policy.minGain);
  std::vector<Measured> whole;
  if (options.time) {
    auto policy = leaveOutWhatLoses(model, rules, costs, options, timer, whole);
    if (!policy) return tl::unexpected(policy.error());
    options.policy = std::move(*policy);
  }
  auto draft = rewriteAll(model, rules, costs, options, timer);
  if (!draft) return tl::unexpected(draft.error());
  auto bytes = serialize(draft->model);
  if (!bytes) return tl::unexpected(bytes.error());
  Applied result{std::move(*bytes), std::move(draft->report)};
  ApplyReport& report = result.report;
  report.measured = timer.lines();
  report.measured.insert(report.measured.end(), whole.begin(), whole.end());
  report.rewriteSeconds = options.now() - start - report.checkSeconds;
  if (auto checked = checkRest(model, result.bytes, options, report); !checked) return tl::unexpected(checked.error());
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
