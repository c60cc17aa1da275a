#include "synth/prove/prove.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"

namespace pet {
namespace {

/// A non-empty piece of a denotation as an integer set over (v, ρ).
struct Domain {
  int number;  ///< in the denotation
  const Piece* piece;
  std::vector<std::string> variables;
  poly::Set points;
};

std::vector<Domain> nonEmptyPieces(const poly::Context& context, const Denotation& d) {
  std::vector<Domain> result;
  for (size_t i = 0; i < d.pieces.size(); ++i) {
    std::vector<std::string> variables = d.index;
    variables.insert(variables.end(), d.pieces[i].reduction.begin(), d.pieces[i].reduction.end());
    poly::Set points = context.set(variables, d.pieces[i].domain);
    if (!points.isEmpty())
      result.push_back({static_cast<int>(i), &d.pieces[i], std::move(variables), std::move(points)});
  }
  return result;
}

/// Reduction indices of both sides share no name, v does: the second copy of v gets a prime.
std::map<std::string, Expr> primed(const std::vector<std::string>& index) {
  std::map<std::string, Expr> by;
  for (const std::string& v : index)
    by[v] = Expr::variable(v + "'");
  return by;
}

/// The pairs ((v, ρ), (v, ρ')) with equal factors; nullopt when the pieces can have no monomial in common.
std::optional<poly::Map> sameMonomial(const poly::Context& context,
                                      const std::vector<std::string>& index,
                                      const Domain& a,
                                      const Domain& b) {
  if (!(a.piece->coefficient == b.piece->coefficient) || a.piece->factors.size() != b.piece->factors.size())
    return std::nullopt;
  auto prime = primed(index);
  poly::Conjunction all = a.piece->domain;
  for (const Constraint& c : b.piece->domain)
    all.push_back(c.substitute(prime));
  for (const std::string& v : index)
    all.push_back(Constraint::eq(Expr::variable(v), prime.at(v)));
  for (size_t f = 0; f < a.piece->factors.size(); ++f) {
    const Factor &fa = a.piece->factors[f], &fb = b.piece->factors[f];
    if (fa.input != fb.input) return std::nullopt;
    for (size_t i = 0; i < fa.at.size(); ++i)
      all.push_back(Constraint::eq(fa.at[i], fb.at[i].substitute(prime)));
  }
  for (const Constraint& c : all) {
    if (c.decided() == false) return std::nullopt;
  }
  std::vector<std::string> target;
  for (const std::string& v : b.variables) {
    auto it = prime.find(v);
    target.push_back(it == prime.end() ? v : *it->second.asVariable());
  }
  return context.map(a.variables, target, all);
}

bool repeatsAnInput(const Piece& piece) {
  for (size_t f = 1; f < piece.factors.size(); ++f) {
    if (piece.factors[f].input == piece.factors[f - 1].input) return true;
  }
  return false;
}

/// Adds the function that `relation` is to the record, restricted to the image's reduction indices.
void record(
    std::vector<ProofMap>& into, const poly::Map& relation, const Domain& from, const Domain& to, size_t indexSize) {
  for (poly::FunctionPiece& f : relation.function(from.variables, from.points)) {
    std::vector<Expr> image(f.image.begin() + static_cast<std::ptrdiff_t>(indexSize), f.image.end());
    into.push_back({from.number, to.number, std::move(image), std::move(f.when)});
  }
}

Equality compare(const poly::Context& context, const Denotation& pattern, const Denotation& candidate) {
  auto from = nonEmptyPieces(context, pattern), to = nonEmptyPieces(context, candidate);
  for (const auto* side : {&from, &to}) {
    for (const Domain& d : *side) {
      if (repeatsAnInput(*d.piece)) return Unknown{"a monomial reads the same input twice"};
    }
  }
  auto variables = static_cast<int>(pattern.index.size());
  Proof proof;
  std::vector<poly::Set> restFrom, restTo;  // points without a partner so far
  for (const Domain& d : from)
    restFrom.push_back(d.points);
  for (const Domain& d : to)
    restTo.push_back(d.points);
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) {
      auto pairs = sameMonomial(context, pattern.index, from[i], to[j]);
      if (!pairs || pairs->isEmpty()) continue;
      if (!pairs->isSingleValued() || !pairs->isInjective()) {
        return Unknown{"a monomial occurs more than once; no bijection was chosen"};
      }
      auto domain = pairs->domain(), range = pairs->range();
      if (!domain.isSubset(restFrom[i]) || !range.isSubset(restTo[j])) {
        return Unknown{"a monomial occurs in several pieces; no bijection was chosen"};
      }
      restFrom[i] = restFrom[i].subtract(domain);
      restTo[j] = restTo[j].subtract(range);
      record(proof.forward, *pairs, from[i], to[j], pattern.index.size());
      record(proof.backward, pairs->reversed(), to[j], from[i], pattern.index.size());
    }
  }
  poly::Set bad = context.emptySet(variables);
  for (const auto* side : {&restFrom, &restTo}) {
    for (const poly::Set& rest : *side) {
      if (!rest.isEmpty()) bad = bad.unite(rest.firstVariables(variables));
    }
  }
  if (bad.isEmpty()) return Proved{std::move(proof)};
  return ProvedOutside{bad.outline()};
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
  for (const Piece& p : d.pieces) {
    std::set<std::string> known(d.index.begin(), d.index.end()), used;
    known.insert(p.reduction.begin(), p.reduction.end());
    for (const std::string& i : known) {
      if (symbols.contains(i)) return fmt::format("the symbol {} has the name of an index", i);
    }
    for (const Constraint& c : p.domain)
      c.expr.collectVariables(used);
    for (const Factor& f : p.factors) {
      for (const Expr& e : f.at)
        e.collectVariables(used);
    }
    for (const std::string& s : used) {
      if (!known.contains(s) && !symbols.contains(s)) return fmt::format("the symbol {} is not declared", s);
    }
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
