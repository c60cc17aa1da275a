#include "synth/prove/prove.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/prove/pairing.h"

namespace pet {

using poly::Set;

namespace {

/// isl operations of one attempt more.
constexpr unsigned long kBudget = 4'000'000;

/// A proof by a matcher that tries harder. With a budget of its own, so that this changes no other verdict.
std::optional<Proof> proofWith(const poly::Context& context,
                               const Denotation& pattern,
                               const Denotation& candidate,
                               Matcher::Options options) {
  poly::Context again(context.shapes(), kBudget);
  try {
    Matcher matcher(again, pattern, candidate, options);
    auto bad = matcher.compareOutputs();
    if (bad && bad->isEmpty() && matcher.undefined().positions.isEmpty()) return matcher.takeProof();
  } catch (const poly::BudgetExceeded&) {
  } catch (const OverflowError&) {
  }
  return std::nullopt;
}

Equality compare(const poly::Context& context, const Denotation& pattern, const Denotation& candidate) {
  if (!pattern.applications.empty()) {
    Matcher aligned(context, pattern, candidate, {.aligned = true});
    auto bad = aligned.compareOutputs();
    if (bad && bad->isEmpty() && aligned.undefined().positions.isEmpty()) return Proved{{aligned.takeProof()}};
  }
  Matcher matcher(context, pattern, candidate, {});
  auto bad = matcher.compareOutputs();
  const bool isEqual = bad && bad->isEmpty();
  if (!isEqual && (!bad || matcher.hasZerosToDrop())) {
    Matcher::Options harder{.dropsZeros = matcher.hasZerosToDrop(), .pairsParts = !bad};
    if (auto proof = proofWith(context, pattern, candidate, harder)) return Proved{{std::move(*proof)}};
  }
  if (!bad) return Unknown{matcher.reason()};
  Undefined undefined = matcher.undefined();
  if (undefined.positions.isEmpty()) {
    if (bad->isEmpty()) return Proved{{matcher.takeProof()}};
    return ProvedOutside{bad->outline(), 0};
  }
  Set everywhere = context.set(candidate.index, candidate.range);
  if (bad->isEmpty() && everywhere.isSubset(undefined.positions)) {
    return Unknown{fmt::format("{} of the candidate may have no value where the pattern has one", undefined.function)};
  }
  return ProvedOutside{bad->unite(undefined.positions).outline(), 0};
}

/// Factors refer to inputs by number.
bool sameInputs(const Program& a, const Program& b) {
  auto inputsA = a.inputs(), inputsB = b.inputs();
  return std::equal(inputsA.begin(), inputsA.end(), inputsB.begin(), inputsB.end(),
                    [&](Value x, Value y) { return a.name(x) == b.name(y) && a.shape(x) == b.shape(y); });
}

/// A symbol that is not declared or that an index shares; empty if there is none.
std::string confusedName(const ShapeClass& shapes, const Denotation& d) {
  const std::set<std::string> symbols(shapes.symbols.begin(), shapes.symbols.end());
  std::set<std::string> indices, used;
  auto collect = [&used](const std::vector<Expr>& all) {
    for (const Expr& e : all)
      e.collectVariables(used);
  };
  for (int number = 0; number <= static_cast<int>(d.nested.size()); ++number) {
    const Sum& sum = d.sum(number);
    indices.insert(sum.index.begin(), sum.index.end());
    for (const Constraint& c : sum.range)
      c.expr.collectVariables(used);
    for (const Piece& p : sum.pieces) {
      indices.insert(p.reduction.begin(), p.reduction.end());
      for (const Constraint& c : p.domain)
        c.expr.collectVariables(used);
      for (const Factor& f : p.factors) {
        collect(f.at);
        collect(f.parameters);
      }
    }
  }
  for (const PartialUse& use : d.partialUses)
    indices.insert(use.reduction.begin(), use.reduction.end());
  for (const Application& a : d.applications) {
    indices.insert(a.index.begin(), a.index.end());
    for (const Application::Alternative& alternative : a.alternatives)
      indices.insert(alternative.reduction.begin(), alternative.reduction.end());
  }
  for (const std::string& i : indices) {
    if (symbols.contains(i)) return fmt::format("the symbol {} has the name of an index", i);
  }
  for (const std::string& s : used) {
    if (!indices.contains(s) && !symbols.contains(s)) return fmt::format("the symbol {} is not declared", s);
  }
  return "";
}

/// One output of both programs.
struct Output {
  std::string name;  ///< where there are several
  Denotation pattern, candidate;
};

/// Why the prover does not know.
tl::unexpected<Unknown> unknown(const std::string& output, const std::string& reason) {
  return tl::unexpected(Unknown{output.empty() ? reason : output + ": " + reason});
}

tl::expected<Output, Unknown> denoteBoth(const poly::Context& context,
                                         const Program& pattern,
                                         const Program& candidate,
                                         size_t output,
                                         const Unfold& unfold) {
  Value a = pattern.outputs()[output], b = candidate.outputs()[output];
  std::string name = pattern.outputs().size() > 1 ? pattern.name(a) : "";
  const Shape &shapeA = pattern.shape(a), &shapeB = candidate.shape(b);
  if (shapeA != shapeB)
    return unknown(name, fmt::format("output shapes {} and {} are not shown equal", str(shapeA), str(shapeB)));
  NameSource names;
  auto ofPattern = denote(pattern, a, names, unfold);
  if (!ofPattern) return unknown(name, ofPattern.error().what);
  auto ofCandidate = denote(candidate, b, names, unfold);
  if (!ofCandidate) return unknown(name, ofCandidate.error().what);
  for (const Denotation* d : {&*ofPattern, &*ofCandidate}) {
    if (auto reason = confusedName(context.shapes(), *d); !reason.empty()) return unknown(name, reason);
  }
  return Output{name, std::move(*ofPattern), std::move(*ofCandidate)};
}

/// The operators that made a difference when unfolded.
Unfold unfoldedIn(const Output& output) {
  Unfold all = output.pattern.unfolded;
  all.insert(output.candidate.unfolded.begin(), output.candidate.unfolded.end());
  return all;
}

/// It compares what it computes: Greater.
bool compares(const Program& program) {
  auto primitive = lower(program);
  return primitive && std::any_of(primitive->nodes().begin(), primitive->nodes().end(), [&](const Node& n) {
           return n.is(ops::kNot) && primitive->node(n.operands[0]).is(ops::kRelu);
         });
}

/// What to unfold, in turn: what has a definition and occurs in one of the programs only; besides, what a law takes
/// apart; everything, each only where there is more to unfold than before; multiples alone; and where something is
/// compared, the first with Relus by conditions.
std::vector<Unfold> unfoldings(const Program& pattern, const Program& candidate) {
  auto a = unfoldable(pattern), b = unfoldable(candidate);
  std::vector<Unfold> result{{}};
  if (!a || !b) return {};
  Unfold one, all = a->definitions;
  all.insert(b->definitions.begin(), b->definitions.end());
  for (const std::string& name : all) {
    if (a->definitions.contains(name) != b->definitions.contains(name)) one.insert(name);
  }
  Unfold laws = one;
  for (const auto* more : {&a->laws, &b->laws}) {
    laws.insert(more->begin(), more->end());
    all.insert(more->begin(), more->end());
  }
  for (const Unfold& next : {one, laws, all}) {
    if (next != result.back()) result.push_back(next);
  }
  result.erase(result.begin());
  result.push_back({std::string(kMultiples)});
  if (!compares(pattern) && !compares(candidate)) return result;
  for (std::string_view sign : {kPositive, kNegative}) {
    result.push_back(one);
    result.back().emplace(sign);
  }
  return result;
}

/// A proof in which operators are unfolded, if one is found: with a budget of its own, so that it changes no other
/// verdict.
std::optional<Proof> proveUnfolded(const ShapeClass& shapes,
                                   const Program& pattern,
                                   const Program& candidate,
                                   size_t output) {
  Unfold last;
  for (const Unfold& unfold : unfoldings(pattern, candidate)) {
    try {
      poly::Context context(shapes, kBudget);
      auto both = denoteBoth(context, pattern, candidate, output, unfold);
      if (!both || unfoldedIn(*both).empty() || unfoldedIn(*both) == last) continue;
      last = unfoldedIn(*both);
      Equality equality = compare(context, both->pattern, both->candidate);
      auto* proved = std::get_if<Proved>(&equality);
      if (!proved) continue;
      proved->proofs[0].unfold.assign(last.begin(), last.end());
      return std::move(proved->proofs[0]);
    } catch (const poly::BudgetExceeded&) {
    } catch (const OverflowError&) {
    }
  }
  return std::nullopt;
}

/// Throws poly::BudgetExceeded and OverflowError.
Equality proveOutput(const poly::Context& context, const Program& pattern, const Program& candidate, size_t output) {
  auto both = denoteBoth(context, pattern, candidate, output, {});
  Equality equality = both ? compare(context, both->pattern, both->candidate) : Equality(both.error());
  std::string name = pattern.outputs().size() > 1 ? pattern.name(pattern.outputs()[output]) : "";
  if (!std::holds_alternative<Proved>(equality)) {
    if (auto proof = proveUnfolded(context.shapes(), pattern, candidate, output))
      equality = Proved{{std::move(*proof)}};
  }
  if (auto* proved = std::get_if<Proved>(&equality)) proved->proofs[0].output = name;
  if (auto* outside = std::get_if<ProvedOutside>(&equality)) outside->output = output;
  if (auto* u = std::get_if<Unknown>(&equality); u && both) u->reason = unknown(name, u->reason).value().reason;
  return equality;
}

/// Throws poly::BudgetExceeded and OverflowError.
Equality proveOutputs(const poly::Context& context, const Program& pattern, const Program& candidate) {
  Proved all;
  std::optional<ProvedOutside> outside;
  for (size_t o = 0; o < pattern.outputs().size(); ++o) {
    Equality one = proveOutput(context, pattern, candidate, o);
    if (auto* u = std::get_if<Unknown>(&one)) return std::move(*u);
    if (auto* p = std::get_if<Proved>(&one)) {
      all.proofs.push_back(std::move(p->proofs[0]));
    } else if (!outside) {
      outside = std::get<ProvedOutside>(std::move(one));
    }
  }
  return outside ? Equality(std::move(*outside)) : Equality(std::move(all));
}

}  // namespace

Equality proveEqual(const poly::Context& context, const Program& pattern, const Program& candidate) {
  size_t count = pattern.outputs().size(), given = candidate.outputs().size();
  if (count != given) return Unknown{fmt::format("the pattern has {} outputs, the candidate {}", count, given)};
  if (!sameInputs(pattern, candidate)) return Unknown{"the programs do not have the same inputs"};
  try {
    return proveOutputs(context, pattern, candidate);
  } catch (const poly::BudgetExceeded& e) {
    return Unknown{e.what()};
  } catch (const OverflowError& e) {
    return Unknown{e.what()};
  }
}

std::optional<Constraint> failedObligation(const poly::Context& context, const Program& program) {
  for (const Constraint& c : obligations(program)) {
    if (!context.implies(c)) return c;
  }
  return std::nullopt;
}

}  // namespace pet
