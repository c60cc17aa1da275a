#include "synth/judge/filter.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "ir/work.h"
#include "rules/small_shapes.h"
#include "synth/analysis/in_full.h"
#include "synth/analysis/typical_shape.h"

namespace pet {
namespace {

/// A mutant is dropped when it computes more than this many times the pattern's arithmetic at every shape tried.
constexpr double kCostFactor = 8;
constexpr int64_t kCostExtents[] = {4, 48, 512};
/// Extent of the concrete shape for the filter: a few windows per tile.
constexpr int64_t kFilterExtent = 9;
/// Where all extents are about equal.
constexpr int64_t kSmallExtent = 5;
/// Doubles that differ by less, relative to their size, agree.
constexpr double kResolution = 1e-6;
constexpr double kLeastAgreement = 0.5;
/// Shapes at which it is asked whether a candidate saves.
constexpr size_t kCostShapes = 60;
/// Arithmetic of a candidate whose kernels differ, as a multiple of the pattern's.
constexpr double kNotMuchMore = 2;

/// splitmix64, for operands that depend on nothing but their place.
uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// A random element from 64 bits.
Fp elementOf(uint64_t bits, Fp) {
  return {static_cast<int64_t>(bits % Fp::kPrime)};
}
double elementOf(uint64_t bits, double) {
  return 0.5 + static_cast<double>(bits >> 11) * 0x1p-53;  // positive, as a variance or a divisor has to be
}

bool agree(Fp a, Fp b) {
  return a == b;
}
bool agree(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= kResolution * (std::abs(a) + std::abs(b));
}

template <class T>
std::optional<std::map<std::string, Tensor<T>>> randomInputs(const Program& program, const Bindings& symbols) {
  std::map<std::string, Tensor<T>> inputs;
  for (Value v : program.inputs()) {
    auto extents = evaluate(program.shape(v), symbols);
    if (!extents) return std::nullopt;
    Tensor<T> t(*extents);
    for (size_t i = 0; i < t.data.size(); ++i)
      t.data[i] = elementOf(mix(mix(static_cast<uint64_t>(v.node)) + i), T());
    inputs.emplace(program.name(v), std::move(t));
  }
  return inputs;
}

template <class T>
std::optional<double> agreementIn(const Program& a, const Program& b, const Bindings& symbols) {
  auto inputs = randomInputs<T>(a, symbols);
  if (!inputs) return std::nullopt;
  auto ya = evaluate<T>(a, symbols, *inputs), yb = evaluate<T>(b, symbols, *inputs);
  if (!ya || !yb || ya->size() != yb->size()) return std::nullopt;
  size_t equal = 0, all = 0;
  for (size_t o = 0; o < ya->size(); ++o) {
    const Tensor<T>&ta = (*ya)[o], &tb = (*yb)[o];
    if (ta.extents != tb.extents || ta.data.empty()) return std::nullopt;
    all += ta.data.size();
    for (size_t i = 0; i < ta.data.size(); ++i)
      equal += agree(ta.data[i], tb.data[i]);
  }
  return static_cast<double>(equal) / static_cast<double>(all);
}

/// A small shape of the class, at which windows slide a few times.
std::optional<Bindings> smallShape(const poly::Context& context, const PatternInstance& source) {
  if (source.main) return compactShape(context, *source.main, kFilterExtent);
  return typicalShape(context, source.program, kSmallExtent);
}

std::optional<Bindings> usualShape(const poly::Context& context, const PatternInstance& source, int64_t extent) {
  if (source.main) return typicalShape(context, *source.main, extent);
  return typicalShape(context, source.program, extent);
}

/// The operators that compute, with the rank of what they read: a layout moves, and engines fuse a channel's bias.
/// `withWeights`: with the shapes of their weights, too.
std::multiset<std::string> computing(const Program& p, bool withWeights) {
  std::multiset<std::string> result;
  for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i) {
    const Node& n = p.nodes()[static_cast<size_t>(i)];
    if (n.is(ops::kInput) || n.op->layout || isConstant(p, {i, 0})) continue;
    bool bias =
        n.is(ops::kAdd) && std::any_of(n.operands.begin(), n.operands.end(), [&](Value v) { return isConstant(p, v); });
    if (bias) continue;
    std::string text = fmt::format("{} {}", n.op->name, p.shape(n.operands[0]).size());
    for (Value v : n.operands) {
      if (withWeights && isConstant(p, v)) text += " " + str(p.shape(v));
    }
    result.insert(std::move(text));
  }
  return result;
}

}  // namespace

std::optional<Drop> tooExpensive(const poly::Context& context,
                                 const PatternInstance& source,
                                 const Program& candidate) {
  const Program whole = inFull(source.program);
  for (int64_t extent : kCostExtents) {
    auto shape = usualShape(context, source, extent);
    if (!shape) return Drop{DropReason::kEmptyClass, ""};
    auto before = workOf(whole, *shape), after = workOf(candidate, *shape);
    if (before && after && *after <= kCostFactor * *before) return std::nullopt;
  }
  return Drop{DropReason::kCost, "computes much more at all shapes tried"};
}

bool maySave(const ShapeClass& shapes, const Program& source, const Program& candidate) {
  auto lacks = [&](bool withWeights) {
    const auto before = computing(source, withWeights), after = computing(candidate, withWeights);
    return !std::includes(after.begin(), after.end(), before.begin(), before.end());
  };
  if (lacks(false)) return true;
  // What only moves may be moved by other operators.
  if (computing(source, false).empty() && computing(candidate, false).empty()) return true;
  double factor = lacks(true) ? kNotMuchMore : 1;
  auto pays = [&](const Bindings& at) {
    auto before = workOf(source, at), after = workOf(candidate, at);
    return before && after && *after < factor * *before;
  };
  auto tried = smallShapes(shapes, kCostShapes, 1, [](const Bindings&) { return true; });
  return std::any_of(tried.members.begin(), tried.members.end(), pays);
}

std::optional<double> agreement(const Program& a, const Program& b, const Bindings& symbols) {
  auto share = agreementIn<Fp>(a, b, symbols);
  return share ? share : agreementIn<double>(a, b, symbols);
}

std::optional<Drop> differs(const poly::Context& context, const PatternInstance& source, const Program& candidate) {
  auto small = smallShape(context, source);
  if (!small) return Drop{DropReason::kEmptyClass, ""};
  auto share = agreement(source.program, candidate, *small);
  if (share && *share >= kLeastAgreement) return std::nullopt;
  return Drop{DropReason::kFingerprint, ""};
}

}  // namespace pet
