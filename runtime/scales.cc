// Activations of all magnitudes: what a replacement does only beyond a threshold shows at one of them.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "runtime/aim.h"
#include "runtime/compare.h"
#include "runtime/difference.h"
#include "runtime/draw.h"
#include "runtime/elements.h"
#include "runtime/rounding.h"

namespace pet {
namespace {

using Verdict = Comparison::Verdict;

/// What the values of one slab are.
enum class SlabKind { kScale, kConstants, kWide, kZeros, kSparse, kEqual };
/// Half of the slabs are of one magnitude each; with ten slabs, one in each of five ranges of fifteen decades.
constexpr SlabKind kKinds[] = {SlabKind::kScale, SlabKind::kConstants, SlabKind::kScale, SlabKind::kWide,
                               SlabKind::kScale, SlabKind::kZeros,     SlabKind::kScale, SlabKind::kEqual,
                               SlabKind::kScale, SlabKind::kSparse};
constexpr size_t kSlabs = std::size(kKinds), kRanges = 5;
constexpr double kLeast = -45, kMost = 30;  ///< decimal exponents: float's denormals end at 1.4e-45

/// The finite numbers in a program's attributes and tables, 0 left out.
void enterNumbers(const Program& program, std::set<double>& into) {
  auto enter = [&](double x) {
    if (std::isfinite(x) && x != 0 && std::isfinite(static_cast<float>(x))) into.insert(x);
  };
  for (const Node& n : program.nodes()) {
    for (const auto& [name, attribute] : n.attributes) {
      if (const auto* number = std::get_if<double>(&attribute)) enter(*number);
    }
    if (!n.is(ops::kTable)) continue;
    double denominator = static_cast<double>(n.scalar("denominator").constant());
    for (const Expr& e : std::get<std::vector<Expr>>(n.attributes.at("values")))
      enter(static_cast<double>(e.constant()) / denominator);
  }
}

/// Both sides of each number: itself, the floats next to it, a thousandth below and above, twice and minus it.
std::vector<float> bothSides(const Program& pattern, const Program& replacement) {
  std::set<double> numbers;
  enterNumbers(pattern, numbers);
  enterNumbers(replacement, numbers);
  std::vector<float> values;
  for (double number : numbers) {
    auto x = static_cast<float>(number);
    for (float v : {x, std::nextafter(x, -INFINITY), std::nextafter(x, INFINITY), x * 0.999f, x * 1.001f, 2 * x, -x}) {
      if (std::isfinite(v)) values.push_back(v);
    }
  }
  return values;
}

/// In [1, 2) · scale, of either sign.
float drawAt(Draw& draw, double scale) {
  auto x = static_cast<double>(draw.real());
  return static_cast<float>((x < 0 ? x - 1 : x + 1) * scale);
}

/// 10^exponent, the exponent uniform.
double drawScale(Draw& draw, double from, double to) {
  return std::pow(10.0, from + (to - from) * (1 + static_cast<double>(draw.real())) / 2);
}

/// The values of one slab, one after the other.
class Slab {
 public:
  Slab(SlabKind kind, double scale, const std::vector<float>& numbers, Draw& draw)
      : kind_(kind == SlabKind::kConstants && numbers.empty() ? SlabKind::kScale : kind),
        scale_(scale),
        numbers_(numbers),
        draw_(draw),
        equal_(drawAt(draw, scale)) {
    if (kind_ == SlabKind::kConstants) next_ = draw.below(numbers.size());
  }

  float next() {
    switch (kind_) {
      case SlabKind::kScale:
        return drawAt(draw_, scale_);
      case SlabKind::kConstants:
        return numbers_[next_++ % numbers_.size()];
      case SlabKind::kWide:
        return drawAt(draw_, drawScale(draw_, kLeast, kMost));
      case SlabKind::kZeros:
        return 0;
      case SlabKind::kSparse:
        return draw_.below(2) ? 0 : drawAt(draw_, scale_);
      case SlabKind::kEqual:
        return equal_;
    }
    return 0;
  }

 private:
  SlabKind kind_;
  double scale_;
  const std::vector<float>& numbers_;
  Draw& draw_;
  float equal_;
  size_t next_ = 0;
};

/// The dimension of this rank in size, the longest first.
size_t dimensionBySize(const Extents& extents, size_t rank) {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return extents[a] > extents[b]; });
  return order[rank % order.size()];
}

/// Activation number `index` in a draw. Even draws have slabs of all kinds along a dimension, odd ones are of one kind.
Tensor<float> drawActivation(
    const Extents& extents, const std::string& name, size_t index, uint64_t seed, const std::vector<float>& numbers) {
  Draw own(seed + index, name), shared(seed + index, "");  // half of the time all activations have one magnitude
  bool together = shared.below(2) == 0;
  bool whole = index % 2 == 1 || extents.empty();
  auto dimension = extents.empty() ? 0 : dimensionBySize(extents, index / 2);
  int64_t extent = whole ? 1 : extents[dimension];
  size_t count = whole ? 1 : std::min(kSlabs, static_cast<size_t>(std::max<int64_t>(1, extent)));
  std::vector<Slab> slabs;
  for (size_t s = 0; s < count; ++s) {
    size_t kind = index / 2 + s;
    double width = (kMost - kLeast) / kRanges,
           from = kLeast + width * static_cast<double>((kind / 2 + index) % kRanges);
    double scale = drawScale(shared, from, from + width), other = drawScale(own, from, from + width);
    slabs.emplace_back(kKinds[kind % kSlabs], together ? scale : other, numbers, own);
  }
  Tensor<float> tensor(extents);
  int64_t stride = whole ? 1 : rowMajorStrides(extents)[dimension];
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    int64_t at = whole ? 0 : static_cast<int64_t>(i) / stride % extent;
    tensor.data[i] = slabs[static_cast<size_t>(at * static_cast<int64_t>(count) / extent)].next();
  }
  return tensor;
}

/// The inputs that are not given, draw by draw.
class Draws {
 public:
  Draws(const Program& pattern,
        const Program& replacement,
        const Bindings& symbols,
        const TensorMap& given,
        uint64_t seed)
      : pattern_(pattern),
        symbols_(symbols),
        given_(given),
        seed_(seed),
        numbers_(bothSides(pattern, replacement)),
        indices_(indexInputs(pattern, symbols)) {}

  /// Of all kinds and magnitudes.
  TensorMap draw(size_t index) const {
    return drawn(index, [&](const std::string& name, const Extents& extents) {
      return drawActivation(extents, name, index, seed_, numbers_);
    });
  }

  /// Activations of one magnitude, in all draws the same but for it.
  TensorMap drawOf(double scale) const {
    return drawn(0, [&](const std::string& name, const Extents& extents) {
      Tensor<float> tensor(extents);
      Draw draw(seed_, name);
      for (float& x : tensor.data)
        x = drawAt(draw, scale);
      return tensor;
    });
  }

  /// For programs with the pattern's inputs: what was drawn, and what is given. `drawn` must outlive the source.
  InputSource<double> inputs(const TensorMap& drawn) const {
    return firstOf(inputsFrom<double>(given_), inputsFrom<double>(drawn));
  }

 private:
  template <class F>
  TensorMap drawn(size_t index, F activation) const {
    TensorMap result;
    for (Value v : pattern_.inputs()) {
      const std::string& name = pattern_.name(v);
      if (given_.contains(name)) continue;
      Extents extents = *evaluate(pattern_.shape(v), symbols_);
      if (indices_.contains(name)) {
        result.emplace(name, drawInput(seed_ + index, name, extents, indices_));
        continue;
      }
      result.emplace(name, isConstant(pattern_, v) ? weights(index, name, extents) : activation(name, extents));
    }
    return result;
  }

  Tensor<float> weights(size_t index, const std::string& name, const Extents& extents) const {
    Tensor<float> tensor = drawReal(Draw(seed_ + index, name), extents);
    for (float& w : tensor.data)
      w = index % 4 < 2 ? w : std::abs(w);
    return tensor;
  }

  const Program& pattern_;
  const Bindings& symbols_;
  const TensorMap& given_;
  uint64_t seed_;
  std::vector<float> numbers_;
  IndexInputs indices_;
};

/// Magnitudes at which a value inside of either program meets a number there.
std::vector<double> aimedScales(const Program& pattern,
                                const Program& replacement,
                                const Bindings& symbols,
                                const Draws& draws) {
  const TensorMap once = draws.drawOf(1), twice = draws.drawOf(2);
  auto inputsAt = [&](double scale) { return draws.inputs(scale == 1 ? once : twice); };
  std::vector<double> scales = scalesThatMeetNumbers(pattern, symbols, inputsAt);
  std::vector<double> others = scalesThatMeetNumbers(replacement, symbols, inputsAt);
  scales.insert(scales.end(), others.begin(), others.end());
  return scales;
}

/// Multiply-adds, an element counting for many: most operators do little else than move them.
int64_t workOfDraw(const Program& program, const Bindings& symbols) {
  constexpr int64_t kElement = 64;
  int64_t work = multiplyAdds(program, symbols);
  for (const Node& n : program.nodes()) {
    for (const Shape& s : n.shapes)
      work = checkedAdd(work, checkedMul(kElement, elementCount(*evaluate(s, symbols))));
  }
  return work;
}

Comparison compareScalesUnguarded(const Program& pattern,
                                  const Program& replacement,
                                  const Bindings& symbols,
                                  const TensorMap& tensors,
                                  const ScaleOptions& options) {
  if (auto bound = requireBound(pattern, symbols); !bound) return notPossible(bound.error());
  if (auto bound = requireBound(replacement, symbols); !bound) return failureOfReplacement(bound.error());
  const Draws source(pattern, replacement, symbols, tensors, options.seed);
  int64_t work = std::max<int64_t>(1, checkedAdd(workOfDraw(pattern, symbols), workOfDraw(replacement, symbols)));
  const int64_t mixed = std::clamp<int64_t>(options.work / work, 1, options.draws);
  std::vector<double> aimed;
  if (options.work / work >= options.draws) aimed = aimedScales(pattern, replacement, symbols, source);
  const int64_t draws = mixed + static_cast<int64_t>(aimed.size());
  int64_t compared = 0, bounded = 0, lost = 0;
  Comparison result;
  std::string why;
  for (int64_t i = 0; i < draws; ++i) {
    TensorMap drawn =
        i < mixed ? source.draw(static_cast<size_t>(i)) : source.drawOf(aimed[static_cast<size_t>(i - mixed)]);
    auto [one, elements, open] =
        compareElements<double>(pattern, replacement, symbols, source.inputs(drawn), "double", options.spreadsNan);
    if (one.verdict == Verdict::kFails) {
      one.reason = fmt::format("values of all magnitudes, draw {}: {}", i, one.reason);
      return one;
    }
    compared += one.holds();
    bounded += elements;
    lost += open;
    result.worst = std::max(result.worst, one.worst);
    if (why.empty()) why = one.reason;
  }
  result.scope = fmt::format("{} of {} draws of magnitudes to 1e{}, in double", compared, draws, kMost);
  if (lost > 0) result.scope += fmt::format("; {} of {} elements have no bound in the replacement", lost, bounded);
  if (4 * compared >= draws) return result;
  return {Verdict::kNotPossible, fmt::format("{} of {} draws can be compared: {}", compared, draws, why), result.scope,
          0};
}

}  // namespace

Comparison compareScales(const Program& pattern,
                         const Program& replacement,
                         const Bindings& symbols,
                         const TensorMap& tensors,
                         const ScaleOptions& options) {
  return guarded([&] { return compareScalesUnguarded(pattern, replacement, symbols, tensors, options); });
}

}  // namespace pet
