#include "rules/gain/roofline.h"

#include <algorithm>

#include "ir/work.h"
#include "rules/gain/steps.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

constexpr double kFlops = 2;  ///< of a multiply-add

/// What bounds an operator: the FLOP/s of a product (where they are not known, of a Conv), those of a Conv, or memory.
double Rates::*boundOf(const Node& node, const Rates& rates) {
  if (node.is(ops::kMatMul) || node.is(ops::kGemm) || node.is(ops::kEinsum))
    return rates.gemm > 0 ? &Rates::gemm : &Rates::conv;
  if (node.is(ops::kConv) || node.is(ops::kConvTranspose)) return &Rates::conv;
  return &Rates::copy;
}

/// Elements that an operator makes.
double madeBy(const Node& node, const Bindings& symbols) {
  double made = 0;
  for (const Shape& shape : node.shapes)
    made += elementsOf(shape, symbols).value_or(0);
  return made;
}

}  // namespace

Expected<double> rooflineSeconds(const Program& program, const Bindings& symbols, const Rates& rates) {
  if (rates.copy <= 0) return fail(ErrorKind::kCheck, "the rates are not known");
  auto figures = figuresOf(program, symbols);
  if (!figures) return tl::unexpected(figures.error());
  double seconds = kElementBytes * (figures->input + figures->weights + figures->output) / rates.copy;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.is(ops::kInput) || isConstant(program, {static_cast<int>(i), 0})) continue;
    const double Rates::*bound = boundOf(node, rates);
    if (rates.*bound <= 0) return fail(ErrorKind::kCheck, "the rates are not known");
    const double cost = bound == &Rates::copy ? 2 * kElementBytes * madeBy(node, symbols)
                                              : kFlops * workOf(program, node, symbols).value_or(0);
    seconds += cost / (rates.*bound);
  }
  return seconds;
}

Expected<double> leastSeconds(const Program& program, const Bindings& symbols, const Ceiling& ceiling) {
  auto steps = deviceSteps(program, symbols);
  if (!steps) return tl::unexpected(steps.error());
  const Rates& rates = ceiling.rates;
  double seconds = 0;
  for (const DeviceStep& step : *steps) {
    if (rates.copy <= 0 || (step.gemm > 0 && rates.gemm <= 0) || (step.conv > 0 && rates.conv <= 0))
      return fail(ErrorKind::kCheck, "the rates are not known");
    const double computing =
        (step.gemm > 0 ? kFlops * step.gemm / rates.gemm : 0) + (step.conv > 0 ? kFlops * step.conv / rates.conv : 0);
    seconds += std::max(computing, ceiling.elementBytes * step.elements / rates.copy) + ceiling.stepSeconds;
  }
  return seconds;
}

Expected<CostEstimate> guessedCost(const Pattern& pattern,
                                   const Rule& rule,
                                   const Bindings& shapes,
                                   const Ceiling& ceiling) {
  auto symbols = rewrite::bindRule(rule, shapes);
  if (!symbols) return fail(ErrorKind::kCheck, symbols.error().what);
  auto before = leastSeconds(pattern.program, shapes, ceiling),
       after = leastSeconds(rule.replacement, *symbols, ceiling);
  if (!before) return tl::unexpected(before.error());
  if (!after) return tl::unexpected(after.error());
  if (!(*before > 0 && *after > 0)) return fail(ErrorKind::kCheck, "one side computes nothing");
  return CostEstimate{
      .pattern = *before, .replacement = *after, .lower = *before / *after / kGuessMargin, .guessed = true};
}

}  // namespace pet
