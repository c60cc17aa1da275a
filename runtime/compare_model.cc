// Whole models, original against rewritten.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "runtime/compare.h"
#include "runtime/difference.h"
#include "runtime/draw.h"
#include "runtime/elements.h"

namespace pet {

using Verdict = Comparison::Verdict;

namespace {

/// Of an output: what is compared with what is allowed.
struct OutputError {
  double is = 0, allowed = 0;
  bool isAllowed() const { return is <= allowed; }
  double inUnits() const { return is > 0 ? is / allowed : 0; }
};

/// In float, every result rounded to the model's precision.
Expected<std::vector<TensorRef<float>>> executeRounded(const ModelProgram& model,
                                                       const Bindings& symbols,
                                                       const InputSource<float>& inputs,
                                                       const ExecuteOptions& options) {
  if (!model.round) return execute<float>(model.program, symbols, inputs, options);
  NodeEvaluator<float> evaluator = [&](int node, const std::vector<const Tensor<float>*>& operands) {
    auto results = evaluateNode(model.program, node, symbols, operands);
    for (size_t i = 0; results && i < results->size(); ++i)
      model.round(node, (*results)[i]);
    return results;
  };
  return executeWith<float>(model.program, symbols, inputs, evaluator, options);
}

/// The largest difference where not both are infinite, or no numbers, alike.
double differenceOfNumbers(const Tensor<float>& a, const Tensor<float>& b) {
  const float *left = a.data.data(), *right = b.data.data();
  return largestOf(b.data.size(), [=](size_t i) {
    const bool alike = left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]));
    return alike ? 0 : std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
  });
}

double largestFinite(const Tensor<float>& t) {
  const float* values = t.data.data();
  return largestOf(t.data.size(),
                   [=](size_t i) { return std::isfinite(values[i]) ? std::abs(static_cast<double>(values[i])) : 0; });
}

/// How many times as large as each part's own error the whole model's may be, as far as these are allowed.
constexpr double kMostAmplified = 49;

/// Operators of numbers whose value jumps where rounding turns a comparison, or passes a whole number.
bool jumps(const Node& n) {
  return n.is(ops::kGreater) || n.is(ops::kArgMax) || n.is(ops::kFloor) || n.is(ops::kCeil) || n.is(ops::kMod);
}

/// Nodes that depend on what jumps.
std::vector<bool> jumpingNodes(const Program& program) {
  std::vector<bool> jump;
  for (const Node& n : program.nodes()) {
    jump.push_back(jumps(n) || std::any_of(n.operands.begin(), n.operands.end(),
                                           [&](Value v) { return jump[static_cast<size_t>(v.node)]; }));
  }
  return jump;
}

/// Where so few of an output's elements are off, values may have jumped.
constexpr size_t kFewElements = 64;

/// Two models on the same inputs.
class ModelComparison {
 public:
  ModelComparison(const ModelProgram& original,
                  const ModelProgram& rewritten,
                  const Bindings& symbols,
                  const ModelOptions& options)
      : original_(original), rewritten_(rewritten), symbols_(symbols), options_(options) {
    const std::vector<bool> jump = jumpingNodes(original.program);
    for (Value v : original.program.outputs())
      jumps_.push_back(jump[static_cast<size_t>(v.node)]);
  }

  Comparison run() {
    if (auto ok = drawInputs(); !ok) return notPossible(ok.error());
    const bool rounds = original_.round || rewritten_.round;
    if (!options_.engine || !symbols_.empty() || (rounds && !options_.sameRounding)) return inDouble();
    Comparison quick = guarded([&] { return onEngine(); });
    if (quick.holds()) return quick;
    Comparison sure = inDouble();
    if (sure.holds()) sure.scope += fmt::format("; not decided in float: {}", quick.reason);
    return sure;
  }

 private:
  /// Values of all inputs that are not constant.
  Expected<void> drawInputs() {
    const IndexInputs indices = indexInputs(original_.program, symbols_);
    for (Value v : original_.program.inputs()) {
      if (isConstant(original_.program, v)) continue;
      const std::string& name = original_.program.name(v);
      auto extents = evaluate(original_.program.shape(v), symbols_);
      if (!extents) return fail(ErrorKind::kInternal, "unbound symbol in " + str(original_.program.shape(v)), name);
      Tensor<float> tensor = drawInput(options_.seed, name, *extents, indices);
      if (original_.round) original_.round(v.node, tensor);
      drawn_.emplace(name, std::move(tensor));
    }
    return {};
  }

  /// Of one way to compare, which begins anew.
  ReportShare shareOf(std::string_view way) const {
    if (!options_.progress) return nullptr;
    return [this, way](double share) { options_.progress(way, share); };
  }

  template <class T>
  InputSource<T> inputsOf(const ModelProgram& model) const {
    return firstOf(inputsFrom<T>(drawn_), inputsFrom<T>(model.weights.tensors));
  }

  const std::string& nameOf(size_t output) const { return original_.program.name(original_.program.outputs()[output]); }

  using Tensors = std::vector<Tensor<float>>;

  /// kHolds, or kNotPossible with the reason why it does not decide. One model is ready at a time, for their weights.
  Comparison onEngine() const {
    const Program& rewritten = rewritten_.program;
    const std::vector<bool> shared = sharedNodes(rewritten, options_.counterparts);
    std::vector<size_t> compared;
    std::vector<Value> wanted, rest;
    for (size_t o = 0; o < rewritten.outputs().size(); ++o) {
      const Value output = rewritten.outputs()[o];
      if (shared[static_cast<size_t>(output.node)]) continue;
      compared.push_back(o);
      wanted.push_back(original_.program.outputs()[o]);
      rest.push_back(output);
    }
    if (compared.empty()) return {Verdict::kHolds, "", "every output is the original's", 0};
    const std::set<Value> read = readOfShared(rewritten, shared, rest);
    const std::vector<RewrittenParts> parts = rewrittenParts(rewritten, options_.counterparts, options_.mostFloats);
    std::set<Value> kept = read;
    const bool isKept = parts.size() == 1 && isLittle(parts[0]);
    if (isKept) enter(parts[0], kept);
    const ReportShare progress = shareOf("in float");
    TensorMap known = drawn_;
    auto before = runOriginal(wanted, kept, known, shareWithin(progress, 0, 0.5));
    if (!before) return notPossible(before.error());
    auto after = runOn(options_.engine, rewritten.computingFrom(read, rest), rewritten_.weights, known,
                       shareWithin(progress, 0.5, 0.5));
    if (!after) return notPossible(after.error());
    const Comparison whole = compareFloats(compared, *before, *after);
    if (whole.holds() || whole.worst > kMostAmplified || parts.empty()) return whole;
    return partByPart(parts, isKept ? &known : nullptr, whole);
  }

  /// To keep what a part takes costs less than to run the original again where that may be needed.
  bool isLittle(const RewrittenParts& part) const {
    std::set<Value> kept;
    enter(part, kept);
    int64_t some = 0, all = 0;
    for (Value v : kept)
      some += floatsOf(rewritten_.program, v);
    const auto& nodes = original_.program.nodes();
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
      all += nodes[static_cast<size_t>(i)].is(ops::kInput) ? 0 : floatsOf(original_.program, {i, 0});
    return static_cast<double>(some) <= options_.keptShare * static_cast<double>(all);
  }

  static void enter(const RewrittenParts& parts, std::set<Value>& values) {
    values.insert(parts.read.begin(), parts.read.end());
    values.insert(parts.outputs.begin(), parts.outputs.end());
  }

  /// Runs the original for `wanted` values of its own, and for those that the rewritten one's in `kept` stand for,
  /// which become known by the names that they have there.
  Expected<Tensors> runOriginal(const std::vector<Value>& wanted,
                                const std::set<Value>& kept,
                                TensorMap& known,
                                const ReportShare& progress) const {
    std::vector<Value> outputs;
    std::map<Value, size_t> places;
    std::vector<int> uses;
    auto ask = [&](Value v) {
      auto [at, fresh] = places.try_emplace(v, outputs.size());
      if (fresh) {
        outputs.push_back(v);
        uses.push_back(0);
      }
      ++uses[at->second];
    };
    std::map<Value, Value> made;
    for (Value v : kept) {
      if (!rewritten_.program.node(v).is(ops::kInput)) made.emplace(v, options_.counterparts.values.at(v));
    }
    for (Value v : wanted)
      ask(v);
    for (const auto& [v, original] : made)
      ask(original);
    auto results = runOn(options_.engine, original_.program.computing(outputs), original_.weights, drawn_, progress);
    if (!results) return results;
    auto take = [&](Value v) -> Tensor<float> {
      const size_t at = places.at(v);
      return --uses[at] > 0 ? (*results)[at] : std::move((*results)[at]);
    };
    Tensors tensors;
    for (Value v : wanted)
      tensors.push_back(take(v));
    for (const auto& [v, original] : made)
      known.insert_or_assign(rewritten_.program.name(v), take(original));
    return tensors;
  }

  /// `worst` of what does not hold is infinite where no error of the parts can explain it. By a jump they
  /// may explain any.
  Comparison compareFloats(const std::vector<size_t>& compared, const Tensors& before, const Tensors& after) const {
    Comparison result;
    result.scope = "in float: ";
    for (size_t i = 0; i < compared.size(); ++i) {
      const std::string& name = nameOf(compared[i]);
      const double scale = largestMagnitude(before[i]), floor = options_.floor * scale;
      if (auto extents = differentExtents(before[i], after[i])) return undecidable(name, *extents);
      if (!std::isfinite(scale)) return undecidable(name, "the original's values are not finite");
      const bool jumps = jumps_[compared[i]];
      if (jumps && largestDifference(after[i], before[i]) == 0) continue;
      if (isTiny(scale)) return undecidable(name, "the original's values are 0 or next to it");
      const OutputError error{largestDifference(after[i], before[i]), floor};
      result.scope += fmt::format("{}{}: difference {:.2e}, max|output| {:.2e}", i ? "; " : "", name, error.is, scale);
      const double units = error.inUnits();
      result.worst = std::max(result.worst, jumps ? std::min(units, kMostAmplified) : units);
      if (result.reason.empty() && !error.isAllowed()) {
        result.verdict = Verdict::kNotPossible;
        result.reason =
            fmt::format("{}: off by {:.3g} from the original (at most {:.3g})", name, error.is, error.allowed);
      }
    }
    return result;
  }

  static Comparison undecidable(const std::string& name, const std::string& why) {
    return {Verdict::kNotPossible, fmt::format("{}: {}", name, why), "", std::numeric_limits<double>::infinity()};
  }

  /// Whether each part of the rewritten model that is not the original's is within the bound where it reads what the
  /// original has there. Then the rewritten model is the original with those results rounded otherwise, and what
  /// `whole` found is what becomes of that.
  /// `kept`: what the original computes that a single group of parts takes; null: it runs again for each.
  Comparison partByPart(const std::vector<RewrittenParts>& parts, TensorMap* kept, const Comparison& whole) const {
    const Program& rewritten = rewritten_.program;
    auto standsForOne = [&](Value v) { return options_.counterparts.values.contains(v); };
    if (!std::all_of(rewritten.outputs().begin(), rewritten.outputs().end(), standsForOne)) return whole;
    const ReportShare progress = shareOf("part by part");
    const double width = 1.0 / static_cast<double>(parts.size());
    const double floor = std::max(options_.floor, options_.partFloor);
    double worst = 0;
    size_t count = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const double from = width * static_cast<double>(i);
      TensorMap known;
      if (kept) {
        known.swap(*kept);
      } else {
        known = drawn_;
        std::set<Value> needed;
        enter(parts[i], needed);
        if (auto ran = runOriginal({}, needed, known, shareWithin(progress, from, width / 2)); !ran) return whole;
      }
      const Program program = rewritten.computingFrom(parts[i].read, parts[i].outputs);
      auto made = runOn(options_.engine, program, rewritten_.weights, known,
                        shareWithin(progress, from + width / 2, width / 2));
      if (!made) return whole;
      for (size_t o = 0; o < parts[i].outputs.size(); ++o) {
        const Tensor<float>& before = known.at(rewritten.name(parts[i].outputs[o]));
        if (differentExtents(before, (*made)[o])) return whole;
        const OutputError error{differenceOfNumbers((*made)[o], before), floor * largestFinite(before)};
        if (!error.isAllowed()) return whole;
        worst = std::max(worst, error.inUnits());
      }
      count += parts[i].outputs.size();
    }
    return {
        Verdict::kHolds, "",
        fmt::format("{}; of {} rewritten values, each by itself: {:.2g} of what is allowed", whole.scope, count, worst),
        std::max(worst, whole.worst / kMostAmplified)};
  }

  Comparison inDouble() const {
    const ReportShare progress = shareOf("in double");
    constexpr double kDouble = 0.5, kFloat = 0.25;  // of the time
    auto truth =
        execute<double>(original_.program, symbols_, inputsOf<double>(original_), {shareWithin(progress, 0, kDouble)});
    if (!truth) return notPossible(truth.error());
    auto before =
        executeRounded(original_, symbols_, inputsOf<float>(original_), {shareWithin(progress, kDouble, kFloat)});
    if (!before) return notPossible(before.error());
    auto after = executeRounded(rewritten_, symbols_, inputsOf<float>(rewritten_),
                                {shareWithin(progress, kDouble + kFloat, kFloat)});
    if (!after) return failureOfReplacement(after.error());
    if (after->size() != truth->size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
    Comparison result;
    result.scope = "in double: ";
    for (size_t o = 0; o < truth->size() && result.holds(); ++o)
      compareErrors(o, *(*truth)[o], *(*before)[o], *(*after)[o], result);
    return result;
  }

  void compareErrors(size_t o,
                     const Tensor<double>& truth,
                     const Tensor<float>& before,
                     const Tensor<float>& after,
                     Comparison& result) const {
    if (auto extents = differentExtents(truth, after)) {
      result = {Verdict::kFails, fmt::format("{}: {}", nameOf(o), *extents), "", 0};
      return;
    }
    const double scale = largestMagnitude(truth);
    if (!std::isfinite(scale)) {
      result = {Verdict::kNotPossible, nameOf(o) + ": the original's values are not finite", "", 0};
      return;
    }
    const double was = largestDifference(before, truth);
    const OutputError error{largestDifference(after, truth), options_.factor * was + options_.floor * scale};
    result.scope += fmt::format("{}{}: error {:.2e}, the original's {:.2e}, max|output| {:.2e}", o ? "; " : "",
                                nameOf(o), error.is, was, scale);
    result.worst = std::max(result.worst, error.inUnits());
    if (error.isAllowed()) return;
    if (jumps_[o] && areFew(after, truth, error.allowed)) {
      result.verdict = Verdict::kNotPossible;
      result.reason = fmt::format("{}: rounding turns comparisons, or passes whole numbers", nameOf(o));
      return;
    }
    result.verdict = Verdict::kFails;
    result.reason =
        fmt::format("{}: off by {:.3g} from double precision, the original by {:.3g} (at most {:.3g} allowed)",
                    nameOf(o), error.is, was, error.allowed);
  }

  static bool areFew(const Tensor<float>& values, const Tensor<double>& truth, double allowed) {
    size_t off = 0;
    for (size_t i = 0; i < truth.data.size(); ++i)
      off += std::abs(static_cast<double>(values.data[i]) - truth.data[i]) > allowed ? 1 : 0;
    return off * kFewElements <= truth.data.size();
  }

  const ModelProgram &original_, &rewritten_;
  const Bindings& symbols_;
  const ModelOptions& options_;
  TensorMap drawn_;
  std::vector<bool> jumps_;  ///< per output
};

}  // namespace

Comparison compareWholeModel(const ModelProgram& original,
                             const ModelProgram& rewritten,
                             const Bindings& symbols,
                             const ModelOptions& options) {
  return guarded([&] { return ModelComparison(original, rewritten, symbols, options).run(); });
}

}  // namespace pet
