#include "synth/prove/prove.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/prove/match.h"

namespace pet {
namespace {

Equality compare(const poly::Context& context, const Denotation& pattern, const Denotation& candidate) {
  if (!pattern.applications.empty()) {
    Matcher aligned(context, pattern, candidate, true);
    auto bad = aligned.compareOutputs();
    if (bad && bad->isEmpty()) return Proved{aligned.takeProof()};
  }
  Matcher matcher(context, pattern, candidate, false);
  auto bad = matcher.compareOutputs();
  if (!bad) return Unknown{matcher.reason()};
  if (bad->isEmpty()) return Proved{matcher.takeProof()};
  return ProvedOutside{bad->outline()};
}

/// Factors refer to inputs by number.
bool sameInputs(const Program& a, const Program& b) {
  auto inputsA = a.inputs(), inputsB = b.inputs();
  return std::equal(inputsA.begin(), inputsA.end(), inputsB.begin(), inputsB.end(),
                    [&](Value x, Value y) { return a.name(x) == b.name(y) && a.shape(x) == b.shape(y); });
}

/// A position at which a program divides by a sum without terms: there it has no value, whatever the pattern has. Its
/// monomials do not tell: those of 0 / 0 are no monomials.
bool dividesByNothing(const poly::Context& context, const Program& program) {
  auto primitive = lower(program);
  if (!primitive) return false;  // denote() says why
  for (const Node& node : primitive->nodes()) {
    if (node.op->name != "Reciprocal") continue;
    NameSource names;
    Program divisor = ProgramBuilder(*primitive).finish({node.operands[0]});
    auto d = denote(divisor, node.operands[0], names);
    if (!d) continue;
    if (!positionsWithoutTerms(context, *d).isEmpty()) return true;
  }
  return false;
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

}  // namespace

Equality proveEqual(const poly::Context& context, const Program& pattern, const Program& candidate) {
  if (pattern.outputs().size() != 1 || candidate.outputs().size() != 1) return Unknown{"more than one output"};
  Value a = pattern.outputs()[0], b = candidate.outputs()[0];
  if (pattern.shape(a) != candidate.shape(b)) {
    return Unknown{
        fmt::format("output shapes {} and {} are not shown equal", str(pattern.shape(a)), str(candidate.shape(b)))};
  }
  if (!sameInputs(pattern, candidate)) return Unknown{"the programs do not have the same inputs"};
  try {
    NameSource names;
    auto denotedPattern = denote(pattern, a, names);
    if (!denotedPattern) return Unknown{denotedPattern.error().what};
    auto denotedCandidate = denote(candidate, b, names);
    if (!denotedCandidate) return Unknown{denotedCandidate.error().what};
    for (const Denotation* d : {&*denotedPattern, &*denotedCandidate}) {
      if (auto reason = confusedName(context.shapes(), *d); !reason.empty()) return Unknown{reason};
    }
    if (dividesByNothing(context, candidate)) return Unknown{"the replacement divides by zero somewhere"};
    return compare(context, *denotedPattern, *denotedCandidate);
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
