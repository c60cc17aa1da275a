#include "applier/choose/applicable.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/layout_algebra.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

bool wanted(const std::string& rule, const Policy& policy) {
  return (policy.only.empty() || matchesAny(rule, policy.only)) && !matchesAny(rule, policy.skip);
}

/// Why a rule's rounding is not wanted; empty where it is.
std::string roundsTooMuch(const Numerics& numerics, ElementType element, const Policy& policy) {
  if (!isComputed(element)) return "";  // integers are exact
  if (numerics.kind == Numerics::Kind::kUnbounded && !policy.unbounded)
    return "the model's data do not bound its intermediate values (--numerics any)";
  if (numerics.kind != Numerics::Kind::kConditioned) return "";
  if (!policy.whyNotConditioned.empty()) return policy.whyNotConditioned;
  double error = numerics.kappa * unitRoundoff(element);
  if (error <= policy.maxRelativeError.at(element)) return "";
  const bool isFloat = element == ElementType::kFloat;
  return fmt::format("its relative error may reach {:.2g}{} (--max-rel-error)", error,
                     isFloat ? "" : fmt::format(" in {}", str(element)));
}

/// Bytes of the activations that a pattern takes and gives.
double endsOf(const Program& pattern, const Bindings& symbols) {
  std::vector<Value> ends = pattern.outputs();
  for (Value v : pattern.inputs()) {
    if (!isConstant(pattern, v)) ends.push_back(v);
  }
  double bytes = 0;
  for (Value v : ends) {
    auto extents = evaluate(pattern.shape(v), symbols);
    bytes += extents ? 4.0 * static_cast<double>(elementCount(*extents)) : 0;
  }
  return bytes;
}

/// The cost, if the rule may pay: where neighbours spare it its layouts, it is the less. That can be what they were
/// timed to take, or, where they are not at the ends alone, moving all operands and results once.
Expected<CostEstimate> hopefulCostAt(
    const Rule& rule, const Site& site, const Bindings& shapes, const Costs& costs, const Policy& policy) {
  auto cost = costs.at(rule, shapes);
  if (!cost) return cost;
  CostEstimate best = *cost;
  if (movesActivations(rule.replacement))
    best.layouts = std::max(best.layouts, costs.layoutSecondsPerByte * endsOf(site.pattern->program, shapes));
  if (best.layouts < best.replacement && best.bestRatio() < policy.minGain)
    return fail(ErrorKind::kCheck, noGain(*cost));
  return cost;
}

/// The cost at the typical sizes, if the rule may pay at all samples.
Expected<CostEstimate> hopefulCost(
    const Rule& rule, const Site& site, const ModelSizes& sizes, const Costs& costs, const Policy& policy) {
  if (!costs.at) return fail(ErrorKind::kCheck, "not tuned for this device");
  if (site.element != ElementType::kFloat && !policy.isMeasured)
    return fail(ErrorKind::kCheck, fmt::format("timed in float only, not in {} (--measure)", str(site.element)));
  Expected<CostEstimate> typical = fail(ErrorKind::kCheck, "no sizes are known");
  for (const Bindings& sample : sizes.samples()) {
    auto cost = hopefulCostAt(rule, site, rewrite::numbersAt(site.symbols, sample), costs, policy);
    if (!cost && sample.empty()) return cost;
    if (!cost) {
      return fail(ErrorKind::kCheck,
                  fmt::format("{}, at {}", cost.error().what, rewrite::str(rewrite::symbolsOf(sample))));
    }
    if (&sample == &sizes.typical()) typical = std::move(cost);
  }
  return typical;
}

}  // namespace

std::string noGain(const CostEstimate& cost) {
  return fmt::format("{} {:.2f}, no gain", cost.measured ? "measured" : "predicted", cost.ratio());
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
    auto refuse = [&](std::string reason) {
      refusals.push_back({site.anchor, site.pattern->name, rule.name, std::move(reason)});
    };
    if (auto why = roundsTooMuch(rule.numerics, site.element, policy); !why.empty()) {
      refuse(std::move(why));
      continue;
    }
    auto symbols = rewrite::bindRule(rule, site.symbols, implied);
    if (!symbols) {
      refuse(symbols.error().what);
      continue;
    }
    auto cost = hopefulCost(rule, site, sizes, costs, policy);
    if (!cost && !policy.all) {
      refuse(cost.error().what);
      continue;
    }
    int boxes = occupiedBoxes(rule, rewrite::numbersAt(*symbols, sizes.typical()));
    result.push_back({site, &rule, std::move(*symbols), boxes, cost ? std::optional(*cost) : std::nullopt});
  }
  return result;
}

}  // namespace pet
