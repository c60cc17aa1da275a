#include "synth/numerics/numerics.h"

#include <algorithm>

#include "ir/denote.h"
#include "rules/numbers.h"
#include "synth/numerics/growth.h"
#include "synth/numerics/intermediates.h"
#include "synth/numerics/relative.h"
#include "synth/numerics/zeros.h"

namespace pet {
namespace {

constexpr Numerics kNothingKnown{Numerics::Kind::kUnbounded, 1, false, true};

template <class Holds>
bool anyNode(const Program& program, const Holds& holds) {
  return std::any_of(program.nodes().begin(), program.nodes().end(), holds);
}

/// A function that jumps: where it does, what rounds its operand may make it another value.
bool jumps(const Node& n) {
  return n.is(ops::kNot) || n.is(ops::kFloor) || n.is(ops::kCeil) || n.is(ops::kMod);
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
      return jumps(n) || (exactOnly && !exact) ? kOften : 0;
    }
    // A number may stand for a function's value of another one.
    auto value = n.attributes.find("value");
    if (value != n.attributes.end() && n.number("value") != 0) return kOften;
    if (by == Arithmetic::kMove) return most;
    bool single = !mayCancel && most == 0 && (n.is(ops::kAdd) || n.is(ops::kMul));
    return single ? 1 : kOften;
  }
};

/// How far a value is known: as it is; its sign; or it is rounded.
enum class Known { kItself, kSign, kRounded };

/// Whether functions that jump are taken of no value that rounding may move to the other side: of what is given, moved
/// and chosen, and Not also of differences of such values, of which the sign is exact.
bool conditionsAreExact(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  std::vector<Known> known;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    Known of = Known::kItself;
    for (Value v : n.operands)
      of = std::max(of, known[static_cast<size_t>(v.node)]);
    const Arithmetic by = n.op->rounding.arithmetic;
    const bool isDifference = n.is(ops::kAdd) || n.is(ops::kSub);
    const bool chooses = by == Arithmetic::kMove || by == Arithmetic::kSelect || n.op->meaning == Meaning::kMaximum;
    if (jumps(n) && of > (n.is(ops::kNot) ? Known::kSign : Known::kItself)) return false;
    if (n.is(ops::kInput) || jumps(n) || constant[i]) {
      known.push_back(Known::kItself);
    } else if (chooses) {
      known.push_back(of);
    } else {
      known.push_back(isDifference && of == Known::kItself ? Known::kSign : Known::kRounded);
    }
  }
  return true;
}

Numerics derived(const poly::Context& context,
                 const Program& pattern,
                 const Program& replacement,
                 const std::vector<double>& anyNumbers) {
  auto from = lower(pattern.withoutDeadNodes()), to = lower(replacement.withoutDeadNodes());
  if (!from || !to) return kNothingKnown;
  *from = withWeightsFor(anyNumbers, *from);
  *to = withWeightsFor(anyNumbers, *to);
  Numerics result{Numerics::Kind::kUnbounded, 1, false, multipliesByZeros(context, *to)};
  // A function that stands for others is computed by itself: Pow is no product of roots.
  auto isByItself = [](const Node& n) { return n.op->lower && n.op->facts.elementwise; };
  const bool isComposed = anyNode(pattern, isByItself) || anyNode(replacement, isByItself);
  if (!isComposed && SingleOperations(*from).hold() && SingleOperations(*to).hold()) {
    result.kind = Numerics::Kind::kBitEqual;
    return result;
  }
  // Softmax stands for a sum of exponentials, but subtracts the largest first: it does not overflow.
  auto isExponential = [](const Node& n) { return n.op->facts.exponential || n.is(ops::kExponential); };
  bool exposes = anyNode(replacement, isExponential) && !anyNode(pattern, isExponential);
  if (!conditionsAreExact(*from) || !conditionsAreExact(*to)) return result;
  auto growth = growthOf(*to), onTheWay = intermediateGrowth(context, *from, *to);
  if (exposes || !growth || !onTheWay) return result;
  result.kappa = std::max(*growth, *onTheWay);
  result.kind = result.kappa > 1 ? Numerics::Kind::kConditioned : Numerics::Kind::kSameTerms;
  result.spreadsNan = result.spreadsNan || *growth > 1;  // terms with NaN do not cancel
  return result;
}

/// What the proofs unfold besides multiples, which are equal terms.
Unfold unfoldedBy(const Rule& rule) {
  Unfold all;
  for (const Proof& p : rule.proofs)
    all.insert(p.unfold.begin(), p.unfold.end());
  all.erase(std::string(kMultiples));
  return all;
}

/// What is unfolded stands for definitions, and no laws take anything apart; in those of this program nothing cancels.
/// What an operator computes is rounded no more often than the one term of its definition. A Relu by a condition is
/// that term.
bool unfoldsWithoutCancelling(const Program& program, const Unfold& unfold) {
  auto neverCancels = [](const std::string& name) {
    return name == kPositive || name == kNegative || (findOp(name) && findOp(name)->neverCancels);
  };
  return std::all_of(unfold.begin(), unfold.end(), neverCancels) && !anyNode(program, [&](const Node& n) {
           return unfold.contains(n.op->name) && !n.op->neverCancels({n.attributes, {}, n.shapes});
         });
}

/// The program with what is unfolded by its definitions; nullopt: terms of these may cancel.
std::optional<Program> unfolded(const Program& program, const Unfold& unfold) {
  auto primitive = lower(program);
  if (!primitive || !unfoldsWithoutCancelling(*primitive, unfold)) return std::nullopt;
  auto defined = lower(*primitive, unfold);
  return defined ? std::optional(std::move(*defined)) : std::nullopt;
}

/// Of a replacement that is nearly exact by itself, whatever the pattern computes. It may read more than the pattern.
Numerics byItself(const Program& replacement) {
  auto error = relativeErrorOf(replacement.withoutDeadNodes());
  return error ? Numerics{Numerics::Kind::kConditioned, error->units, error->ofOne, true} : kNothingKnown;
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
  try {
    auto source = instantiate(pattern, rule);
    if (!source) return kNothingKnown;
    const Unfold unfold = unfoldedBy(rule);
    if (unfold.empty()) return derived(context, *source, rule.replacement, pattern.anyNumbers);
    auto from = unfolded(*source, unfold), to = unfolded(rule.replacement, unfold);
    if (from && to) return derived(context, *from, *to, pattern.anyNumbers);
    return pattern.anyNumbers.empty() ? byItself(rule.replacement) : kNothingKnown;  // its ranges are of one value
  } catch (const OverflowError&) {
    return kNothingKnown;
  }
}

}  // namespace pet
