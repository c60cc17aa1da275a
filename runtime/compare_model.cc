// Whole models, original against rewritten.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "ir/wide_loops.h"
#include "runtime/compare.h"
#include "runtime/difference.h"
#include "runtime/draw.h"
#include "runtime/elements.h"

namespace pet {

using Verdict = Comparison::Verdict;

namespace {

/// Of an output: what is compared with what is allowed.
struct OutputError {
  double is = 0, allowed = 0;
  bool isAllowed() const { return is <= allowed; }
  double inUnits() const { return is > 0 ? is / allowed : 0; }
};

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

/// One number for each of 32 bits, without a branch: every number but 0 and what is not finite becomes the next larger
/// or, where the bit is not set, the next smaller one.
[[gnu::always_inline]] inline void nudgeBlock(float* block, uint32_t up) {
  constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;
  constexpr auto kBits = [] {
    std::array<uint32_t, 32> bits{};
    for (uint32_t i = 0; i < 32; ++i)
      bits[i] = 1U << i;
    return bits;
  }();
  std::array<int32_t, 32> numbers;
  std::memcpy(numbers.data(), block, sizeof numbers);
  for (size_t i = 0; i < 32; ++i) {
    const int32_t magnitude = numbers[i] & kMagnitude;
    const bool isUp = ((up & kBits[i]) != 0) & (magnitude < kInfinity - 1);
    const bool moves = (magnitude > 0) & (magnitude < kInfinity);
    numbers[i] += moves ? (isUp ? 1 : -1) : 0;
  }
  std::memcpy(block, numbers.data(), sizeof numbers);
}

PET_WIDE_LOOPS void nudge(float* numbers, size_t count, Draw draw) {
  constexpr size_t kBlock = 32;
  auto bits = [&] { return static_cast<uint32_t>(draw.below(uint64_t{1} << 32)); };
  size_t start = 0;
  for (; start + kBlock <= count; start += kBlock)
    nudgeBlock(numbers + start, bits());
  if (start == count) return;
  std::array<float, kBlock> rest{};
  std::copy(numbers + start, numbers + count, rest.begin());
  nudgeBlock(rest.data(), bits());
  std::copy_n(rest.begin(), count - start, numbers + start);
}

Tensor<float> nudged(Tensor<float> tensor, Draw draw) {
  nudge(tensor.data.data(), tensor.data.size(), draw);
  return tensor;
}

/// Neighbours of these numbers, each made when it is asked for.
Weights nudged(const Weights& weights, uint64_t seed) {
  auto near = [seed](std::string_view name, Tensor<float> tensor) {
    return std::make_shared<const Tensor<float>>(nudged(std::move(tensor), Draw(seed, std::string(name) + "'")));
  };
  auto tensors = [=, tensors = weights.tensors](std::string_view name) -> TensorRef<float> {
    const auto weight = tensors(name);
    return weight ? near(name, *weight) : nullptr;
  };
  auto stored = [=, stored = weights.stored](std::string_view name) -> std::optional<StoredFloats> {
    const auto weight = stored ? stored(name) : std::nullopt;
    if (!weight) return std::nullopt;
    auto made = near(name, weight->copy());
    return StoredFloats{made->extents, made->data.data(), made};
  };
  return {std::move(tensors), std::move(stored)};
}

/// Two models on the same inputs.
class ModelComparison {
 public:
  ModelComparison(const ModelProgram& original,
                  const ModelProgram& rewritten,
                  const Bindings& symbols,
                  const ModelOptions& options)
      : original_(original), rewritten_(rewritten), symbols_(symbols), options_(options) {}

  Comparison run() {
    if (auto ok = drawInputs(); !ok) return notPossible(ok.error());
    const bool rounds = original_.round || rewritten_.round;
    if (!options_.engine || !symbols_.empty() || (rounds && !options_.sameRounding)) return inDouble();
    Comparison quick = guarded([&] { return onEngine(); });
    if (quick.holds()) return quick;
    Comparison sure = inDouble();
    if (sure.holds()) sure.scope += fmt::format("; not decided in float: {}", quick.reason);
    return sure;
  }

 private:
  /// Values of all inputs that are not constant.
  Expected<void> drawInputs() {
    for (Value v : original_.program.inputs()) {
      if (isConstant(original_.program, v)) continue;
      const std::string& name = original_.program.name(v);
      auto extents = evaluate(original_.program.shape(v), symbols_);
      if (!extents) return fail(ErrorKind::kInternal, "unbound symbol in " + str(original_.program.shape(v)), name);
      Tensor<float> tensor = drawReal(Draw(options_.seed, name), *extents);
      if (original_.round) original_.round(v.node, tensor);
      drawn_.emplace(name, std::move(tensor));
    }
    return {};
  }

  /// Of one way to compare, which begins anew.
  ReportShare shareOf(std::string_view way) const {
    if (!options_.progress) return nullptr;
    return [this, way](double share) { options_.progress(way, share); };
  }

  template <class T>
  InputSource<T> inputsOf(const ModelProgram& model) const {
    return firstOf(inputsFrom<T>(drawn_), inputsFrom<T>(model.weights.tensors));
  }

  const std::string& nameOf(size_t output) const { return original_.program.name(original_.program.outputs()[output]); }

  using Tensors = std::vector<Tensor<float>>;

  TensorMap nudgedInputs() const {
    TensorMap inputs;
    for (const auto& [name, tensor] : drawn_)
      inputs.emplace(name, nudged(tensor, Draw(options_.seed, name + "'")));
    return inputs;
  }

  /// kHolds, or kNotPossible with the reason why it does not decide. One model is ready at a time, for their weights.
  Comparison onEngine() const {
    const ReportShare progress = shareOf("in float");
    auto run = [&](const ModelProgram& model, const Weights& weights, const TensorMap& inputs,
                   const ReportShare& share) { return runOn(options_.engine, model.program, weights, inputs, share); };
    auto after = run(rewritten_, rewritten_.weights, drawn_, shareWithin(progress, 0, 0.5));
    if (!after) return notPossible(after.error());
    auto before = run(original_, original_.weights, drawn_, shareWithin(progress, 0.5, 0.5));
    if (!before) return notPossible(before.error());
    const Comparison result = compareFloats(*before, *after, nullptr);
    if (result.holds() || !std::isfinite(result.worst)) return result;
    auto other =
        run(original_, nudged(original_.weights, options_.seed), nudgedInputs(), shareOf("with other roundings"));
    return other ? compareFloats(*before, *after, &*other) : result;
  }

  /// `worst` of what does not hold is infinite where no noise explains it.
  Comparison compareFloats(const Tensors& before, const Tensors& after, const Tensors* other) const {
    constexpr double kMostNoise = 16;  // of the floor; a model that amplifies more is one for the other way
    Comparison result;
    result.scope = "in float: ";
    for (size_t o = 0; o < before.size(); ++o) {
      const double scale = largestMagnitude(before[o]), floor = options_.floor * scale;
      if (auto extents = differentExtents(before[o], after[o])) return undecided(o, *extents);
      if (!std::isfinite(scale)) return undecided(o, "the original's values are not finite");
      const double noise = other ? std::min(largestDifference((*other)[o], before[o]), kMostNoise * floor) : 0;
      const OutputError error{largestDifference(after[o], before[o]), floor + (options_.factor - 1) * noise};
      result.scope +=
          fmt::format("{}{}: difference {:.2e}, max|output| {:.2e}", o ? "; " : "", nameOf(o), error.is, scale);
      if (other) result.scope += fmt::format(", of roundings {:.2e}", noise);
      result.worst = std::max(result.worst, error.inUnits());
      if (!error.isAllowed())
        return undecided(o, fmt::format("off by {:.3g} from the original (at most {:.3g})", error.is, error.allowed),
                         error.is);
    }
    return result;
  }

  Comparison undecided(size_t output,
                       const std::string& why,
                       double worst = std::numeric_limits<double>::infinity()) const {
    return {Verdict::kNotPossible, fmt::format("{}: {}", nameOf(output), why), "", worst};
  }

  Comparison inDouble() const {
    const ReportShare progress = shareOf("in double");
    constexpr double kDouble = 0.5, kFloat = 0.25;  // of the time
    auto truth =
        execute<double>(original_.program, symbols_, inputsOf<double>(original_), {shareWithin(progress, 0, kDouble)});
    if (!truth) return notPossible(truth.error());
    auto before =
        executeRounded(original_, symbols_, inputsOf<float>(original_), {shareWithin(progress, kDouble, kFloat)});
    if (!before) return notPossible(before.error());
    auto after = executeRounded(rewritten_, symbols_, inputsOf<float>(rewritten_),
                                {shareWithin(progress, kDouble + kFloat, kFloat)});
    if (!after) return failureOfReplacement(after.error());
    if (after->size() != truth->size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
    Comparison result;
    result.scope = "in double: ";
    for (size_t o = 0; o < truth->size() && result.holds(); ++o)
      compareErrors(o, *(*truth)[o], *(*before)[o], *(*after)[o], result);
    return result;
  }

  void compareErrors(size_t o,
                     const Tensor<double>& truth,
                     const Tensor<float>& before,
                     const Tensor<float>& after,
                     Comparison& result) const {
    if (auto extents = differentExtents(truth, after)) {
      result = {Verdict::kFails, fmt::format("{}: {}", nameOf(o), *extents), "", 0};
      return;
    }
    const double scale = largestMagnitude(truth);
    if (!std::isfinite(scale)) {
      result = {Verdict::kNotPossible, nameOf(o) + ": the original's values are not finite", "", 0};
      return;
    }
    const double was = largestDifference(before, truth);
    const OutputError error{largestDifference(after, truth), options_.factor * was + options_.floor * scale};
    result.scope += fmt::format("{}{}: error {:.2e}, the original's {:.2e}, max|output| {:.2e}", o ? "; " : "",
                                nameOf(o), error.is, was, scale);
    result.worst = std::max(result.worst, error.inUnits());
    if (error.isAllowed()) return;
    result.verdict = Verdict::kFails;
    result.reason =
        fmt::format("{}: off by {:.3g} from double precision, the original by {:.3g} (at most {:.3g} allowed)",
                    nameOf(o), error.is, was, error.allowed);
  }

  const ModelProgram &original_, &rewritten_;
  const Bindings& symbols_;
  const ModelOptions& options_;
  TensorMap drawn_;
};

}  // namespace

Comparison compareWholeModel(const ModelProgram& original,
                             const ModelProgram& rewritten,
                             const Bindings& symbols,
                             const ModelOptions& options) {
  return guarded([&] { return ModelComparison(original, rewritten, symbols, options).run(); });
}

}  // namespace pet
