// Integer probes: two programs, exact inputs, equal results.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "runtime/compare.h"
#include "runtime/difference.h"
#include "runtime/draw.h"
#include "runtime/rounding.h"

namespace pet {
namespace {

using Verdict = Comparison::Verdict;

/// The inputs of one evaluation: what the numbers are that are drawn for the activations.
struct Probe {
  enum class Kind { kDense, kNegative, kImpulses };
  Kind kind = Kind::kDense;
  std::string name;
  const PositionBox* box = nullptr;  ///< of impulses, along whose borders
};

/// In which domains, with integers up to which limit, the two programs are exact.
struct Plan {
  Scales scales;
  std::map<std::string, Extents, std::less<>> extents;
  std::set<std::string, std::less<>> constants;
  IndexInputs indices;
  Extents output;  ///< of the pattern's first one
  int64_t limit = 0;
  bool inFloat = false, inInteger = false, inField = false;
  bool onlyInField() const { return inField && !inFloat; }
  int dense = 0;
  bool negative = false;  ///< a maximum is taken somewhere
  bool zeros = true;      ///< inputs may be 0: nothing is divided where 1/0 is no value but 0
};

template <class T>
bool hasKernels(const Program& program) {
  return std::all_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.is(ops::kInput) || n.op->kernels.get<T>(); });
}

bool selects(const Program& program) {
  return std::any_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.op->rounding.arithmetic == Arithmetic::kSelect; });
}

bool divides(const Program& program) {
  return std::any_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.is(ops::kDiv) || n.is(ops::kReciprocal); });
}

/// Peak of the partial sums of both programs for inputs up to limit · scale.
double peakOf(
    const Program& pattern, const Program& replacement, const Bindings& symbols, const Scales& scales, int64_t limit) {
  std::map<std::string, double> bounds;
  for (const auto& [name, scale] : scales)
    bounds[name] = static_cast<double>(scale) * static_cast<double>(limit);
  return std::max(largestSum(pattern, symbols, bounds), largestSum(replacement, symbols, bounds));
}

/// In the field alone, one probe of random residues says more than many of small integers: that two polynomials of
/// degree d differ and have one value there has a probability of d / p at most (Schwartz-Zippel), position by position.
void drawResidues(Plan& plan) {
  plan.limit = static_cast<int64_t>(Fp::kPrime / 2);
  plan.dense = 1;
  plan.zeros = false;
}

Expected<Plan> notExact(double peak) {
  return fail(ErrorKind::kUnsupported, fmt::format("sums up to {:.3g} are not exact in float", peak));
}

Expected<Plan> makePlan(const Program& pattern,
                        const Program& replacement,
                        const Bindings& symbols,
                        const ProbeOptions& options) {
  for (const Program* program : {&pattern, &replacement}) {
    if (auto bound = requireBound(*program, symbols); !bound) return tl::unexpected(bound.error());
  }
  auto scales = wholeScales(pattern, symbols), others = wholeScales(replacement, symbols);
  if (!scales) return tl::unexpected(scales.error());
  Plan plan;
  plan.scales = std::move(*scales);
  plan.indices = indexInputs(pattern, symbols);
  plan.output = *evaluate(pattern.shape(pattern.outputs()[0]), symbols);
  for (Value v : pattern.inputs()) {
    plan.extents[pattern.name(v)] = *evaluate(pattern.shape(v), symbols);
    if (isConstant(pattern, v)) plan.constants.insert(pattern.name(v));
  }
  int64_t work = checkedAdd(multiplyAdds(pattern, symbols), multiplyAdds(replacement, symbols));
  plan.dense = work <= options.denseWork && !options.quick ? options.dense : std::min(options.dense, 1);
  if (!others) {
    // Fractions on the way (Winograd's kernels): F_p has them, exactly.
    plan.inField = hasKernels<Fp>(pattern) && hasKernels<Fp>(replacement);
    if (!plan.inField || options.quick) return tl::unexpected(others.error());
    drawResidues(plan);
    return plan;
  }
  for (const auto& [name, scale] : *others) {
    auto [mine, fresh] = plan.scales.emplace(name, scale);
    if (!fresh) mine->second = checkedMul(mine->second / std::gcd(mine->second, scale), scale);
  }
  auto peak = [&](int64_t limit) { return peakOf(pattern, replacement, symbols, plan.scales, limit); };
  for (int64_t limit : {15, 7, 3, 2, 1}) {
    if (peak(limit) >= options.exactBelow) continue;
    plan.limit = limit;
    plan.inFloat = true;
    break;
  }
  plan.negative = selects(pattern) || selects(replacement);
  if (options.quick) return plan.inFloat ? Expected<Plan>(std::move(plan)) : notExact(peak(1));
  if (work <= options.ringWork || !plan.inFloat) {
    if (plan.limit == 0) plan.limit = 3;
    // What int64 tells F_p tells, too, in a fraction of the time; but it has no order.
    plan.inField = hasKernels<Fp>(pattern) && hasKernels<Fp>(replacement);
    plan.inInteger =
        !plan.inField && hasKernels<int64_t>(pattern) && hasKernels<int64_t>(replacement) && peak(plan.limit) < 0x1p62;
  }
  plan.zeros = plan.inFloat || (!divides(pattern) && !divides(replacement));
  if (plan.onlyInField()) drawResidues(plan);
  if (plan.inFloat || plan.inInteger || plan.inField) return plan;
  return notExact(peak(1));
}

// --- Inputs
// -----------------------------------------------------------------------------------------------------------

/// Positions beside the borders of a dimension, and of a box's range in the output, scaled to this extent.
std::set<int64_t> borders(int64_t extent, const PositionRange* range, int64_t outExtent) {
  std::set<int64_t> marks{0, 1, extent - 2, extent - 1};
  if (range && outExtent > 0) {
    for (int64_t edge : {range->lower, range->upper}) {
      for (int64_t step : {-2, -1, 0, 1})
        marks.insert((edge * extent) / outExtent + step);
    }
  }
  std::erase_if(marks, [&](int64_t m) { return m < 0 || m >= extent; });
  return marks;
}

/// Zero but where every coordinate is a mark; there, as drawn.
template <class T>
void keepMarked(Tensor<T>& tensor, const std::vector<std::set<int64_t>>& marks) {
  std::vector<int64_t> strides = rowMajorStrides(tensor.extents);
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    for (size_t d = 0; d < marks.size(); ++d) {
      int64_t at = static_cast<int64_t>(i) / strides[d] % tensor.extents[d];
      if (!marks[d].contains(at)) {
        tensor.data[i] = T();
        break;
      }
    }
  }
}

/// Draws the inputs of probes, each when it is asked for.
class ProbeInputs {
 public:
  ProbeInputs(const Plan& plan, const Probe& probe, uint64_t seed) : plan_(plan), probe_(probe), seed_(seed) {}

  template <class T>
  Tensor<T> draw(std::string_view name) const {
    const bool isActivation = !plan_.constants.contains(name);
    const bool negative = isActivation && probe_.kind == Probe::Kind::kNegative;
    const auto scale = plan_.scales.find(name);
    const int64_t factor = scale == plan_.scales.end() ? 1 : scale->second;
    Tensor<T> tensor(plan_.extents.find(name)->second);
    if (auto count = plan_.indices.find(name); count != plan_.indices.end()) {
      const Tensor<int64_t> indices = drawIndices(Draw(seed_, name), tensor.extents, count->second);
      std::copy(indices.data.begin(), indices.data.end(), tensor.data.begin());
      return tensor;
    }
    Draw draw(seed_, name);
    for (T& to : tensor.data) {
      const int64_t x = draw.nonZero(plan_.limit) * factor;
      // Below 0: what a maximum takes from outside is seen everywhere.
      to = static_cast<T>(negative ? -std::abs(x) : x);
    }
    if (isActivation && probe_.kind == Probe::Kind::kImpulses) keepMarked(tensor, marksOf(tensor.extents));
    return tensor;
  }

  /// Null: there is none of this name. Must not outlive the probe's inputs.
  template <class T>
  InputSource<T> source() const {
    return [this](std::string_view name) -> TensorRef<T> {
      return plan_.extents.contains(name) ? std::make_shared<const Tensor<T>>(draw<T>(name)) : nullptr;
    };
  }

  TensorMap activations() const {
    TensorMap tensors;
    for (const auto& [name, extents] : plan_.extents) {
      if (!plan_.constants.contains(name)) tensors.emplace(name, draw<float>(name));
    }
    return tensors;
  }

 private:
  /// Along the borders of the activations and, with a box, along its borders. (Where the ranks agree: the output's
  /// dimensions are then taken for the input's.)
  std::vector<std::set<int64_t>> marksOf(const Extents& extents) const {
    const PositionBox* box = probe_.box;
    bool alike = box && box->size() == extents.size() && box->size() == plan_.output.size();
    std::vector<std::set<int64_t>> marks;
    for (size_t d = 0; d < extents.size(); ++d)
      marks.push_back(borders(extents[d], alike ? &(*box)[d] : nullptr, alike ? plan_.output[d] : 0));
    return marks;
  }

  const Plan& plan_;
  const Probe& probe_;
  uint64_t seed_;
};

// --- Evaluation
// -------------------------------------------------------------------------------------------------------

std::string show(Fp x) {
  return fmt::format("{} mod p", x.value());
}
template <class T>
std::string show(T x) {
  return fmt::format("{}", x);
}

/// The pattern has a value: it says nothing where it has none, or overflows.
template <class T>
bool hasValue(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(x);
  return true;
}

/// Equal, as far as it is exact: functions of integers that are no integers are rounded.
template <class T>
bool agree(T expected, T found) {
  if (expected == found || !hasValue(expected)) return true;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kUnits = 16;
    const T allowed = kUnits * std::numeric_limits<T>::epsilon() * std::abs(expected);
    return std::trunc(expected) != expected && std::abs(expected - found) <= allowed;
  }
  return false;
}

template <class T>
std::optional<std::string> differentValues(const Tensor<T>& expected, const Tensor<T>& found) {
  size_t different = 0, first = 0;
  for (size_t i = expected.data.size(); i-- > 0;) {
    if (agree(expected.data[i], found.data[i])) continue;
    ++different;
    first = i;
  }
  if (different == 0) return std::nullopt;
  return fmt::format("{} is {}, the original's {}; {} of {} positions differ", position(expected.extents, first),
                     show(found.data[first]), show(expected.data[first]), different, expected.data.size());
}

template <class T>
Comparison compareResults(const Program& pattern,
                          const Probe& probe,
                          const std::vector<TensorRef<T>>& expected,
                          const std::vector<TensorRef<T>>& found) {
  if (expected.size() != found.size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
  for (size_t o = 0; o < expected.size(); ++o) {
    const Tensor<T>&e = *expected[o], &f = *found[o];
    auto difference = differentExtents(e, f);
    if (!difference) difference = differentValues(e, f);
    if (difference) {
      return {Verdict::kFails,
              fmt::format("probe {}: {}{}", probe.name, pattern.name(pattern.outputs()[o]), *difference), "",
              std::numeric_limits<double>::infinity()};
    }
    if (!e.data.empty() && std::none_of(e.data.begin(), e.data.end(), hasValue<T>)) {
      return {Verdict::kNotPossible, "the original has no finite value for integers", "", 0};
    }
  }
  return {};
}

/// Evaluates probes of two programs.
class ProbeComparison {
 public:
  ProbeComparison(const Program& pattern,
                  const Program& replacement,
                  const Bindings& symbols,
                  const Plan& plan,
                  const ProbeOptions& options)
      : pattern_(pattern), replacement_(replacement), symbols_(symbols), plan_(plan), options_(options) {}

  /// In float where that is exact; in the ring where it is not, and for the first probe. That an operator has no
  /// meaning in a ring for these attributes (a fill of -inf) decides nothing where float was exact already.
  Comparison compare(const Probe& probe, size_t index) const {
    const ProbeInputs inputs(plan_, probe, options_.seed + index);
    Comparison result;
    if (plan_.inFloat) result = inFloat(probe, inputs);
    bool inRing = (plan_.inInteger || plan_.inField) && (index == 0 || !plan_.inFloat);
    if (!result.holds() || !inRing) return result;
    Comparison ring = plan_.inInteger ? byReference<int64_t>(probe, inputs) : byReference<Fp>(probe, inputs);
    return plan_.inFloat && ring.verdict == Verdict::kNotPossible ? result : ring;
  }

 private:
  /// The reference decides where the engine does not find them equal.
  Comparison inFloat(const Probe& probe, const ProbeInputs& inputs) const {
    const bool equal = options_.engine && symbols_.empty() && onEngine(probe, inputs).holds();
    return equal ? Comparison{} : byReference<float>(probe, inputs);
  }

  Comparison onEngine(const Probe& probe, const ProbeInputs& inputs) const {
    const TensorMap activations = inputs.activations();
    std::map<std::string, TensorRef<float>, std::less<>> weights;  // of both programs
    const InputSource<float> drawn = [&](std::string_view name) {
      auto it = weights.find(name);
      if (it == weights.end()) it = weights.emplace(name, inputs.source<float>()(name)).first;
      return it->second;
    };
    auto run = [&](const Program& program) { return runOn(options_.engine, program, drawn, activations); };
    auto expected = run(pattern_);
    if (!expected) return notPossible(expected.error());
    auto found = run(replacement_);
    return found ? compareResults<float>(pattern_, probe, borrowed(*expected), borrowed(*found))
                 : notPossible(found.error());
  }

  static std::vector<TensorRef<float>> borrowed(const std::vector<Tensor<float>>& tensors) {
    std::vector<TensorRef<float>> result;
    for (const Tensor<float>& t : tensors)
      result.push_back(borrow(t));
    return result;
  }

  template <class T>
  Comparison byReference(const Probe& probe, const ProbeInputs& inputs) const {
    auto expected = execute<T>(pattern_, symbols_, inputs.source<T>());
    if (!expected) return notPossible(expected.error());
    auto found = execute<T>(replacement_, symbols_, inputs.source<T>());
    return found ? compareResults(pattern_, probe, *expected, *found) : failureOfReplacement(found.error());
  }

  const Program &pattern_, &replacement_;
  const Bindings& symbols_;
  const Plan& plan_;
  const ProbeOptions& options_;
};

/// "4 probes of integers to 15 in float, the first in F_p as well".
std::string scopeOf(const Plan& plan, size_t probes) {
  if (plan.onlyInField()) return "a probe of random residues in F_p";
  std::string_view ring = plan.inInteger ? "int64" : plan.inField ? "F_p" : "";
  std::string scope =
      fmt::format("{} probes of integers to {} in {}", probes, plan.limit, plan.inFloat ? "float" : ring);
  return plan.inFloat && !ring.empty() ? scope + fmt::format(", the first in {} as well", ring) : scope;
}

std::vector<Probe> probesOf(const Plan& plan, const ProbeOptions& options) {
  std::vector<Probe> probes;
  for (int i = 0; i < plan.dense; ++i)
    probes.push_back({Probe::Kind::kDense, fmt::format("dense {}", i)});
  if (options.quick) return probes;
  if (plan.negative) probes.push_back({Probe::Kind::kNegative, "negative"});
  if (plan.zeros) {
    probes.push_back({Probe::Kind::kImpulses, "border impulses"});
    for (size_t b = 0; b < options.boxes.size(); ++b)
      probes.push_back({Probe::Kind::kImpulses, fmt::format("impulses of box {}", b), &options.boxes[b]});
  }
  return probes;
}

Comparison compareAll(const ProbeComparison& comparison, const Plan& plan, const ProbeOptions& options) {
  const std::vector<Probe> probes = probesOf(plan, options);
  size_t held = 0;
  Comparison last;
  for (size_t i = 0; i < probes.size(); ++i) {
    Comparison one = comparison.compare(probes[i], i);
    if (one.verdict == Verdict::kFails) return one;
    held += one.holds();
    if (!one.holds()) last = std::move(one);
  }
  if (held == 0) return last;
  return {Verdict::kHolds, "", scopeOf(plan, held), 0};
}

}  // namespace

Comparison compareIntegerProbes(const Program& pattern,
                                const Program& replacement,
                                const Bindings& symbols,
                                const ProbeOptions& options) {
  return guarded([&] {
    auto plan = makePlan(pattern, replacement, symbols, options);
    if (!plan) return notPossible(plan.error());
    return compareAll({pattern, replacement, symbols, *plan, options}, *plan, options);
  });
}

}  // namespace pet
