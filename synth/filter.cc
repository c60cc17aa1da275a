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
  if (!ya || !yb || (*ya)[0].extents != (*yb)[0].extents || (*ya)[0].data.empty()) return std::nullopt;
  size_t equal = 0;
  for (size_t i = 0; i < (*ya)[0].data.size(); ++i)
    equal += (*ya)[0].data[i] == (*yb)[0].data[i];
  return static_cast<double>(equal) / static_cast<double>((*ya)[0].data.size());
}

}  // namespace

std::optional<Fate> filter(const poly::Context& context, const Mutant& m) {
  auto op = analyse(m.source);
  auto small = op ? compactShape(context, *op, kFilterExtent) : std::nullopt;
  if (!small) return Fate::kEmptyClass;
  bool cheap = false;
  for (int64_t extent : kCostExtents) {
    auto shape = typicalShape(context, *op, extent);
    auto before = arithmetic(m.source, *shape), after = arithmetic(m.program, *shape);
    cheap = cheap || (before && after && *after <= kCostFactor * *before);
  }
  if (!cheap) return Fate::kCost;
  auto share = agreement(m.source, m.program, *small);
  if (!share || *share < 0.5) return Fate::kFingerprint;
  return std::nullopt;
}

}  // namespace pet
