// Integer probes: two programs, exact inputs, equal results.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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
using Integers = std::map<std::string, Tensor<int64_t>, std::less<>>;

/// The inputs of one evaluation.
struct Probe {
  std::string name;
  Integers inputs;
};

/// In which domains, with integers up to which limit, the two programs are exact.
struct Plan {
  Scales scales;
  std::map<std::string, Extents> extents;
  std::set<std::string> constants;
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

Expected<Plan> makePlan(const Program& pattern,
                        const Program& replacement,
                        const Bindings& symbols,
                        const ProbeOptions& options) {
  for (const Program* program : {&pattern, &replacement}) {
    if (auto bound = requireBound(*program, symbols); !bound) return tl::unexpected(bound.error());
  }
  auto scales = wholeScales(pattern, symbols), others = wholeScales(replacement, symbols);
  if (!scales) return tl::unexpected(scales.error());
  Plan plan{std::move(*scales), {}, {}};
  for (Value v : pattern.inputs()) {
    plan.extents[pattern.name(v)] = *evaluate(pattern.shape(v), symbols);
    if (isConstant(pattern, v)) plan.constants.insert(pattern.name(v));
  }
  int64_t work = checkedAdd(multiplyAdds(pattern, symbols), multiplyAdds(replacement, symbols));
  plan.dense = work <= options.denseWork ? options.dense : std::min(options.dense, 1);
  if (!others) {
    // Fractions on the way (Winograd's kernels): F_p has them, exactly.
    plan.inField = hasKernels<Fp>(pattern) && hasKernels<Fp>(replacement);
    if (!plan.inField) return tl::unexpected(others.error());
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
  return fail(ErrorKind::kUnsupported, fmt::format("sums up to {:.3g} are not exact in float", peak(1)));
}

// --- Probes
// -----------------------------------------------------------------------------------------------------------

Tensor<int64_t> drawInput(const Plan& plan, const std::string& name, uint64_t seed) {
  Tensor<int64_t> tensor = drawNonZero(Draw(seed, name), plan.extents.at(name), plan.limit);
  int64_t scale = plan.scales.contains(name) ? plan.scales.at(name) : 1;
  for (int64_t& x : tensor.data)
    x *= scale;
  return tensor;
}

Probe denseProbe(const Plan& plan, std::string name, uint64_t seed) {
  Probe probe{std::move(name), {}};
  for (const auto& [input, extents] : plan.extents)
    probe.inputs.emplace(input, drawInput(plan, input, seed));
  return probe;
}

/// Activations below 0: what a maximum takes from outside is seen everywhere.
Probe negativeProbe(const Plan& plan, uint64_t seed) {
  Probe probe = denseProbe(plan, "negative", seed);
  for (auto& [input, tensor] : probe.inputs) {
    if (plan.constants.contains(input)) continue;
    for (int64_t& x : tensor.data)
      x = -std::abs(x);
  }
  return probe;
}

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
void keepMarked(Tensor<int64_t>& tensor, const std::vector<std::set<int64_t>>& marks) {
  std::vector<int64_t> strides = rowMajorStrides(tensor.extents);
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    for (size_t d = 0; d < marks.size(); ++d) {
      int64_t at = static_cast<int64_t>(i) / strides[d] % tensor.extents[d];
      if (!marks[d].contains(at)) {
        tensor.data[i] = 0;
        break;
      }
    }
  }
}

/// Impulses along the borders of the activations and, with a box, along its borders. (Where the ranks agree: the
/// output's dimensions are then taken for the input's.)
Probe impulseProbe(const Plan& plan, const Extents& output, std::string name, uint64_t seed, const PositionBox* box) {
  Probe probe = denseProbe(plan, std::move(name), seed);
  for (auto& [input, tensor] : probe.inputs) {
    if (plan.constants.contains(input)) continue;
    bool alike = box && box->size() == tensor.extents.size() && box->size() == output.size();
    std::vector<std::set<int64_t>> marks;
    for (size_t d = 0; d < tensor.extents.size(); ++d) {
      marks.push_back(borders(tensor.extents[d], alike ? &(*box)[d] : nullptr, alike ? output[d] : 0));
    }
    keepMarked(tensor, marks);
  }
  return probe;
}

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
Comparison compareProbe(const Program& pattern,
                        const Program& replacement,
                        const Bindings& symbols,
                        const Probe& probe) {
  InputSource<T> inputs = [&](std::string_view name) -> TensorRef<T> {
    auto found = probe.inputs.find(name);
    if (found == probe.inputs.end()) return nullptr;
    const Tensor<int64_t>& t = found->second;
    auto converted = std::make_shared<Tensor<T>>(t.extents);
    std::transform(t.data.begin(), t.data.end(), converted->data.begin(), [](int64_t x) { return static_cast<T>(x); });
    return converted;
  };
  auto expected = execute<T>(pattern, symbols, inputs);
  if (!expected) return notPossible(expected.error());
  auto found = execute<T>(replacement, symbols, inputs);
  if (!found) return failureOfReplacement(found.error());
  if (expected->size() != found->size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
  for (size_t o = 0; o < expected->size(); ++o) {
    const Tensor<T>&e = *(*expected)[o], &f = *(*found)[o];
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

/// In float where that is exact; in the ring where it is not, and for the first probe. That an operator has no meaning
/// in a ring for these attributes (a fill of -inf) decides nothing where float was exact already.
Comparison compareInDomains(const Program& pattern,
                            const Program& replacement,
                            const Bindings& symbols,
                            const Plan& plan,
                            const Probe& probe,
                            bool first) {
  Comparison result;
  if (plan.inFloat) result = compareProbe<float>(pattern, replacement, symbols, probe);
  bool inRing = (plan.inInteger || plan.inField) && (first || !plan.inFloat);
  if (!result.holds() || !inRing) return result;
  Comparison ring = plan.inInteger ? compareProbe<int64_t>(pattern, replacement, symbols, probe)
                                   : compareProbe<Fp>(pattern, replacement, symbols, probe);
  return plan.inFloat && ring.verdict == Verdict::kNotPossible ? result : ring;
}

/// "4 probes of integers to 15 in float, the first in F_p as well".
std::string scopeOf(const Plan& plan, size_t probes) {
  if (plan.onlyInField()) return "a probe of random residues in F_p";
  std::string_view ring = plan.inInteger ? "int64" : plan.inField ? "F_p" : "";
  std::string scope =
      fmt::format("{} probes of integers to {} in {}", probes, plan.limit, plan.inFloat ? "float" : ring);
  return plan.inFloat && !ring.empty() ? scope + fmt::format(", the first in {} as well", ring) : scope;
}

Comparison compareAll(const Program& pattern,
                      const Program& replacement,
                      const Bindings& symbols,
                      const Plan& plan,
                      const ProbeOptions& options) {
  Extents output = *evaluate(pattern.shape(pattern.outputs()[0]), symbols);
  std::vector<std::function<Probe(uint64_t seed)>> probes;
  probes.reserve(static_cast<size_t>(plan.dense));
  for (int i = 0; i < plan.dense; ++i) {
    probes.emplace_back([&, i](uint64_t seed) { return denseProbe(plan, fmt::format("dense {}", i), seed); });
  }
  if (plan.negative) probes.emplace_back([&](uint64_t seed) { return negativeProbe(plan, seed); });
  if (plan.zeros) {
    probes.emplace_back([&](uint64_t seed) { return impulseProbe(plan, output, "border impulses", seed, nullptr); });
  }
  for (size_t b = 0; plan.zeros && b < options.boxes.size(); ++b) {
    probes.emplace_back([&, b](uint64_t seed) {
      return impulseProbe(plan, output, fmt::format("impulses of box {}", b), seed, &options.boxes[b]);
    });
  }
  size_t held = 0;
  Comparison last;
  for (size_t i = 0; i < probes.size(); ++i) {
    Comparison one = compareInDomains(pattern, replacement, symbols, plan, probes[i](options.seed + i), i == 0);
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
    return plan ? compareAll(pattern, replacement, symbols, *plan, options) : notPossible(plan.error());
  });
}

}  // namespace pet
