#include "applier/check/execution.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "applier/check/counterparts.h"
#include "applier/check/members.h"
#include "applier/onnx/mapping.h"
#include "applier/view/element_types.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"
#include "ir/work.h"
#include "rules/rewrite/bind.h"
#include "rules/rewrite/solve.h"

namespace pet {
namespace {

CheckLine lineOf(const std::string& where, const Comparison& c) {
  return {where, c.scope, c.verdict != Comparison::Verdict::kNotPossible, c.reason, c.worst};
}

/// The site's constant operands, by the names of what matched. T: float, or int64_t where the site is of integers.
template <class T>
Expected<std::map<std::string, Tensor<T>, std::less<>>> constantsOf(const Rewrite& r, ConstantEvaluator& constants) {
  std::map<std::string, Tensor<T>, std::less<>> tensors;
  const Program& program = *r.site.program;
  for (Value input : program.inputs()) {
    if (!isConstant(program, input)) continue;
    auto c = constants.value(r.site.operand(program.name(input)));
    if (!c) return tl::unexpected(c.error());
    tensors.emplace(program.name(input), c->values<T>());
  }
  return tensors;
}

View withOutputs(View view, std::vector<Value> outputs) {
  view.program = ProgramBuilder(std::move(view.program)).finish(std::move(outputs));
  return view;
}

std::vector<std::string> outputNames(const View& view) {
  std::vector<std::string> names;
  for (Value v : view.program.outputs())
    names.push_back(view.names.at(v));
  return names;
}

/// The view with its outputs in the order of their names.
View inOrder(View view) {
  std::vector<Value> outputs = view.program.outputs();
  std::sort(outputs.begin(), outputs.end(), [&](Value a, Value b) { return view.names.at(a) < view.names.at(b); });
  return withOutputs(std::move(view), std::move(outputs));
}

/// The non-constant inputs of a program that reach an operator that computes, and how large they may be drawn: so that
/// sums of products are exact in 64 bits.
template <class ElementOf>
SummedInputs summedInputs(const Program& program, const ElementOf& elementOf) {
  const auto& nodes = program.nodes();
  std::vector<bool> summed(nodes.size());
  SummedInputs result;
  for (size_t i = nodes.size(); i-- > 0;) {
    for (Value v : nodes[i].operands)
      summed[static_cast<size_t>(v.node)] =
          summed[static_cast<size_t>(v.node)] || summed[i] || !movesValues(*nodes[i].op);
    const Value v{static_cast<int>(i), 0};
    if (!nodes[i].is(ops::kInput) || !summed[i] || isConstant(program, v)) continue;
    result.emplace(program.name(v), isNarrow(elementOf(v)) ? 255 : int64_t{1} << 24);
  }
  return result;
}

/// What gives the outputs that pet computes with.
View computedPart(View view) {
  std::vector<Value> outputs = view.program.outputs();
  std::erase_if(outputs, [&](Value v) { return !dependsOnReals(view.program, view.elements, v); });
  return pruned(withOutputs(std::move(view), std::move(outputs)));
}

/// What gives the other outputs. Nothing: there are none.
std::optional<View> integerPart(const View& view) {
  std::vector<Value> outputs = view.program.outputs();
  std::erase_if(outputs, [&](Value v) { return dependsOnReals(view.program, view.elements, v); });
  return outputs.empty() ? std::nullopt : std::optional(pruned(withOutputs(view, std::move(outputs))));
}

/// Lets go of the pages of a model's file when nothing reads these bytes any more.
std::shared_ptr<const void> whileRead(const Bytes& bytes) {
  return {bytes->data(), [bytes](const void*) {
            if (bytes.mapped()) dropPages(*bytes);
          }};
}

/// Each is made or mapped when it is asked for, and pages of the model's file are not kept for it: all at once may be
/// large.
Weights weightsOf(const View& view) {
  using Constants = std::map<std::string, Constant, std::less<>>;
  auto constants = std::make_shared<Constants>();
  for (const auto& [node, c] : view.constants)
    constants->emplace(view.program.nodes()[static_cast<size_t>(node)].names[0], c);
  auto tensors = [constants](std::string_view name) -> TensorRef<float> {
    auto found = constants->find(name);
    if (found == constants->end()) return nullptr;
    const auto reading = whileRead(found->second.bytes);
    return std::make_shared<const Tensor<float>>(found->second.values<float>());
  };
  auto stored = [constants](std::string_view name) -> std::optional<StoredFloats> {
    auto found = constants->find(name);
    if (found == constants->end() || found->second.element != ElementType::kFloat) return std::nullopt;
    return StoredFloats{found->second.extents, found->second.bytes->data(), whileRead(found->second.bytes)};
  };
  return {std::move(tensors), std::move(stored)};
}

/// The view outlives it.
ModelProgram modelOf(const View& view) {
  const std::vector<ElementType>& elements = view.elements;
  auto is16Bits = [](ElementType element) {
    return element == ElementType::kFloat16 || element == ElementType::kBfloat16;
  };
  if (std::none_of(elements.begin(), elements.end(), is16Bits)) return {view.program, weightsOf(view)};
  return {view.program, weightsOf(view), [&elements](int node, Tensor<float>& tensor) {
            const ElementType element = elements[static_cast<size_t>(node)];
            if (element == ElementType::kFloat || !isComputed(element)) return;
            for (float& x : tensor.data)
              x = static_cast<float>(roundedTo(element, x));
          }};
}

/// Leaves out what the rewritten model does not compute any more: it went to nodes that nothing needs now, such as the
/// Shape of a value whose extents became a part of a new constant. The name of a result that is lost, "" if none is.
std::string dropUnneeded(View& original,
                         const std::vector<std::string>& kept,
                         const std::vector<std::string>& results) {
  std::vector<Value> outputs;
  for (Value v : original.program.outputs()) {
    const std::string& name = original.names.at(v);
    if (std::binary_search(kept.begin(), kept.end(), name)) {
      outputs.push_back(v);
    } else if (std::find(results.begin(), results.end(), name) != results.end()) {
      return name;
    }
  }
  if (outputs.size() != original.program.outputs().size())
    original = withOutputs(std::move(original), std::move(outputs));
  return "";
}

/// The rewritten model's view at the extents of the original's: what the two take in has the same extents.
Expected<View> boundLike(const View& original, const View& rewritten) {
  std::map<std::string, Value, std::less<>> known;
  for (Value v : original.program.inputs())
    known.emplace(original.program.name(v), v);
  std::vector<rewrite::DimEquation> equations;
  for (Value v : rewritten.program.inputs()) {
    auto it = known.find(rewritten.program.name(v));
    if (it == known.end()) continue;
    const Shape &open = rewritten.program.shape(v), &numbers = original.program.shape(it->second);
    for (size_t d = 0; d < std::min(open.size(), numbers.size()); ++d)
      equations.push_back({open[d], numbers[d]});
  }
  auto solved = rewrite::solveSome(std::move(equations));
  if (!solved) return tl::unexpected(solved.error());
  return boundTo(rewritten, rewrite::numbersAt(*solved, {}));
}

/// A replacement in which weights that it makes of the model's are constant inputs.
struct Prepared {
  Program program;
  std::map<std::string, TensorRef<float>, std::less<>> made;

  InputSource<float> source() const {
    return [this](std::string_view name) -> TensorRef<float> {
      auto found = made.find(name);
      return found == made.end() ? nullptr : found->second;
    };
  }
};

/// The values that a program computes of its constant inputs, as far as others than they read them.
std::vector<Value> weightsMade(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  std::vector<Value> made;
  for (const auto& [value, by] : readers(program)) {
    const bool isRead =
        std::any_of(by.begin(), by.end(), [&](int r) { return r < 0 || !constant[static_cast<size_t>(r)]; });
    if (isRead && constant[static_cast<size_t>(value.node)] && !program.node(value).is(ops::kInput))
      made.push_back(value);
  }
  return made;
}

class SiteChecker {
 public:
  SiteChecker(const View& view, const SiteCheckOptions& options, CheckedRules& checked, NewWeights& weights)
      : view_(view), constants_(view), options_(options), checked_(checked), weights_(weights) {}

  Expected<void> check(const Rewrite& r) {
    if (auto ok = checkRule(r); !ok) return ok;
    return isComputed(r.site.element) ? checkValues(r) : checkIntegers(r);
  }

  SiteChecks found() && { return std::move(found_); }

 private:
  Expected<void> checkIntegers(const Rewrite& r) {
    auto tensors = constantsOf<int64_t>(r, constants_);
    if (!tensors) return tl::unexpected(tensors.error());
    const SummedInputs summed = summedInputs(r.pattern, [&](Value input) {
      return view_.elements[static_cast<size_t>(r.site.operand(r.pattern.name(input)).node)];
    });
    Comparison exact = compareIntegers({r.pattern, *tensors}, {r.replacement, *tensors}, summed, options_.seed);
    if (exact.verdict == Comparison::Verdict::kNotPossible)
      found_.unchecked.push_back({r.label, r.rule->name, exact.reason});
    return enter(r, exact);
  }

  Expected<void> checkValues(const Rewrite& r) {
    auto tensors = constantsOf<float>(r, constants_);
    if (!tensors) return tl::unexpected(tensors.error());
    auto [known, fresh] = checked_.probed.try_emplace({r.rule->name, rewrite::str(r.symbols)});
    if (fresh) {
      auto probed = probe(r, *tensors);
      if (!probed) return tl::unexpected(probed.error());
      known->second = *probed;
    }
    const Probed& probed = known->second;
    RealOptions options = realOptions(*r.rule, probed.suffices());
    const auto prepared = options.engine ? prepare(r) : std::nullopt;
    if (prepared) {
      options.prepared = &prepared->program;
      options.made = prepared->source();
    }
    Comparison real = compareRealWeights(r.pattern, r.replacement, {}, *tensors, options);
    if (auto ok = enter(r, real); !ok) return ok;
    if (probed.whyNot && real.verdict == Comparison::Verdict::kNotPossible) {
      found_.unchecked.push_back({r.label, r.rule->name, *probed.whyNot + "; " + real.reason});
    }
    return {};
  }

  /// With the weights made that are written if the site holds. Nullopt: not all of them are in float.
  std::optional<Prepared> prepare(const Rewrite& r) {
    std::map<Value, Value> stands;
    for (Value v : r.replacement.inputs())
      stands.emplace(v, r.site.operand(r.replacement.name(v)));
    Prepared result;
    const std::vector<Value> made = weightsMade(r.replacement);
    for (Value v : made) {
      auto derivation = derivationOf(view_, r.replacement, stands, v);
      auto value = derivation ? derivation->evaluated() : fail(ErrorKind::kUnsupported, "not in float");
      if (!value) return std::nullopt;
      weights_.enter(*derivation, Constant::of(*value));
      result.made.emplace(r.replacement.name(v), std::make_shared<const Tensor<float>>(std::move(*value)));
    }
    result.program = r.replacement.computingFrom({made.begin(), made.end()}, r.replacement.outputs(), true);
    return result;
  }

  /// With `quick` float decides first. The reference compares in double: in float its bound is wider.
  RealOptions realOptions(const Rule& rule, bool quick) const {
    constexpr double kUnits = 128;  // thousands of terms in another order
    const bool conditioned = rule.numerics.kind == Numerics::Kind::kConditioned;
    RealOptions options{.seed = options_.seed, .inFloat = false, .spreadsNan = rule.numerics.spreadsNan};
    if (quick) options.engine = options_.engine;
    options.floor = std::max(kUnits, conditioned ? rule.numerics.kappa : 0) * unitRoundoff(ElementType::kFloat);
    return options;
  }

  /// Pattern and replacement over the rule's symbols, with the site's numbers.
  struct Sides {
    Program pattern, replacement;
  };
  static Expected<Sides> sidesOf(const Rewrite& r) {
    auto pattern = instantiate(*r.site.pattern, *r.rule);
    if (!pattern) return tl::unexpected(pattern.error());
    return Sides{withNumbers(*pattern, r.site.numbers), withNumbers(r.rule->replacement, r.site.numbers)};
  }

  /// Once per rule, and at small shapes.
  Expected<void> checkRule(const Rewrite& r) {
    if (!checked_.names.insert(r.rule->name).second) return {};
    auto sides = sidesOf(r);
    if (!sides) return tl::unexpected(sides.error());
    for (const Bindings& member : smallMembers(*r.rule, sides->pattern, options_.seed)) {
      ScaleOptions options = scaleOptions(*r.rule);
      options.work = std::numeric_limits<int64_t>::max();
      options.draws = 12;
      Comparison c = compareScales(sides->pattern, sides->replacement, member, {}, options);
      if (auto ok = enter(r, c); !ok) return ok;
    }
    return {};
  }

  using WhyNot = std::optional<std::string>;  ///< Probed::whyNot

  /// Once per rule and shapes. Large shapes stand for themselves in float alone, and else for a member of the class
  /// that is like them.
  Expected<Probed> probe(const Rewrite& r, const TensorMap& tensors) {
    const Bindings own = rewrite::numbersAt(r.symbols, {});
    auto sides = sidesOf(r);
    if (!sides) return tl::unexpected(sides.error());
    const Bindings like = memberLike(*r.rule, sides->pattern, own);
    // Where a constant has to be an expression of weights, other weights are none of the site's.
    if (!r.site.factored.empty()) return compareAlike(r, *sides, like);
    if (like == own) {
      auto whyNot = compareAt(r, r.pattern, r.replacement, {}, tensors);
      return whyNot.map([](const WhyNot& why) { return Probed{why}; });
    }
    Comparison dense = compareIntegerProbes(r.pattern, r.replacement, {},
                                            {.seed = options_.seed, .quick = true, .engine = options_.engine});
    if (dense.verdict != Comparison::Verdict::kNotPossible) {
      if (auto ok = enter(r, dense); !ok) return tl::unexpected(ok.error());
    }
    auto [known, fresh] = checked_.alike.try_emplace({r.rule->name, like});
    if (fresh) {
      auto probed = compareAlike(r, *sides, like);
      if (!probed) return probed;
      known->second = *probed;
    }
    return known->second;
  }

  /// At a member of the class that stands for larger shapes.
  Expected<Probed> compareAlike(const Rewrite& r, const Sides& sides, const Bindings& like) {
    auto whyNot = compareAt(r, sides.pattern, sides.replacement, like, {});
    if (!whyNot) return tl::unexpected(whyNot.error());
    if (!*whyNot) return Probed{};
    Comparison real = compareRealWeights(sides.pattern, sides.replacement, like, {}, realOptions(*r.rule, false));
    if (auto ok = enter(r, real); !ok) return tl::unexpected(ok.error());
    return Probed{*whyNot, real.holds()};
  }

  /// Integers, and activations of all magnitudes.
  Expected<WhyNot> compareAt(const Rewrite& r,
                             const Program& pattern,
                             const Program& replacement,
                             const Bindings& shapes,
                             const TensorMap& tensors) {
    ProbeOptions probes;
    probes.seed = options_.seed;
    probes.boxes = boxesAt(*r.rule, pattern, shapes.empty() ? rewrite::numbersAt(r.symbols, {}) : shapes);
    Comparison integers = compareIntegerProbes(pattern, replacement, shapes, probes);
    if (auto ok = enter(r, integers); !ok) return tl::unexpected(ok.error());
    Comparison scales = compareScales(pattern, replacement, shapes, tensors, scaleOptions(*r.rule));
    if (auto ok = enter(r, scales); !ok) return tl::unexpected(ok.error());
    return integers.holds() ? WhyNot() : WhyNot(integers.reason);
  }

  ScaleOptions scaleOptions(const Rule& rule) const {
    return {.seed = options_.seed, .spreadsNan = rule.numerics.spreadsNan};
  }

  Expected<void> enter(const Rewrite& r, const Comparison& c) {
    if (c.verdict == Comparison::Verdict::kFails) {
      return fail(ErrorKind::kCheck, fmt::format("the rewritten site differs: {}", c.reason), r.label,
                  "nothing was written; please report the rule");
    }
    found_.lines.push_back(lineOf(r.label, c));
    return {};
  }

  const View& view_;
  ConstantEvaluator constants_;
  const SiteCheckOptions& options_;
  CheckedRules& checked_;
  NewWeights& weights_;
  SiteChecks found_;
};

Comparison compareComputed(const View& before, const View& after, const SiteCheckOptions& options) {
  if (before.program.outputs().empty() && after.program.outputs().empty()) return {};
  ModelOptions model;
  model.seed = options.seed;
  model.floor = options.floor;
  model.engine = options.engine;
  model.sameRounding = options.sameRounding;
  if (options.engine) model.counterparts = counterparts(before, after);
  if (options.progress) {
    model.progress = [&](std::string_view way, double share) {
      options.progress(fmt::format("checking the whole model {}", way), share);
    };
  }
  return compareWholeModel(modelOf(before), modelOf(after), {}, model);
}

std::map<std::string, Tensor<int64_t>, std::less<>> integersOf(const View& view) {
  std::map<std::string, Tensor<int64_t>, std::less<>> tensors;
  for (const auto& [node, c] : view.constants)
    tensors.emplace(view.program.nodes()[static_cast<size_t>(node)].names[0], c.values<int64_t>());
  return tensors;
}

/// Integers and truth values: bit for bit. `before` and `after` have outputs of the same names.
Comparison compareWhole(const std::optional<View>& before,
                        const std::optional<View>& after,
                        const SiteCheckOptions& options) {
  if (!before && !after) return {};
  if (!before || !after) return {Comparison::Verdict::kFails, "the types of outputs differ", "", 0};
  const SummedInputs summed =
      summedInputs(before->program, [&](Value input) { return before->elements[static_cast<size_t>(input.node)]; });
  return compareIntegers({before->program, integersOf(*before)}, {after->program, integersOf(*after)}, summed,
                         options.seed);
}

/// Of two comparisons: the worse verdict.
Comparison joined(const Comparison& a, const Comparison& b) {
  const Comparison& worse = b.verdict == Comparison::Verdict::kFails || a.holds() ? b : a;
  const std::string between = a.scope.empty() || b.scope.empty() ? "" : "; ";
  return {worse.verdict, worse.reason, a.scope + between + b.scope, std::max(a.worst, b.worst)};
}

}  // namespace

Expected<SiteChecks> checkSites(const View& view,
                                const std::vector<Rewrite>& rewrites,
                                const SiteCheckOptions& options,
                                CheckedRules& checked,
                                NewWeights& weights) {
  SiteChecker checker(view, options, checked, weights);
  auto workAt = [](const Rewrite& r) {
    return workOf(r.pattern, {}).value_or(0) + workOf(r.replacement, {}).value_or(0);
  };
  double total = 0, done = 0;
  for (const Rewrite& r : rewrites)
    total += workAt(r);
  for (const Rewrite& r : rewrites) {
    if (options.progress) options.progress("checking the sites", total > 0 ? done / total : 0);
    if (auto ok = checker.check(r); !ok) return tl::unexpected(ok.error());
    done += workAt(r);
  }
  return std::move(checker).found();
}

Expected<CheckLine> checkWhole(const View& before,
                               const View& after,
                               const std::vector<std::string>& results,
                               const Bindings& sizes,
                               const SiteCheckOptions& options) {
  auto first = boundTo(before, sizes);
  if (!first) return tl::unexpected(first.error());
  auto second = boundLike(*first, after);
  if (!second) return tl::unexpected(second.error());
  View original = inOrder(std::move(*first)), rewritten = inOrder(std::move(*second));
  const std::vector<std::string> kept = outputNames(rewritten);
  if (auto lost = dropUnneeded(original, kept, results); !lost.empty()) {
    return fail(ErrorKind::kInternal, fmt::format("the rewritten model does not compute {}", lost), "",
                "please report this");
  }
  if (outputNames(original) != kept) {
    return fail(ErrorKind::kInternal, "the rewritten model computes other values than the original", "",
                "please report this");
  }
  const auto integers = integerPart(original), integersAfter = integerPart(rewritten);
  const View computed = computedPart(std::move(original)), computedAfter = computedPart(std::move(rewritten));
  const Comparison c =
      joined(compareComputed(computed, computedAfter, options), compareWhole(integers, integersAfter, options));
  if (c.verdict == Comparison::Verdict::kFails) {
    return fail(ErrorKind::kCheck, fmt::format("the rewritten model differs: {}", c.reason), "whole model",
                "nothing was written; please report it");
  }
  return lineOf("whole model", c);
}

}  // namespace pet
