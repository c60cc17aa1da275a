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

/// The bound of one program, as far as it does not depend on the precision.
struct Bound {
  std::vector<int64_t> chains;
  std::vector<TensorRef<float>> magnitudes;
};

Expected<Bound> boundOf(const Program& program, const Bindings& symbols, const InputSource<float>& inputs) {
  if (auto bound = requireBound(program, symbols); !bound) return tl::unexpected(bound.error());
  auto chains = chainLengths(program, symbols);
  if (!chains) return tl::unexpected(chains.error());
  auto found = magnitudes(program, symbols, inputs);
  if (!found) return tl::unexpected(found.error());
  return Bound{std::move(*chains), std::move(*found)};
}

/// γ_n · abs(P) at one element, in precision T. abs(P) is itself rounded, to float, by a relative γ at most.
template <class T>
double allowedBy(const Bound& bound, size_t output, size_t i) {
  double own = gammaOf<float>(bound.chains[output]);
  double magnitude = static_cast<double>(bound.magnitudes[output]->data[i]);
  return own < 1 ? gammaOf<T>(bound.chains[output]) * magnitude / (1 - own) : std::numeric_limits<double>::infinity();
}

/// What both programs give, and what the bounds allow.
template <class T>
struct Results {
  std::vector<TensorRef<T>> original, rewritten;
  const Bound &originalBound, &rewrittenBound;

  /// Below the smallest normal number, rounding is absolute.
  double allowed(size_t output, size_t i) const {
    return allowedBy<T>(originalBound, output, i) + allowedBy<T>(rewrittenBound, output, i) +
           static_cast<double>(std::numeric_limits<T>::min());
  }
};

template <class T>
Comparison compareResults(const Program& pattern, const Results<T>& r, std::string_view precision) {
  Comparison result{Verdict::kHolds, "", std::string(precision), 0};
  auto end = [&](Verdict verdict, std::string reason, double worst = 0) {
    return Comparison{verdict, std::move(reason), result.scope, worst};
  };
  if (r.original.size() != r.rewritten.size()) return end(Verdict::kFails, "the numbers of outputs differ");
  for (size_t o = 0; o < r.original.size(); ++o) {
    const std::string& name = pattern.name(pattern.outputs()[o]);
    const Tensor<T>&original = *r.original[o], &rewritten = *r.rewritten[o];
    if (auto extents = differentExtents(original, rewritten)) return end(Verdict::kFails, name + ": " + *extents);
    for (size_t i = 0; i < original.data.size(); ++i) {
      double was = static_cast<double>(original.data[i]), is = static_cast<double>(rewritten.data[i]);
      double allowed = r.allowed(o, i), difference = std::abs(is - was);
      if (std::isfinite(was) && std::isfinite(allowed) && difference <= allowed) {
        result.worst = std::max(result.worst, difference / allowed);
        continue;
      }
      std::string at = name + position(original.extents, i);
      if (!std::isfinite(was)) return end(Verdict::kNotPossible, fmt::format("{} is {} in the original", at, was));
      if (!std::isfinite(allowed)) return end(Verdict::kNotPossible, at + ": no finite bound");
      return end(Verdict::kFails,
                 fmt::format("{} is {:.9g}, the original's {:.9g}: off by {:.3g}, {:.3g} can be rounding ({})", at, is,
                             was, difference, allowed, precision),
                 difference / allowed);
    }
  }
  return result;
}

template <class T>
Comparison compareIn(const Program& pattern,
                     const Program& replacement,
                     const Bindings& symbols,
                     const InputSource<T>& inputs,
                     const Bound& p,
                     const Bound& m,
                     std::string_view precision) {
  auto original = execute(pattern, symbols, inputs);
  if (!original) return notPossible(original.error());
  auto rewritten = execute(replacement, symbols, inputs);
  if (!rewritten) return failureOfReplacement(rewritten.error());
  return compareResults(pattern, Results<T>{std::move(*original), std::move(*rewritten), p, m}, precision);
}

Comparison compareRealWeightsUnguarded(const Program& pattern,
                                       const Program& replacement,
                                       const Bindings& symbols,
                                       const TensorMap& tensors,
                                       const RealOptions& options) {
  auto drawn = drawMissing(pattern, symbols, tensors, options.seed);
  if (!drawn) return notPossible(drawn.error());
  auto narrow = firstOf(inputsFrom<float>(tensors), inputsFrom<float>(*drawn));
  auto p = boundOf(pattern, symbols, narrow), m = boundOf(replacement, symbols, narrow);
  if (!p) return notPossible(p.error());
  if (!m) return failureOfReplacement(m.error());
  Comparison single = compareIn<float>(pattern, replacement, symbols, narrow, *p, *m, "float");
  if (!single.holds() || !options.inDouble) return single;
  auto wide = firstOf(inputsFrom<double>(tensors), inputsFrom<double>(*drawn));
  Comparison twice = compareIn<double>(pattern, replacement, symbols, wide, *p, *m, "double");
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
