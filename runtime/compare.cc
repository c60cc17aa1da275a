#include "runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  const IndexInputs indices = indexInputs(program, symbols);
  for (Value v : program.inputs()) {
    const std::string& name = program.name(v);
    if (given.contains(name)) continue;
    auto extents = evaluate(program.shape(v), symbols);
    if (!extents) return fail(ErrorKind::kInternal, "unbound symbol in " + str(program.shape(v)), name);
    drawn.emplace(name, drawInput(seed, name, *extents, indices));
  }
  return drawn;
}

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

/// kHolds, or kNotPossible where it does not decide.
Comparison compareOnEngine(const Program& pattern,
                           const Program& replacement,
                           const TensorMap& tensors,
                           const TensorMap& drawn,
                           const RealOptions& options) {
  const auto weights = firstOf(inputsFrom<float>(tensors), inputsFrom<float>(drawn));
  auto before = runOn(options.engine, pattern, weights, drawn);
  if (!before) return notPossible(before.error());
  auto after = options.prepared ? runOn(options.engine, *options.prepared, firstOf(options.made, weights), drawn)
                                : runOn(options.engine, replacement, weights, drawn);
  if (!after) return notPossible(after.error());
  if (before->size() != after->size()) return {Verdict::kNotPossible, "the numbers of outputs differ", "", 0};
  Comparison result;
  result.scope = "in float";
  for (size_t o = 0; o < before->size(); ++o) {
    const double scale = largestMagnitude((*before)[o]), allowed = options.floor * scale;
    const bool alike = (*before)[o].extents == (*after)[o].extents && std::isfinite(allowed) && !isTiny(scale);
    const double difference =
        alike ? largestDifference((*before)[o], (*after)[o]) : std::numeric_limits<double>::infinity();
    if (!(difference <= allowed)) return {Verdict::kNotPossible, "", "", 0};
    if (difference > 0) result.worst = std::max(result.worst, difference / allowed);
  }
  return result;
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
  if (options.engine && symbols.empty()) {
    Comparison quick = compareOnEngine(pattern, replacement, tensors, *drawn, options);
    if (quick.holds()) return quick;
  }
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

}  // namespace pet
