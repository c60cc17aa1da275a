#include "applier/choose/whole_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "applier/view/element_types.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"
#include "runtime/rounding.h"

namespace pet {
namespace {

constexpr double kMostOfInt32 = std::numeric_limits<int32_t>::max();

double magnitudeOf(const Constant& constant) {
  double largest = 0;
  for (int64_t x : constant.values<int64_t>().data)
    largest = std::max(largest, std::abs(static_cast<double>(x)));
  return largest;
}

double magnitudeOf(ElementType element) {
  return element == ElementType::kInt8 ? 128 : element == ElementType::kUint8 ? 255 : 0x1p31;
}

/// How large the numbers of a view may be: the model's constants as they are, or as their types allow, which is known
/// without a look at them.
class Magnitudes {
 public:
  enum class Constants { kAsTypesAllow, kAsTheyAre };
  Magnitudes(const MatchIndex& index, const Bindings& sizes, Constants how)
      : index_(index), sizes_(sizes), constants_(index.view()), exact_(how == Constants::kAsTheyAre) {}

  double of(Value v) {
    if (auto known = known_.find(v.node); known != known_.end()) return known->second;
    const double magnitude = compute(v);
    return known_[v.node] = magnitude;
  }

 private:
  double compute(Value v) {
    const View& view = index_.view();
    const Node& n = view.program.node(v);
    if (exact_ && index_.isConstant(v)) {
      auto constant = constants_.value(v);
      return constant ? magnitudeOf(*constant) : std::numeric_limits<double>::infinity();
    }
    const ElementType element = view.elements[static_cast<size_t>(v.node)];
    if (n.is(ops::kInput)) return magnitudeOf(element);
    if (isCentring(view, v.node)) return centred(n);
    std::vector<double> operands;
    for (Value o : n.operands)
      operands.push_back(of(o));
    return largestOf(view.program, n, sizes_, operands).result;
  }

  /// 8 bits less a zero point of 8 bits.
  double centred(const Node& n) {
    const auto element = index_.view().elements[static_cast<size_t>(n.operands[0].node)];
    auto zeros = index_.isConstant(n.operands[1]) ? constants_.value(n.operands[1]) : Expected<Constant>(Constant());
    if (!zeros || !zeros->bytes) return 255;
    const int64_t least = element == ElementType::kInt8 ? -128 : 0;
    int64_t largest = 0;
    for (int64_t z : zeros->values<int64_t>().data)
      largest = std::max({largest, z - least, least + 255 - z});
    return static_cast<double>(largest);
  }

  const MatchIndex& index_;
  const Bindings& sizes_;
  ConstantEvaluator constants_;
  bool exact_;
  std::map<int, double> known_;
};

/// What each of the replacement's inputs stands for.
std::vector<Value> operandsOf(const Rewrite& r) {
  std::vector<Value> operands;
  for (Value v : r.replacement.inputs())
    operands.push_back(r.site.operand(r.replacement.name(v)));
  return operands;
}

double largestSumOf(const MatchIndex& index, const Rewrite& r, const Bindings& sizes, Magnitudes::Constants how) {
  Magnitudes magnitudes(index, sizes, how);
  std::map<std::string, double> bounds;
  const std::vector<Value> inputs = r.replacement.inputs(), operands = operandsOf(r);
  for (size_t i = 0; i < inputs.size(); ++i)
    bounds[r.replacement.name(inputs[i])] = magnitudes.of(operands[i]);
  return largestSum(r.replacement, sizes, bounds);
}

/// Numbers for the extents that are left open: two choices. Extents are sums of multiples of symbols. One that is the
/// same number for both has no symbol, for these differences are large primes.
std::vector<Bindings> choicesOfSizes(const View& view) {
  static constexpr int64_t kPrimes[] = {1'000'003, 1'299'709, 1'500'007, 1'700'021, 2'000'003};
  std::vector<Bindings> choices(2);
  int64_t count = 0;
  for (const std::string& symbol : symbolsOf(view)) {
    choices[0].emplace(symbol, 48);
    choices[1].emplace(symbol, 48 + kPrimes[count % std::ssize(kPrimes)] + 2 * 48 * (count / std::ssize(kPrimes)));
    ++count;
  }
  if (choices[0].empty()) choices.pop_back();
  return choices;
}

std::optional<std::string> whyNotExactUnguarded(const MatchIndex& index, const Rewrite& r) {
  std::optional<double> known;
  for (const Bindings& sizes : choicesOfSizes(index.view())) {
    auto whole = wholeScales(r.replacement, sizes);
    if (!whole) return whole.error().what;
    if (std::any_of(whole->begin(), whole->end(), [](const auto& scale) { return scale.second != 1; }))
      return "it divides integers";
    double largest = largestSumOf(index, r, sizes, Magnitudes::Constants::kAsTypesAllow);
    if (known && *known != largest) return "a sum of integers is as long as an extent that the model leaves open";
    known = largest;
    if (largest > kMostOfInt32) largest = largestSumOf(index, r, sizes, Magnitudes::Constants::kAsTheyAre);
    if (largest > kMostOfInt32) return fmt::format("sums of integers up to {:.0f} would be beyond int32", largest);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> whyNotTyped(const MatchIndex& index, const Rewrite& r) {
  const std::vector<ElementType>& elements = index.view().elements;
  std::vector<OperandType> inputs;
  for (Value v : operandsOf(r))
    inputs.push_back({elements[static_cast<size_t>(v.node)], index.isConstant(v)});
  std::vector<ElementType> results;
  for (Value v : r.site.outputs)
    results.push_back(elements[static_cast<size_t>(v.node)]);
  return whyNotOf(r.replacement, inputs, results);
}

std::optional<std::string> whyNotExact(const MatchIndex& index, const Rewrite& r) {
  const auto& nodes = r.replacement.nodes();
  auto moves = [](const Node& n) { return n.is(ops::kInput) || movesValues(*n.op); };
  if (std::all_of(nodes.begin(), nodes.end(), moves)) return std::nullopt;
  try {
    return whyNotExactUnguarded(index, r);
  } catch (const OverflowError&) {
    return "extents beyond 64 bits";
  }
}

}  // namespace pet
