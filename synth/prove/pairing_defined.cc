// Definedness: wherever the pattern has a value, the replacement's partial functions have one.

#include <algorithm>

#include "ir/signs.h"
#include "synth/prove/index_names.h"
#include "synth/prove/pairing.h"

namespace pet {

using poly::Map;
using poly::Set;

namespace {

std::vector<Expr> both(std::vector<Expr> a, const std::vector<Expr>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

// --- Signs ---

bool Matcher::isNonNegative(Side side, int number) const {
  return pet::isNonNegative(of(side).sum(number), of(side).applications);
}

/// Where a factor is surely > 0, over a piece's variables; null: nowhere.
std::optional<Set> Matcher::positiveFactor(Side side, const Factor& factor, const std::vector<std::string>& variables) {
  const Set everywhere = context_.set(variables, {});
  if (factor.kind == Factor::Kind::kConstant && factor.positive) return everywhere;
  if (factor.kind != Factor::Kind::kApplication) return std::nullopt;
  const Application& a = of(side).applications[static_cast<size_t>(factor.number)];
  if (a.isMaximum()) return std::nullopt;
  if (a.facts.positive) return everywhere;
  // The root and the inverse of what is > 0.
  const bool isRoot = a.facts.domain == Facts::Domain::kNonNegative;
  if (!isRoot && a.facts.domain != Facts::Domain::kNotZero) return std::nullopt;
  return context_.pullBack(positive(side, a.arguments[0]), variables, factor.at);
}

/// Where a sum is surely > 0: nothing in it is negative, and one of its terms is positive.
const Set& Matcher::positive(Side side, int number) {
  auto known = positive_.find({side, number});
  if (known != positive_.end()) return known->second;
  const Sum& sum = of(side).sum(number);
  const bool canBe = isNonNegative(side, number);
  Set result = context_.emptySet(count(sum.index));
  for (size_t p = 0; p < sum.pieces.size() && canBe; ++p) {
    const Piece& piece = sum.pieces[p];
    auto variables = join(sum.index, piece.reduction);
    std::optional<Set> points = context_.set(variables, piece.domain);
    for (size_t f = 0; f < piece.factors.size() && points; ++f) {
      auto where = positiveFactor(side, piece.factors[f], variables);
      points = where ? std::optional(points->intersect(*where)) : std::nullopt;
    }
    if (points) result = result.unite(points->firstVariables(count(sum.index)));
  }
  return positive_.emplace(std::pair(side, number), result.closed()).first->second;
}

/// The positions at which a partial function has a value for every input.
Set Matcher::total(Side side, int number) {
  const Application& a = of(side).applications[static_cast<size_t>(number)];
  bool isRoot = a.facts.domain == Facts::Domain::kNonNegative;
  if (isRoot && isNonNegative(side, a.arguments[0])) return context_.set(a.index, a.range);
  return positive(side, a.arguments[0]);
}

// --- Equal uses ---

Set Matcher::sameGuard(const Factor& pattern, const Factor& replacement, const std::vector<std::string>& variables) {
  const int size = count(variables);
  if (!pattern.sameKind(replacement)) return context_.emptySet(size);
  poly::Conjunction equal;
  if (pattern.kind == Factor::Kind::kApplication) {
    const Set& same = equalApplications(pattern.number, replacement.number);
    return context_.pullBack(same, variables, both(pattern.at, replacement.at));
  }
  for (size_t i = 0; i < pattern.at.size(); ++i)
    equal.push_back(Constraint::eq(pattern.at[i], replacement.at[i]));
  for (size_t i = 0; i < pattern.parameters.size(); ++i)
    equal.push_back(Constraint::eq(pattern.parameters[i], replacement.parameters[i]));
  return context_.set(variables, equal);
}

/// The pairs ((v, ρ), (v', ρ')), v = v', the replacement's first, at which the pattern evaluates the same function of
/// an equal argument, under no other guards than the replacement.
std::optional<Set> Matcher::sameUses(const PartialUse& pattern, const PartialUse& replacement) {
  const Application &a = pattern_.applications[static_cast<size_t>(pattern.application)],
                    &b = replacement_.applications[static_cast<size_t>(replacement.application)];
  if (a.key != b.key) return std::nullopt;
  const auto& index = replacement_.index;
  std::map<std::string, Expr> prime;
  std::vector<std::string> variables = join(index, replacement.reduction);
  poly::Conjunction all = replacement.domain;
  for (const std::string& v : index) {
    prime[v] = Expr::variable(primed(v));
    variables.push_back(primed(v));
    all.push_back(Constraint::eq(Expr::variable(v), prime.at(v)));
  }
  variables = join(variables, pattern.reduction);
  for (const Constraint& c : pattern.domain)
    all.push_back(c.substitute(prime));
  auto renamed = [&](std::vector<Expr> at) {
    for (Expr& e : at)
      e = e.substitute(prime);
    return at;
  };
  Set result = context_.set(variables, all);
  if (result.isEmpty()) return std::nullopt;
  const Set& equal = equalApplications(pattern.application, replacement.application);
  result = result.intersect(context_.pullBack(equal, variables, both(renamed(pattern.at), replacement.at)));
  for (Factor guard : pattern.guards) {
    guard.at = renamed(std::move(guard.at));
    Set holds = context_.emptySet(count(variables));
    for (const Factor& other : replacement.guards)
      holds = holds.unite(sameGuard(guard, other, variables));
    result = result.intersect(holds);
  }
  if (result.isEmpty()) return std::nullopt;
  return result;
}

Undefined Matcher::undefined() {
  const auto& index = replacement_.index;
  Undefined result{context_.emptySet(count(index)), ""};
  for (size_t i = 0; i < replacement_.partialUses.size(); ++i) {
    const PartialUse& use = replacement_.partialUses[i];
    auto variables = join(index, use.reduction);
    const Set points = context_.set(variables, use.domain);
    Set rest =
        points.subtract(context_.pullBack(total(Side::kReplacement, use.application), variables, use.at)).closed();
    for (size_t j = 0; j < pattern_.partialUses.size() && !rest.isEmpty(); ++j) {
      auto same = sameUses(pattern_.partialUses[j], use);
      if (!same) continue;
      Map least = same->asMap(count(variables)).intersectDomain(rest).least();
      if (least.isEmpty()) continue;
      rest = rest.subtract(least.domain()).closed();
      for (poly::FunctionPiece& f : least.function(variables, points)) {
        std::vector<Expr> image(f.image.begin() + count(index), f.image.end());
        proof_.defined.push_back({static_cast<int>(i), static_cast<int>(j), std::move(image), std::move(f.when)});
      }
    }
    if (rest.isEmpty()) continue;
    result.positions = result.positions.unite(rest.firstVariables(count(index)));
    if (result.function.empty()) result.function = replacement_.applications[static_cast<size_t>(use.application)].key;
  }
  return result;
}

}  // namespace pet
