#include "synth/numerics/numerics.h"

#include <algorithm>

#include "ir/denote.h"
#include "rules/numbers.h"
#include "synth/numerics/growth.h"
#include "synth/numerics/intermediates.h"
#include "synth/numerics/zeros.h"

namespace pet {
namespace {

constexpr Numerics kNothingKnown{Numerics::Kind::kUnbounded, 1, true};

template <class Holds>
bool anyNode(const Program& program, const Holds& holds) {
  return std::any_of(program.nodes().begin(), program.nodes().end(), holds);
}

/// Every value is an input, a function's value or the largest of some, moved; or one sum or product of two such values.
/// Two such programs that are equal over the reals round nothing differently. Where values are added, none is negated
/// or zero, so that nothing cancels.
class SingleOperations {
 public:
  explicit SingleOperations(const Program& program) {
    bool mayCancel = anyNode(program, [](const Node& n) { return n.op->fills || n.is(ops::kNeg); });
    bool takesMaxima = anyNode(program, [](const Node& n) { return n.op->meaning == Meaning::kMaximum; });
    // Others need not be monotone where they are rounded, nor commute with factors.
    bool exactOnly = takesMaxima || anyNode(program, [](const Node& n) { return n.is(ops::kMul); });
    for (const Node& n : program.nodes())
      rounded_.push_back(rounds(n, mayCancel, exactOnly));
  }
  bool hold() const { return std::find(rounded_.begin(), rounded_.end(), kOften) == rounded_.end(); }

 private:
  static constexpr int kOften = 2;
  std::vector<int> rounded_;  ///< per node: how often since the last function

  int rounds(const Node& n, bool mayCancel, bool exactOnly) const {
    int most = 0;
    for (Value v : n.operands)
      most = std::max(most, rounded_[static_cast<size_t>(v.node)]);
    const Arithmetic by = n.op->rounding.arithmetic;
    if (n.is(ops::kInput)) return 0;
    if (n.op->meaning == Meaning::kMaximum) return 0;
    if (n.op->meaning == Meaning::kFunction) {
      bool exact = by == Arithmetic::kSelect || n.is(ops::kClip);
      return n.is(ops::kNot) || (exactOnly && !exact) ? kOften : 0;
    }
    // A number may stand for a function's value of another one.
    auto value = n.attributes.find("value");
    if (value != n.attributes.end() && n.number("value") != 0) return kOften;
    if (by == Arithmetic::kMove) return most;
    bool single = !mayCancel && most == 0 && (n.is(ops::kAdd) || n.is(ops::kMul));
    return single ? 1 : kOften;
  }
};

Numerics derived(const poly::Context& context,
                 const Program& pattern,
                 const Program& replacement,
                 const std::vector<double>& anyNumbers) {
  auto from = lower(pattern.withoutDeadNodes()), to = lower(replacement.withoutDeadNodes());
  if (!from || !to) return kNothingKnown;
  *from = withWeightsFor(anyNumbers, *from);
  *to = withWeightsFor(anyNumbers, *to);
  Numerics result{Numerics::Kind::kUnbounded, 1, multipliesByZeros(context, *to)};
  if (SingleOperations(*from).hold() && SingleOperations(*to).hold()) {
    result.kind = Numerics::Kind::kBitEqual;
    return result;
  }
  // Softmax stands for a sum of exponentials, but subtracts the largest first: it does not overflow.
  auto isExponential = [](const Node& n) { return n.op->facts.exponential; };
  bool exposes = anyNode(replacement, isExponential) && !anyNode(pattern, isExponential);
  auto growth = growthOf(*to), onTheWay = intermediateGrowth(context, *from, *to);
  if (exposes || !growth || !onTheWay) return result;
  result.kappa = std::max(*growth, *onTheWay);
  result.kind = result.kappa > 1 ? Numerics::Kind::kConditioned : Numerics::Kind::kSameTerms;
  result.spreadsNan = result.spreadsNan || *growth > 1;  // terms with NaN do not cancel
  return result;
}

}  // namespace

Numerics numericsOf(const poly::Context& context, const Program& pattern, const Program& replacement) {
  try {
    return derived(context, pattern, replacement, {});
  } catch (const OverflowError&) {
    return kNothingKnown;
  }
}

Numerics numericsOf(const poly::Context& context, const Pattern& pattern, const Rule& rule) {
  bool unfolds = std::any_of(rule.proofs.begin(), rule.proofs.end(), [](const Proof& p) {
    return std::any_of(p.unfold.begin(), p.unfold.end(), [](const std::string& op) { return op != kMultiples; });
  });
  if (unfolds) return kNothingKnown;
  try {
    auto source = instantiate(pattern, rule);
    return source ? derived(context, *source, rule.replacement, pattern.anyNumbers) : kNothingKnown;
  } catch (const OverflowError&) {
    return kNothingKnown;
  }
}

}  // namespace pet
