#include "rules/gain/roofline.h"

#include <algorithm>

#include "ir/work.h"
#include "rules/gain/steps.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

constexpr double kFlops = 2;  ///< of a multiply-add

bool isProduct(const Node& node) {
  return node.is(ops::kMatMul) || node.is(ops::kGemm) || node.is(ops::kEinsum);
}

bool isConv(const Node& node) {
  return node.is(ops::kConv) || node.is(ops::kConvTranspose);
}

/// Elements that an operator makes.
double madeBy(const Node& node, const Bindings& symbols) {
  double made = 0;
  for (const Shape& shape : node.shapes)
    made += elementsOf(shape, symbols).value_or(0);
  return made;
}

}  // namespace

Expected<Load> loadOf(const Program& program, const Bindings& symbols) {
  auto figures = figuresOf(program, symbols);
  if (!figures) return tl::unexpected(figures.error());
  Load load{.work = figures->work, .bytes = kElementBytes * (figures->input + figures->weights + figures->output)};
  const std::vector<bool> constant = constantNodes(program);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.is(ops::kInput) || constant[i]) continue;
    if (isProduct(node))
      load.gemm += kFlops * workOf(program, node, symbols).value_or(0);
    else if (isConv(node))
      load.conv += kFlops * workOf(program, node, symbols).value_or(0);
    else
      load.bytes += 2 * kElementBytes * madeBy(node, symbols);
  }
  return load;
}

std::optional<double> rooflineSeconds(const Load& load, const Rates& rates) {
  const double gemm = rates.gemm > 0 ? rates.gemm : rates.conv;
  if (rates.copy <= 0 || (load.gemm > 0 && gemm <= 0) || (load.conv > 0 && rates.conv <= 0)) return std::nullopt;
  return load.bytes / rates.copy + (load.gemm > 0 ? load.gemm / gemm : 0) +
         (load.conv > 0 ? load.conv / rates.conv : 0);
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
