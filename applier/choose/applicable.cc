#include "applier/choose/applicable.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/match/promise.h"
#include "ir/layout_algebra.h"
#include "ir/work.h"
#include "rules/rewrite/bind.h"
#include "rules/surroundings.h"

namespace pet {
namespace {

bool wanted(const std::string& rule, const Policy& policy) {
  return (policy.only.empty() || matchesAny(rule, policy.only)) && !matchesAny(rule, policy.skip);
}

/// Rounded up to two digits, so that it is enough.
std::string enough(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return fmt::format("{:.2g}", std::ceil(value / unit) * unit);
}

/// Why a rule's rounding is not wanted; nullopt where it is.
std::optional<Reason> roundsTooMuch(const Numerics& numerics, ElementType element, const Policy& policy) {
  if (!isComputed(element)) return std::nullopt;  // integers are exact
  if (numerics.kind == Numerics::Kind::kUnbounded && !policy.unbounded)
    return Reason{ReasonKind::kUnbounded, "the model's data do not bound its intermediate values (--numerics any)"};
  if (numerics.kind != Numerics::Kind::kConditioned) return std::nullopt;
  if (!policy.whyNotConditioned.empty()) return Reason{ReasonKind::kInexact, policy.whyNotConditioned};
  if (unitRoundoff(policy.computedIn) > unitRoundoff(element)) element = policy.computedIn;
  const double error = relativeError(numerics, element);
  if (error <= policy.maxRelativeError.at(element)) return std::nullopt;
  const bool isFloat = element == ElementType::kFloat;
  const std::string in = isFloat ? "" : fmt::format(" in {}", str(element));
  return Reason{ReasonKind::kRoundsTooMuch,
                fmt::format("its relative error may reach {:.2g}{} (--max-rel-error)", error, in),
                {},
                (isFloat ? "" : fmt::format("{}=", str(element))) + enough(error)};
}

/// Of the activations that a pattern takes.
double elementsTaken(const Program& pattern, const Bindings& symbols) {
  double elements = 0;
  for (Value v : pattern.inputs())
    elements += isConstant(pattern, v) ? 0 : elementsOf(pattern.shape(v), symbols).value_or(0);
  return elements;
}

double elementsGiven(const Program& pattern, const Bindings& symbols) {
  double elements = 0;
  for (Value v : pattern.outputs())
    elements += elementsOf(pattern.shape(v), symbols).value_or(0);
  return elements;
}

/// Bytes of the activations that a pattern takes and gives.
double endsOf(const Program& pattern, const Bindings& symbols) {
  return 4 * (elementsTaken(pattern, symbols) + elementsGiven(pattern, symbols));
}

/// The cost, if the rule may pay: where neighbours spare it its layouts, it is the less. That can be what they were
/// timed to take, or, where they are not at the ends alone, moving all operands and results once.
Gain hopefulCostAt(
    const Rule& rule, const Site& site, const Bindings& shapes, const Costs& costs, const Policy& policy) {
  auto cost = costs.of(rule, site, shapes);
  if (!cost)
    return refuse(cost.error().what == kNoTimingNear ? ReasonKind::kFarSizes : ReasonKind::kNotTuned,
                  cost.error().what);
  CostEstimate best = *cost;
  if (movesActivations(rule.replacement))
    best.layouts = std::max(best.layouts, costs.layoutSecondsPerByte * endsOf(site.pattern->program, shapes));
  if (best.layouts < best.replacement && best.bestRatio() < policy.minGain) return tl::unexpected(noGain(*cost));
  return cost->withMargin();
}

/// The samples at which something pays, as --expect reads them, "batch=8,16", and what it gains at the middle one of
/// these. Nothing where there are none, or several symbols differ.
void enterPayingSizes(const std::vector<Gain>& gains, const ModelSizes& sizes, Reason& reason) {
  std::map<std::string, std::vector<int64_t>> values;
  std::vector<size_t> paying;
  for (size_t s = 0; s < gains.size(); ++s) {
    if (!gains[s]) continue;
    paying.push_back(s);
    for (const auto& [symbol, value] : sizes.inModel(sizes.samples()[s]))
      values[symbol].push_back(value);
  }
  if (values.size() != 1 || !sizes.isNamed(values.begin()->first)) return;
  reason.kind = ReasonKind::kExpectedSizes;
  reason.value = fmt::format("{}={}", values.begin()->first, fmt::join(values.begin()->second, ","));
  enterGain(*gains[paying[paying.size() / 2]], reason);
}

using CostsOrReason = tl::expected<std::vector<CostEstimate>, Reason>;

/// The costs at all samples, if the rule may pay at each of them.
CostsOrReason hopefulCosts(
    const Rule& rule, const Site& site, const ModelSizes& sizes, const Costs& costs, const Policy& policy) {
  if (!costs.at) return refuse(ReasonKind::kNotTuned, std::string(kNoTiming));
  if (sizes.samples().empty()) return refuse(ReasonKind::kNoSizes, "no sizes are known");
  std::vector<Gain> gains;
  std::vector<CostEstimate> known;
  for (const Bindings& sample : sizes.samples()) {
    gains.push_back(hopefulCostAt(rule, site, rewrite::numbersAt(site.symbols, sample), costs, policy));
    if (gains.back()) known.push_back(*gains.back());
    const bool isUntuned = !gains.back() && gains.back().error().kind == ReasonKind::kNotTuned;
    if (isUntuned && !policy.isMeasured) break;  // at no other sample either; who measures wants to know of all
  }
  if (auto loss = worstOf(gains, sizes)) return tl::unexpected(std::move(loss->reason));
  if (site.element != ElementType::kFloat && !policy.isMeasured) {
    Reason reason{ReasonKind::kFloatOnly, fmt::format("timed in float only, not in {} (--measure)", str(site.element))};
    enterGain(known[sizes.typicalIndex()], reason);
    return tl::unexpected(std::move(reason));
  }
  return known;
}

/// What the rule would gain at the typical sizes, if that is known and an option would let it fire.
void enterTypicalGain(const Rule& rule, const Site& site, const ModelSizes& sizes, const Costs& costs, Reason& reason) {
  if (reason.ratio || !isUnlocked(reason.kind) || !costs.at || sizes.samples().empty()) return;
  auto cost = costs.of(rule, site, rewrite::numbersAt(site.symbols, sizes.typical()));
  if (cost) enterGain(*cost, reason);
}

}  // namespace

double besideSeconds(const CostEstimate& cost, const Site& site, const Bindings& shapes, const Costs& costs) {
  if (cost.guessed || costs.rates.gemm <= 0) return 0;
  const Program& pattern = site.pattern->program;
  const double elements = (site.beside.isFirst ? 0 : elementsTaken(pattern, shapes)) +
                          (site.beside.isLast ? 0 : elementsGiven(pattern, shapes));
  constexpr double kFlop = 2.0 * kNeighbourChannels, kShare = 0.75;
  constexpr double kLeastShare = 0.1;  // of the pattern: what is beside it is only estimated
  const double most = (1 - kLeastShare) * std::min(cost.pattern, cost.replacement);
  return std::min(elements * kFlop / (kShare * costs.rates.gemm), most);
}

void enterGain(const CostEstimate& cost, Reason& reason) {
  reason.ratio = cost.ratio();
  reason.saves = cost.pattern - cost.replacement;
}

std::optional<Loss> worstOf(const std::vector<Gain>& gains, const ModelSizes& sizes) {
  auto isWorse = [](const Reason& a, const Reason& b) {
    return std::pair(a.kind, -a.ratio.value_or(0)) > std::pair(b.kind, -b.ratio.value_or(0));
  };
  std::optional<Loss> worst;
  for (size_t s = 0; s < gains.size(); ++s) {
    if (!gains[s] && (!worst || isWorse(gains[s].error(), worst->reason))) worst = Loss{gains[s].error(), s};
  }
  if (!worst || sizes.samples()[worst->sample].empty()) return worst;
  worst->reason.detail += ", at " + rewrite::str(rewrite::symbolsOf(sizes.inModel(sizes.samples()[worst->sample])));
  if (worst->reason.kind == ReasonKind::kNoGain) enterPayingSizes(gains, sizes, worst->reason);
  return worst;
}

Reason noGain(const CostEstimate& cost) {
  const char* how = cost.guessed ? "guessed" : cost.measured ? "measured" : "predicted";
  return {ReasonKind::kNoGain, fmt::format("{} {:.2f}, no gain", how, cost.ratio()), cost.ratio()};
}

bool movesActivations(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  for (size_t i = 0; i < constant.size(); ++i) {
    if (!constant[i] && layoutOf(program.nodes()[i])) return true;
  }
  return false;
}

int occupiedBoxes(const Rule& rule, const Bindings& symbols) {
  auto holdsAny = [&](const BoxRange& range) {
    auto lower = range.lower.evaluate(symbols), upper = range.upper.evaluate(symbols);
    return lower && upper && *lower < *upper;
  };
  return static_cast<int>(std::count_if(rule.boxes.begin(), rule.boxes.end(), [&](const Box& box) {
    return std::all_of(box.ranges.begin(), box.ranges.end(), holdsAny);
  }));
}

std::vector<SiteRule> candidatesAt(const Site& site,
                                   const ModelSizes& sizes,
                                   const std::vector<const Rule*>& rules,
                                   const Costs& costs,
                                   const Policy& policy,
                                   std::vector<Refusal>& refusals) {
  auto implied = [&](const Constraint& c) { return sizes.implies(c); };
  std::vector<SiteRule> result;
  for (const Rule* each : rules) {
    const Rule& rule = *each;
    if (!wanted(rule.name, policy)) continue;
    auto refused = [&](Reason reason) {
      enterTypicalGain(rule, site, sizes, costs, reason);
      refusals.push_back({site.anchor, site.pattern->name, rule.name, std::move(reason)});
    };
    if (auto why = roundsTooMuch(rule.numerics, site.element, policy)) {
      refused(std::move(*why));
      continue;
    }
    auto symbols = rewrite::bindRule(rule, site.symbols, implied);
    if (!symbols) {
      auto promise = promiseFor(rule, site.symbols, sizes);
      const ReasonKind kind = promise ? ReasonKind::kOpenSizes : ReasonKind::kOtherSizes;
      refused({kind, symbols.error().what, {}, std::move(promise)});
      continue;
    }
    auto known = hopefulCosts(rule, site, sizes, costs, policy);
    if (!known && !policy.all) {
      refused(known.error());
      continue;
    }
    int boxes = occupiedBoxes(rule, rewrite::numbersAt(*symbols, sizes.typical()));
    result.push_back({site, &rule, std::move(*symbols), boxes, std::move(known).value_or(std::vector<CostEstimate>())});
  }
  return result;
}

}  // namespace pet
