#include "synth/prove/witness.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "ir/work.h"
#include "rules/small_shapes.h"

namespace pet {
namespace {

constexpr size_t kShapesOfDraws = 4;

/// Input tensors by name; the same small integers whatever the values are computed in.
using Inputs = std::map<std::string, Tensor<int64_t>>;

/// Doubles differ if they do by so much of the largest value that occurs, …
constexpr double kBeyondRounding = 1e-6;
/// … and if single precision changes the difference by no more than this part.
constexpr double kStable = 0.25;
/// Integers up to here are exact in a double.
constexpr double kExact = 9e15;

template <class T>
bool hasKernels(const Program& program) {
  return std::all_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.is(ops::kInput) || n.op->kernels.template get<T>() != nullptr; });
}

/// The elements of all values at a shape; nullopt where an extent is negative or has an unknown symbol.
std::optional<int64_t> elementsOf(const Program& program, const Bindings& symbols) {
  int64_t total = 0;
  for (const Node& n : program.nodes()) {
    for (const Shape& s : n.shapes) {
      auto extents = evaluate(s, symbols);
      if (!extents || std::any_of(extents->begin(), extents->end(), [](int64_t e) { return e < 0; }))
        return std::nullopt;
      total = checkedAdd(total, elementCount(*extents));
    }
  }
  return total;
}

// --- Values and whether they differ ---

std::string text(int64_t v) {
  return std::to_string(v);
}

/// The fraction with a small denominator that the element stands for, if there is one: there is at most one.
std::string text(Fp v) {
  constexpr int64_t kLargest = 100'000, kDenominators = 4'096, kPrime = static_cast<int64_t>(Fp::kPrime);
  for (int64_t d = 1; d <= kDenominators; ++d) {
    auto n = static_cast<int64_t>((v * Fp(d)).value());
    if (n > kPrime / 2) n -= kPrime;
    if (std::abs(n) <= kLargest) return d == 1 ? std::to_string(n) : fmt::format("{}/{}", n, d);
  }
  return fmt::format("{} (modulo {})", v.value(), Fp::kPrime);
}

std::string text(double v) {
  return fmt::format("{:.9g}", v + 0.0);  // no -0
}

/// Both programs at one shape, over one domain.
template <class T>
class Pair {
 public:
  Pair(const Program& pattern, const Program& candidate, const Bindings& symbols)
      : pattern_(pattern), candidate_(candidate), symbols_(symbols) {}

  /// The outputs of both; false if one has no value over this domain.
  bool evaluate(const Inputs& inputs) {
    std::map<std::string, Tensor<T>> values;
    for (const auto& [name, x] : inputs)
      values.emplace(name, Tensor<T>(x.extents, std::vector<T>(x.data.begin(), x.data.end())));
    auto a = pet::evaluate<T>(pattern_, symbols_, values), b = pet::evaluate<T>(candidate_, symbols_, values);
    if (!a || !b || (*a)[0].extents != (*b)[0].extents) return false;
    a_ = std::move(*a);
    b_ = std::move(*b);
    return true;
  }

  const Tensor<T>& pattern() const { return a_[0]; }
  const Tensor<T>& candidate() const { return b_[0]; }
  T pattern(size_t i) const { return a_[0].data[i]; }
  T candidate(size_t i) const { return b_[0].data[i]; }

  /// The largest magnitude among all results, of inner values too where the programs return them; NaN if one is NaN.
  double magnitude() const {
    double most = 0;
    for (const auto* results : {&a_, &b_}) {
      for (const Tensor<T>& t : *results) {
        for (T v : t.data) {
          if (std::isnan(v)) return v;
          most = std::max(most, static_cast<double>(std::abs(v)));
        }
      }
    }
    return most;
  }

 private:
  const Program &pattern_, &candidate_;
  const Bindings& symbols_;
  std::vector<Tensor<T>> a_, b_;
};

/// The same program, returning every value after its output.
Program withAllValues(const Program& program) {
  std::vector<Value> all = program.outputs();
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    for (size_t k = 0; k < program.nodes()[i].shapes.size(); ++k)
      all.push_back({static_cast<int>(i), static_cast<int>(k)});
  }
  return ProgramBuilder(program).finish(std::move(all));
}

/// Where two programs differ at one shape.
template <class T>
class Differences {
 public:
  Differences(const Program& pattern, const Program& candidate, const Bindings& symbols)
      : values_(pattern, candidate, symbols) {}

  bool evaluate(const Inputs& inputs) { return values_.evaluate(inputs); }
  size_t size() const { return values_.pattern().data.size(); }
  const Extents& extents() const { return values_.pattern().extents; }
  bool at(size_t i) const { return !(values_.pattern(i) == values_.candidate(i)); }
  std::string patternText(size_t i) const { return text(values_.pattern(i)); }
  std::string candidateText(size_t i) const { return text(values_.candidate(i)); }

 private:
  Pair<T> values_;
};

/// Integers wrap; what doubles confirm has not.
template <>
class Differences<int64_t> {
 public:
  Differences(const Program& pattern, const Program& candidate, const Bindings& symbols)
      : values_(pattern, candidate, symbols), doubles_(pattern, candidate, symbols) {}

  bool evaluate(const Inputs& inputs) { return values_.evaluate(inputs) && doubles_.evaluate(inputs); }
  size_t size() const { return values_.pattern().data.size(); }
  const Extents& extents() const { return values_.pattern().extents; }
  bool at(size_t i) const {
    return values_.pattern(i) != values_.candidate(i) && exact(values_.pattern(i), doubles_.pattern(i)) &&
           exact(values_.candidate(i), doubles_.candidate(i));
  }
  std::string patternText(size_t i) const { return text(values_.pattern(i)); }
  std::string candidateText(size_t i) const { return text(values_.candidate(i)); }

 private:
  static bool exact(int64_t v, double d) { return std::abs(d) < kExact && static_cast<double>(v) == d; }
  Pair<int64_t> values_;
  Pair<double> doubles_;
};

/// A difference of doubles counts if no rounding explains it.
template <>
class Differences<double> {
 public:
  Differences(const Program& pattern, const Program& candidate, const Bindings& symbols)
      : pattern_(withAllValues(pattern)),
        candidate_(withAllValues(candidate)),
        values_(pattern_, candidate_, symbols),
        floats_(pattern, candidate, symbols) {}

  bool evaluate(const Inputs& inputs) {
    if (!values_.evaluate(inputs) || !floats_.evaluate(inputs)) return false;
    magnitude_ = values_.magnitude();
    return std::isfinite(magnitude_);
  }
  size_t size() const { return values_.pattern().data.size(); }
  const Extents& extents() const { return values_.pattern().extents; }
  bool at(size_t i) const {
    double a = values_.pattern(i), b = values_.candidate(i), difference = std::abs(a - b);
    double moved = std::abs(floats_.pattern(i) - a) + std::abs(floats_.candidate(i) - b);
    return difference > kBeyondRounding * std::max(1.0, magnitude_) && moved < kStable * difference;
  }
  std::string patternText(size_t i) const { return text(values_.pattern(i)); }
  std::string candidateText(size_t i) const { return text(values_.candidate(i)); }

 private:
  Program pattern_, candidate_;
  Pair<double> values_;
  Pair<float> floats_;
  double magnitude_ = 0;
};

// --- The search over one domain ---

std::vector<int64_t> positionOf(size_t offset, const Extents& extents) {
  std::vector<int64_t> position(extents.size());
  auto rest = static_cast<int64_t>(offset);
  for (size_t i = extents.size(); i-- > 0;) {
    position[i] = rest % extents[i];
    rest /= extents[i];
  }
  return position;
}

/// Small integers; the second draw has positive ones only, for functions that need them.
Inputs draw(const Program& program, const Bindings& symbols, uint64_t seed, int round) {
  std::mt19937_64 random(seed + static_cast<uint64_t>(round));
  Inputs inputs;
  for (Value v : program.inputs()) {
    Tensor<int64_t> x(*evaluate(program.shape(v), symbols));
    for (int64_t& e : x.data)
      e = round == 0 ? static_cast<int64_t>(random() % 7) - 3 : static_cast<int64_t>(random() % 5) + 1;
    inputs.emplace(program.name(v), std::move(x));
  }
  return inputs;
}

template <class T>
class WitnessFinder {
 public:
  WitnessFinder(const Program& pattern, const Program& candidate, uint64_t seed)
      : pattern_(pattern), candidate_(candidate), seed_(seed) {}

  /// A witness at this shape; `valued` says whether both programs had a value.
  std::optional<Witness> at(const Bindings& symbols, bool& valued) const {
    Differences<T> differences(pattern_, candidate_, symbols);
    for (int round = 0; round < 2; ++round) {
      Inputs inputs = draw(pattern_, symbols, seed_, round);
      if (!differences.evaluate(inputs)) continue;
      valued = true;
      for (size_t i = 0; i < differences.size(); ++i) {
        if (!differences.at(i)) continue;
        simplify(inputs, differences, i);
        return witness(symbols, inputs, differences, i);
      }
    }
    return std::nullopt;
  }

 private:
  /// As many zeros as possible, in halves; then ones.
  static void simplify(Inputs& inputs, Differences<T>& differences, size_t position) {
    auto holds = [&] { return differences.evaluate(inputs) && differences.at(position); };
    for (auto& [name, x] : inputs)
      clear(x.data, 0, x.data.size(), holds);
    for (auto& [name, x] : inputs) {
      for (int64_t& e : x.data) {
        if (e == 0 || e == 1) continue;
        int64_t old = std::exchange(e, 1);
        if (!holds()) e = old;
      }
    }
  }

  template <class Holds>
  static void clear(std::vector<int64_t>& data, size_t begin, size_t end, const Holds& holds) {
    auto first = data.begin() + static_cast<std::ptrdiff_t>(begin),
         last = data.begin() + static_cast<std::ptrdiff_t>(end);
    if (std::all_of(first, last, [](int64_t e) { return e == 0; })) return;
    std::vector<int64_t> old(first, last);
    std::fill(first, last, 0);
    if (holds()) return;
    std::copy(old.begin(), old.end(), first);
    if (end - begin < 2) return;
    size_t middle = begin + (end - begin) / 2;
    clear(data, begin, middle, holds);
    clear(data, middle, end, holds);
  }

  Witness witness(const Bindings& symbols, const Inputs& inputs, Differences<T>& differences, size_t position) const {
    differences.evaluate(inputs);
    Witness w;
    w.output = pattern_.name(pattern_.outputs()[0]);
    w.symbols = symbols;
    w.patternExtents = w.candidateExtents = differences.extents();
    for (Value v : pattern_.inputs())
      w.inputs.emplace_back(pattern_.name(v), inputs.at(pattern_.name(v)));
    w.position = positionOf(position, differences.extents());
    w.patternValue = differences.patternText(position);
    w.candidateValue = differences.candidateText(position);
    return w;
  }

  const Program &pattern_, &candidate_;
  uint64_t seed_;
};

/// Nullopt if the programs have no values over T.
template <class T>
std::optional<WitnessSearch> searchOver(const std::vector<Bindings>& shapes,
                                        const Program& pattern,
                                        const Program& candidate,
                                        const WitnessOptions& options) {
  if (!hasKernels<T>(pattern) || !hasKernels<T>(candidate)) return std::nullopt;
  WitnessFinder<T> search(pattern, candidate, options.seed);
  WitnessSearch result;
  for (const Bindings& symbols : shapes) {
    bool valued = false;
    result.witness = search.at(symbols, valued);
    result.shapes += valued;
    if (result.witness) return result;
  }
  return result.shapes > 0 ? std::optional(result) : std::nullopt;
}

}  // namespace

std::string shapeText(const Bindings& symbols) {
  std::vector<std::string> values;
  for (const auto& [name, value] : symbols)
    values.push_back(fmt::format("{} = {}", name, value));
  return values.empty() ? "the only shape" : fmt::format("{}", fmt::join(values, ", "));
}

std::vector<Bindings> witnessShapes(const ShapeClass& shapes,
                                    const Program& pattern,
                                    const Program& candidate,
                                    const WitnessOptions& options) {
  std::map<Bindings, int64_t> sizes;
  auto accepts = [&](const Bindings& symbols) {
    try {
      auto a = elementsOf(pattern, symbols), b = elementsOf(candidate, symbols);
      if (!a || !b || *a + *b > options.elements) return false;
      for (const Program* p : {&pattern, &candidate}) {
        auto work = workOf(*p, symbols);
        if (!work || *work > options.work) return false;
      }
      sizes[symbols] = *a + *b;
      return true;
    } catch (const OverflowError&) {
      return false;
    }
  };
  std::vector<Bindings> members = smallShapes(shapes, options.shapes, options.seed, accepts).members;
  std::sort(members.begin(), members.end(),
            [&](const Bindings& a, const Bindings& b) { return std::pair(sizes[a], a) < std::pair(sizes[b], b); });
  return members;
}

std::optional<Witness> findExtents(const std::vector<Bindings>& shapes,
                                   const Program& pattern,
                                   const Program& candidate) {
  for (const Bindings& symbols : shapes) {
    auto a = evaluate(pattern.shape(pattern.outputs()[0]), symbols);
    auto b = evaluate(candidate.shape(candidate.outputs()[0]), symbols);
    if (!a || !b || *a == *b) continue;
    Witness w;
    w.output = pattern.name(pattern.outputs()[0]);
    w.symbols = symbols;
    w.patternExtents = *a;
    w.candidateExtents = *b;
    return w;
  }
  return std::nullopt;
}

namespace {

WitnessSearch findWitnessOfOneDraw(const std::vector<Bindings>& shapes,
                                   const Program& pattern,
                                   const Program& candidate,
                                   const WitnessOptions& options) {
  if (auto found = searchOver<int64_t>(shapes, pattern, candidate, options)) return *found;
  if (auto found = searchOver<Fp>(shapes, pattern, candidate, options)) return *found;
  if (auto found = searchOver<double>(shapes, pattern, candidate, options)) return *found;
  return {};
}

}  // namespace

WitnessSearch findWitness(const std::vector<Bindings>& shapes,
                          const Program& pattern,
                          const Program& candidate,
                          const WitnessOptions& options) {
  WitnessSearch result = findWitnessOfOneDraw(shapes, pattern, candidate, options);
  const size_t smallest = std::min(kShapesOfDraws, shapes.size());
  const std::vector<Bindings> few(shapes.begin(), shapes.begin() + static_cast<std::ptrdiff_t>(smallest));
  WitnessOptions other = options;
  for (uint64_t draw = 1; !result.witness && result.shapes > 0 && draw <= options.draws; ++draw) {
    other.seed = options.seed + draw;
    result.witness = findWitnessOfOneDraw(few, pattern, candidate, other).witness;
  }
  return result;
}

}  // namespace pet
