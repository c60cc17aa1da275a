#include "runtime/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/difference.h"
#include "runtime/draw.h"
#include "runtime/elements.h"
#include "runtime/rounding.h"

namespace pet {

using Verdict = Comparison::Verdict;

Comparison notPossible(const Error& error) {
  return {Verdict::kNotPossible, error.message(), "", 0};
}

namespace {

/// Random values for every input that has none; the ones that have keep theirs.
Expected<TensorMap> drawMissing(const Program& program,
                                const Bindings& symbols,
                                const TensorMap& given,
                                uint64_t seed) {
  TensorMap drawn;
  for (Value v : program.inputs()) {
    const std::string& name = program.name(v);
    if (given.contains(name)) continue;
    auto extents = evaluate(program.shape(v), symbols);
    if (!extents) return fail(ErrorKind::kInternal, "unbound symbol in " + str(program.shape(v)), name);
    drawn.emplace(name, drawReal(Draw(seed, name), *extents));
  }
  return drawn;
}

// --- Real weights
// -----------------------------------------------------------------------------------------------------

/// The activations that were drawn without their signs, for patterns that have no value below 0.
TensorMap magnitudesOf(TensorMap tensors) {
  for (auto& [name, tensor] : tensors) {
    for (float& x : tensor.data)
      x = std::abs(x);
  }
  return tensors;
}

Comparison compareWith(const Program& pattern,
                       const Program& replacement,
                       const Bindings& symbols,
                       const TensorMap& tensors,
                       const TensorMap& drawn,
                       const RealOptions& options) {
  Comparison single;
  if (options.inFloat) {
    auto inputs = firstOf(inputsFrom<float>(tensors), inputsFrom<float>(drawn));
    single = compareElements<float>(pattern, replacement, symbols, inputs, "float", options.spreadsNan).comparison;
  }
  if (!single.holds() || !options.inDouble) return single;
  auto inputs = firstOf(inputsFrom<double>(tensors), inputsFrom<double>(drawn));
  Comparison twice =
      compareElements<double>(pattern, replacement, symbols, inputs, "double", options.spreadsNan).comparison;
  if (options.inFloat) twice.scope = "float, double";
  twice.worst = std::max(twice.worst, single.worst);
  return twice;
}

Comparison compareRealWeightsUnguarded(const Program& pattern,
                                       const Program& replacement,
                                       const Bindings& symbols,
                                       const TensorMap& tensors,
                                       const RealOptions& options) {
  auto drawn = drawMissing(pattern, symbols, tensors, options.seed);
  if (!drawn) return notPossible(drawn.error());
  if (auto bound = requireBound(pattern, symbols); !bound) return notPossible(bound.error());
  if (auto bound = requireBound(replacement, symbols); !bound) return failureOfReplacement(bound.error());
  Comparison result = compareWith(pattern, replacement, symbols, tensors, *drawn, options);
  if (result.verdict != Verdict::kNotPossible) return result;
  Comparison positive = compareWith(pattern, replacement, symbols, tensors, magnitudesOf(*drawn), options);
  if (positive.verdict == Verdict::kNotPossible) return result;
  positive.scope += ", of activations >= 0";
  return positive;
}

}  // namespace

Comparison compareRealWeights(const Program& pattern,
                              const Program& replacement,
                              const Bindings& symbols,
                              const TensorMap& tensors,
                              const RealOptions& options) {
  return guarded([&] { return compareRealWeightsUnguarded(pattern, replacement, symbols, tensors, options); });
}

// --- The whole model
// --------------------------------------------------------------------------------------------------

namespace {

/// Reports one of several executions as a part of the whole.
ExecuteOptions part(const ModelOptions& options, int before, int total) {
  if (!options.progress) return {};
  return {[&options, before, total](int done, int) { options.progress(before + done, total); }};
}

double largestDifference(const Tensor<float>& a, const Tensor<double>& truth) {
  double largest = 0;
  for (size_t i = 0; i < truth.data.size(); ++i) {
    double difference = std::abs(static_cast<double>(a.data[i]) - truth.data[i]);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

double largestMagnitude(const Tensor<double>& t) {
  double largest = 0;
  for (double x : t.data)
    largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : std::numeric_limits<double>::infinity();
  return largest;
}

/// In float, every result rounded to the model's precision.
Expected<std::vector<TensorRef<float>>> executeRounded(const ModelProgram& model,
                                                       const Bindings& symbols,
                                                       const InputSource<float>& inputs,
                                                       const ExecuteOptions& options) {
  if (!model.round) return execute<float>(model.program, symbols, inputs, options);
  NodeEvaluator<float> evaluator = [&](int node, const std::vector<const Tensor<float>*>& operands) {
    auto results = evaluateNode(model.program, node, symbols, operands);
    for (size_t i = 0; results && i < results->size(); ++i)
      model.round(node, (*results)[i]);
    return results;
  };
  return executeWith<float>(model.program, symbols, inputs, evaluator, options);
}

Comparison compareWholeModelUnguarded(const ModelProgram& original,
                                      const ModelProgram& rewritten,
                                      const Bindings& symbols,
                                      const ModelOptions& options) {
  auto drawn = drawMissing(original.program, symbols, original.weights, options.seed);
  if (!drawn) return notPossible(drawn.error());
  for (Value v : original.program.inputs()) {
    auto it = drawn->find(original.program.name(v));
    if (original.round && it != drawn->end()) original.round(v.node, it->second);
  }
  int nodes = static_cast<int>(original.program.nodes().size()),
      others = static_cast<int>(rewritten.program.nodes().size());
  int total = 2 * nodes + others;

  auto wide = firstOf(inputsFrom<double>(original.weights), inputsFrom<double>(*drawn));
  auto truth = execute<double>(original.program, symbols, wide, part(options, 0, total));
  if (!truth) return notPossible(truth.error());
  auto narrow = firstOf(inputsFrom<float>(original.weights), inputsFrom<float>(*drawn));
  auto before = executeRounded(original, symbols, narrow, part(options, nodes, total));
  if (!before) return notPossible(before.error());
  auto changed = firstOf(inputsFrom<float>(rewritten.weights), inputsFrom<float>(*drawn));
  auto after = executeRounded(rewritten, symbols, changed, part(options, 2 * nodes, total));
  if (!after) return failureOfReplacement(after.error());

  Comparison result;
  if (after->size() != truth->size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
  for (size_t o = 0; o < truth->size(); ++o) {
    const std::string& name = original.program.name(original.program.outputs()[o]);
    if (auto shapes = differentExtents(*(*truth)[o], *(*after)[o])) {
      return {Verdict::kFails, fmt::format("{}: {}", name, *shapes), "", 0};
    }
    double scale = largestMagnitude(*(*truth)[o]);
    if (!std::isfinite(scale)) return {Verdict::kNotPossible, name + ": the original's values are not finite", "", 0};
    double was = largestDifference(*(*before)[o], *(*truth)[o]), is = largestDifference(*(*after)[o], *(*truth)[o]);
    double allowed = options.factor * was + options.floor * scale;
    result.scope += fmt::format("{}{}: error {:.2e}, the original's {:.2e}, max|output| {:.2e}", o ? "; " : "", name,
                                is, was, scale);
    result.worst = std::max(result.worst, is > 0 ? is / allowed : 0);
    if (!(is <= allowed)) {
      result.verdict = Verdict::kFails;
      result.reason =
          fmt::format("{}: off by {:.3g} from double precision, the original by {:.3g} (at most {:.3g} allowed)", name,
                      is, was, allowed);
      return result;
    }
  }
  return result;
}

}  // namespace

Comparison compareWholeModel(const ModelProgram& original,
                             const ModelProgram& rewritten,
                             const Bindings& symbols,
                             const ModelOptions& options) {
  return guarded([&] { return compareWholeModelUnguarded(original, rewritten, symbols, options); });
}

}  // namespace pet
