#include "runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "runtime/difference.h"
#include "runtime/draw.h"
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

template <class T>
InputSource<T> firstOf(InputSource<T> a, InputSource<T> b) {
  return [a = std::move(a), b = std::move(b)](std::string_view name) {
    TensorRef<T> tensor = a(name);
    return tensor ? tensor : b(name);
  };
}

// --- Real weights
// -----------------------------------------------------------------------------------------------------

/// What one side of the bound needs, in one precision.
template <class T>
struct Side {
  std::vector<TensorRef<T>> values, magnitude;
  std::vector<double> gamma;
};

template <class T>
Expected<Side<T>> evaluateSide(const Program& program, const Bindings& symbols, const InputSource<T>& inputs) {
  Side<T> side;
  if (auto bound = requireBound(program, symbols); !bound) return tl::unexpected(bound.error());
  auto chains = chainLengths(program, symbols);
  if (!chains) return tl::unexpected(chains.error());
  for (int64_t n : *chains)
    side.gamma.push_back(gammaOf<T>(n));
  auto values = execute(program, symbols, inputs);
  if (!values) return tl::unexpected(values.error());
  auto magnitude = magnitudes(program, symbols, inputs);
  if (!magnitude) return tl::unexpected(magnitude.error());
  side.values = std::move(*values);
  side.magnitude = std::move(*magnitude);
  return side;
}

/// The bound at one element. abs(·) is itself rounded, by a relative γ at most; below the smallest normal number,
/// rounding is absolute.
template <class T>
double allowedAt(const Side<T>& p, const Side<T>& m, size_t output, size_t i) {
  auto part = [&](const Side<T>& s) {
    double g = s.gamma[output], a = static_cast<double>(s.magnitude[output]->data[i]);
    return g < 1 ? g * a / (1 - g) : std::numeric_limits<double>::infinity();
  };
  return part(p) + part(m) + static_cast<double>(std::numeric_limits<T>::min());
}

template <class T>
Comparison compareSides(const Program& pattern, const Side<T>& p, const Side<T>& m, std::string_view precision) {
  Comparison result{Verdict::kHolds, "", std::string(precision), 0};
  for (size_t o = 0; o < p.values.size(); ++o) {
    const std::string& name = pattern.name(pattern.outputs()[o]);
    if (auto shapes = differentExtents(*p.values[o], *m.values[o])) {
      return {Verdict::kFails, fmt::format("{}: {}", name, *shapes), result.scope, 0};
    }
    for (size_t i = 0; i < p.values[o]->data.size(); ++i) {
      double was = static_cast<double>(p.values[o]->data[i]), is = static_cast<double>(m.values[o]->data[i]);
      auto at = [&] { return name + position(p.values[o]->extents, i); };
      if (!std::isfinite(was))
        return {Verdict::kNotPossible, fmt::format("{} is {} in the original", at(), was), result.scope, 0};
      double allowed = allowedAt(p, m, o, i), difference = std::abs(is - was);
      if (!std::isfinite(allowed)) return {Verdict::kNotPossible, at() + ": no finite bound", result.scope, 0};
      result.worst = std::max(result.worst, difference / allowed);
      if (!(difference <= allowed)) {
        result.verdict = Verdict::kFails;
        result.worst = difference / allowed;
        result.reason = fmt::format("{} is {:.9g}, the original's {:.9g}: off by {:.3g}, {:.3g} can be rounding ({})",
                                    at(), is, was, difference, allowed, precision);
        return result;
      }
    }
  }
  return result;
}

template <class T>
Comparison compareReal(const Program& pattern,
                       const Program& replacement,
                       const Bindings& symbols,
                       const InputSource<T>& inputs,
                       std::string_view precision) {
  auto p = evaluateSide(pattern, symbols, inputs);
  if (!p) return notPossible(p.error());
  auto m = evaluateSide(replacement, symbols, inputs);
  if (!m) return failureOfReplacement(m.error());
  if (p->values.size() != m->values.size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
  return compareSides(pattern, *p, *m, precision);
}

Comparison compareRealWeightsUnguarded(const Program& pattern,
                                       const Program& replacement,
                                       const Bindings& symbols,
                                       const TensorMap& tensors,
                                       const RealOptions& options) {
  auto drawn = drawMissing(pattern, symbols, tensors, options.seed);
  if (!drawn) return notPossible(drawn.error());
  Comparison single = compareReal<float>(pattern, replacement, symbols,
                                         firstOf(inputsFrom<float>(tensors), inputsFrom<float>(*drawn)), "float");
  if (!single.holds() || !options.inDouble) return single;
  Comparison twice = compareReal<double>(pattern, replacement, symbols,
                                         firstOf(inputsFrom<double>(tensors), inputsFrom<double>(*drawn)), "double");
  twice.scope = "float, double";
  twice.worst = std::max(twice.worst, single.worst);
  return twice;
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

Comparison compareWholeModelUnguarded(const ModelProgram& original,
                                      const ModelProgram& rewritten,
                                      const Bindings& symbols,
                                      const ModelOptions& options) {
  auto drawn = drawMissing(original.program, symbols, original.weights, options.seed);
  if (!drawn) return notPossible(drawn.error());
  int nodes = static_cast<int>(original.program.nodes().size()),
      others = static_cast<int>(rewritten.program.nodes().size());
  int total = 2 * nodes + others;

  auto wide = firstOf(inputsFrom<double>(original.weights), inputsFrom<double>(*drawn));
  auto truth = execute<double>(original.program, symbols, wide, part(options, 0, total));
  if (!truth) return notPossible(truth.error());
  auto narrow = firstOf(inputsFrom<float>(original.weights), inputsFrom<float>(*drawn));
  auto before = execute<float>(original.program, symbols, narrow, part(options, nodes, total));
  if (!before) return notPossible(before.error());
  auto changed = firstOf(inputsFrom<float>(rewritten.weights), inputsFrom<float>(*drawn));
  auto after = execute<float>(rewritten.program, symbols, changed, part(options, 2 * nodes, total));
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
