#include "synth/filter.h"

#include "ir/evaluate.h"
#include "synth/cost.h"
#include "synth/shapes.h"

namespace pet {
namespace {

/// A mutant is dropped when it computes more than this many times the pattern's arithmetic at every shape tried.
constexpr double kCostFactor = 8;
constexpr int64_t kCostExtents[] = {4, 48};
/// Extent of the concrete shape for the filter: a few windows per tile.
constexpr int64_t kFilterExtent = 9;
/// Where all extents are about equal.
constexpr int64_t kSmallExtent = 5;

/// splitmix64, for operands that depend on nothing but their place.
uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Share of output positions at which two programs agree over F_p for random operands (PET, section 5.1, Theorem 2).
std::optional<double> agreement(const Program& a, const Program& b, const Bindings& symbols) {
  std::map<std::string, Tensor<Fp>> inputs;
  for (Value v : a.inputs()) {
    auto extents = evaluate(a.shape(v), symbols);
    if (!extents) return std::nullopt;
    Tensor<Fp> t(*extents);
    for (size_t i = 0; i < t.data.size(); ++i) {
      t.data[i] = Fp(static_cast<int64_t>(mix(mix(static_cast<uint64_t>(v.node)) + i) % Fp::kPrime));
    }
    inputs.emplace(a.name(v), std::move(t));
  }
  auto ya = evaluate<Fp>(a, symbols, inputs), yb = evaluate<Fp>(b, symbols, inputs);
  if (!ya || !yb || ya->size() != yb->size()) return std::nullopt;
  size_t equal = 0, all = 0;
  for (size_t o = 0; o < ya->size(); ++o) {
    const Tensor<Fp>&ta = (*ya)[o], &tb = (*yb)[o];
    if (ta.extents != tb.extents || ta.data.empty()) return std::nullopt;
    all += ta.data.size();
    for (size_t i = 0; i < ta.data.size(); ++i)
      equal += ta.data[i] == tb.data[i];
  }
  return static_cast<double>(equal) / static_cast<double>(all);
}

}  // namespace

std::optional<Fate> filter(const poly::Context& context, const Program& source, const Program& candidate) {
  auto op = analyse(source);
  auto typical = [&](int64_t extent) {
    return op ? typicalShape(context, *op, extent) : typicalShape(context, source, extent);
  };
  auto small = op ? compactShape(context, *op, kFilterExtent) : typical(kSmallExtent);
  if (!small) return Fate::kEmptyClass;
  bool cheap = false;
  for (int64_t extent : kCostExtents) {
    auto shape = typical(extent);
    if (!shape) return Fate::kEmptyClass;
    auto before = arithmetic(source, *shape), after = arithmetic(candidate, *shape);
    cheap = cheap || (before && after && *after <= kCostFactor * *before);
  }
  if (!cheap) return Fate::kCost;
  auto share = agreement(source, candidate, *small);
  if (!share || *share < 0.5) return Fate::kFingerprint;
  return std::nullopt;
}

}  // namespace pet
