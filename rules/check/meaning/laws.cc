// Functions that are taken apart by a law: docs/rule-language.md, "Unfolding".

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/limits.h"
#include "rules/check/meaning/writer.h"

namespace pet::check {
namespace {

using NameSet = std::set<std::string>;

NameSet namesIn(const std::vector<Expr>& all) {
  NameSet names;
  for (const Expr& e : all)
    e.collectVariables(names);
  return names;
}

NameSet namesIn(const Constraint& c) {
  NameSet names;
  c.expr.collectVariables(names);
  return names;
}

/// The digits that the piece's factors speak of, and its constraints but those that hold wherever the sum is asked for.
std::vector<std::string> usedDigits(const Sum& sum, const Piece& piece) {
  NameSet names;
  for (const Factor& f : piece.factors)
    names.merge(namesIn(f.at));
  for (const Constraint& c : piece.domain) {
    const bool isFiniteThere =
        std::all_of(sum.finite.begin(), sum.finite.end(), [&](const Conjunction& part) { return contains(part, c); });
    if (!contains(sum.range, c) && !isFiniteThere) names.merge(namesIn(c));
  }
  std::vector<std::string> used;
  std::copy_if(sum.index.begin(), sum.index.end(), std::back_inserter(used),
               [&](const std::string& digit) { return names.contains(digit); });
  return used;
}

/// Without the constraints on other digits than these.
Conjunction limitedTo(const std::vector<std::string>& digits, const std::vector<std::string>& index, Conjunction all) {
  NameSet others(index.begin(), index.end());
  for (const std::string& d : digits)
    others.erase(d);
  std::erase_if(all, [&](const Constraint& c) {
    NameSet names = namesIn(c);
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return others.contains(n); });
  });
  return all;
}

std::vector<Expr> variablesNamed(const std::vector<std::string>& names) {
  std::vector<Expr> all;
  for (const std::string& n : names)
    all.push_back(Expr::variable(n));
  return all;
}

/// Nothing is demanded but what holds in the whole range.
bool isWhole(const Conjunction& domain, const Conjunction& range) {
  return std::all_of(domain.begin(), domain.end(), [&](const Constraint& c) { return contains(range, c); });
}

std::map<std::string, Expr> places(const Sum& sum, const Piece& piece) {
  std::map<std::string, Expr> names;
  for (size_t i = 0; i < sum.index.size(); ++i)
    names[sum.index[i]] = Expr::variable("v" + std::to_string(i));
  for (size_t i = 0; i < piece.reduction.size(); ++i)
    names[piece.reduction[i]] = Expr::variable("r_" + std::to_string(i));
  return names;
}

/// "input 0()[v0, r_0 + v1] Exp()[v0]": a piece's factors, its indices named by place.
std::string described(const Sum& sum, const Piece& piece) {
  const auto by = places(sum, piece);
  auto texts = [&](const std::vector<Expr>& all) {
    std::vector<std::string> each;
    for (const Expr& e : all)
      each.push_back(e.substitute(by).str());
    return fmt::format("{}", fmt::join(each, ", "));
  };
  std::vector<std::string> factors;
  for (const Factor& f : piece.factors) {
    std::string name = f.kind == Factor::Kind::kInput ? "input " + std::to_string(f.number) : f.key;
    factors.push_back(fmt::format("{}({})[{}]", name, texts(f.parameters), texts(f.at)));
  }
  return fmt::format("{}", fmt::join(factors, " "));
}

/// A sum up to the names of its indices and the order of terms: equal ones are the same function of a position.
std::vector<std::string> spelled(const Sum& sum) {
  std::vector<std::string> all;
  auto constraints = [](const Conjunction& c, const std::map<std::string, Expr>& by) {
    std::vector<std::string> texts;
    for (const Constraint& each : c)
      texts.push_back(each.substitute(by).str());
    std::sort(texts.begin(), texts.end());
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  for (const Piece& p : sum.pieces) {
    std::string text = fmt::format("{} of {}: {} where {}; ", p.coefficient.str(), p.reduction.size(),
                                   described(sum, p), constraints(p.domain, places(sum, p)));
    for (const Factor& f : p.factors)
      text += f.kind == Factor::Kind::kApplication ? fmt::format(" {}", f.number) : " -";
    all.push_back(std::move(text));
  }
  std::sort(all.begin(), all.end());
  all.push_back(constraints(sum.range, places(sum, {})));
  return all;
}

/// Whether the first piece, in the order of their texts, is subtracted; what has no factors counts last.
bool beginsNegative(const Sum& sum) {
  std::optional<std::string> least;
  bool negative = false;
  for (bool withFactors : {true, false}) {
    for (const Piece& p : sum.pieces) {
      if (p.factors.empty() == withFactors) continue;
      std::string text = described(sum, p);
      if (least && *least <= text) continue;
      least = std::move(text);
      negative = p.coefficient.over < 0;
    }
    if (least) break;
  }
  return negative;
}

}  // namespace

bool Writer::isUnfolded(std::string_view op) const {
  return std::find(unfolded_.begin(), unfolded_.end(), op) != unfolded_.end();
}

/// Uses the law of a function that is unfolded. True: the image is complete; false: f of what is left is missing.
bool Writer::takeApart(const Function& f, const Application& like, Sum& argument, Image& result) {
  if (!isUnfolded(f.op)) return false;
  if (f.law == Law::kExponential && factorByTerms(f, like, argument, result)) return true;
  turnUpright(f, argument, result);
  if (changesNothing(f, argument)) {
    result.parts.clear();
    // Of z it is z; of -z it is -z + z, so that neither is left.
    result.plusArgument = !result.plusArgument;
    return true;
  }
  if (f.law == Law::kInverse) factorOut(like, argument, result);
  return false;
}

/// The application that was made of the same function of the same terms, or this one.
int Writer::made(Application a, Sum argument) {
  const auto terms = spelled(argument);
  for (size_t n = 0; n < meaning_.applications.size(); ++n) {
    const Application& known = meaning_.applications[n];
    if (known.key != a.key || known.arguments.size() != 1 || known.index.size() != a.index.size()) continue;
    const Sum& sum = meaning_.sums[static_cast<size_t>(known.arguments[0])];
    if (sum.finite == argument.finite && spelled(sum) == terms) return static_cast<int>(n);
  }
  a.arguments = {keep(std::move(argument))};
  return keep(std::move(a));
}

/// An image for each set of digits that terms speak of. False where there is nothing to take apart.
bool Writer::factorByTerms(const Function& f, const Application& like, const Sum& argument, Image& result) {
  std::vector<std::vector<std::string>> sets;
  std::vector<std::vector<Piece>> terms;
  for (const Piece& p : argument.pieces) {
    auto digits = usedDigits(argument, p);
    size_t s = static_cast<size_t>(std::find(sets.begin(), sets.end(), digits) - sets.begin());
    if (s == sets.size()) {
      sets.push_back(digits);
      terms.emplace_back();
    }
    terms[s].push_back(p);
  }
  if (sets.size() == 1 && sets[0] == argument.index) return false;
  for (size_t s = 0; s < sets.size(); ++s) {
    Sum part{sets[s], limitedTo(sets[s], like.index, like.range), std::move(terms[s])};
    for (Piece& p : part.pieces)
      p.domain = limitedTo(sets[s], like.index, std::move(p.domain));
    Application a{.key = like.key, .keepsZero = f.keepsZero, .index = part.index, .range = part.range};
    a.needs = like.needs;
    a.sign = like.sign;
    const int number = made(std::move(a), std::move(part));
    result.besides.push_back(factor(number, variablesNamed(sets[s])));
  }
  return true;
}

/// A number > 0, and values of functions > 0 that each piece has at one position, outside of the inverse.
void Writer::factorOut(const Application& like, Sum& argument, Image& result) {
  if (argument.pieces.empty()) return;
  const Fraction content = withoutContent(argument);
  result.times = result.times * reduced(content.under, content.over);
  const Piece first = argument.pieces.front();
  const NameSet reduction(first.reduction.begin(), first.reduction.end());
  for (const Factor& f : first.factors) {
    if (f.kind != Factor::Kind::kApplication || application(f.number).sign != Sign::kPositive) continue;
    const NameSet names = namesIn(f.at);
    if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return reduction.contains(n); })) continue;
    bool isEverywhere = std::all_of(argument.pieces.begin(), argument.pieces.end(), [&](const Piece& p) {
      return std::find(p.factors.begin(), p.factors.end(), f) != p.factors.end();
    });
    if (!isEverywhere) continue;
    for (Piece& p : argument.pieces)
      p.factors.erase(std::find(p.factors.begin(), p.factors.end(), f));
    Application inverse = like;
    const int number = made(std::move(inverse), Sum{like.index, like.range, {{{}, {}, like.range, {f}}}});
    result.besides.push_back(factor(number, variablesNamed(like.index)));
  }
  const Piece& left = argument.pieces.front();
  result.isOne = argument.pieces.size() == 1 && left.coefficient == Fraction{} && left.reduction.empty() &&
                 left.factors.empty() && isWhole(left.domain, argument.range);
}

/// f of the negative instead, where that is the one of the two that begins with a positive coefficient.
void Writer::turnUpright(const Function& f, Sum& argument, Image& result) {
  const bool isOdd = f.law == Law::kOdd || f.law == Law::kInverse;
  const bool mayTurn = isOdd || (f.law == Law::kPositivePart && argument.isFinite());
  if (!mayTurn || !beginsNegative(argument)) return;
  for (Piece& p : argument.pieces)
    p.coefficient = p.coefficient * Fraction{-1, 1};
  if (isOdd) result.times = {-1, 1};
  if (f.law == Law::kPositivePart) result.plusArgument = true;
}

/// max(z, 0) is z for z >= 0.
bool Writer::changesNothing(const Function& f, const Sum& argument) const {
  return isUnfolded(f.op) && f.law == Law::kPositivePart && isNotNegative(meaning_, argument);
}

/// F > 0, if f is 1/F at every position.
std::optional<Factor> Writer::invertedBy(const Factor& f) const {
  const Function* kind = f.kind == Factor::Kind::kApplication ? functionOf(f.key) : nullptr;
  if (!kind || kind->law != Law::kInverse) return std::nullopt;
  const Application& a = application(f.number);
  const Sum& argument = meaning_.sums[static_cast<size_t>(a.arguments[0])];
  if (argument.pieces.size() != 1) return std::nullopt;
  const Piece& p = argument.pieces[0];
  const bool isCopy =
      p.coefficient == Fraction{} && p.reduction.empty() && p.factors.size() == 1 && isWhole(p.domain, a.range);
  if (!isCopy) return std::nullopt;
  Factor value = p.factors[0];
  if (value.kind != Factor::Kind::kApplication || application(value.number).sign != Sign::kPositive)
    return std::nullopt;
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < a.index.size(); ++i)
    by.emplace(a.index[i], f.at[i]);
  for (Expr& e : value.at)
    e = e.substitute(by);
  return value;
}

/// Every piece as often as the smallest of all fractions 1/n goes into its coefficient, if that is at most 16 times.
void Writer::repeatMultiples(Sum& sum) {
  constexpr int64_t kMostTimes = 16;
  int64_t n = 1;
  for (const Piece& p : sum.pieces)
    n = checkedMul(n, p.coefficient.under / std::gcd(n, p.coefficient.under));
  std::vector<Piece> repeated;
  for (const Piece& p : sum.pieces) {
    const int64_t times = checkedMul(p.coefficient.over, n / p.coefficient.under);
    const int64_t size = times < 0 ? -times : times;
    Piece one = p;
    if (size > 1 && size <= kMostTimes) one.coefficient = reduced(times / size, n);
    const bool isRepeated = !(one.coefficient == p.coefficient);
    for (int64_t i = 0; i < (isRepeated ? size : 1); ++i)
      repeated.push_back(one);
  }
  if (repeated.size() <= kMostPieces) sum.pieces = std::move(repeated);
}

/// Pairs F and 1/F are 1.
void Writer::cancelInverted(Product& product) const {
  auto& factors = product.factors;
  auto remove = [&](size_t place) {
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(place));
    for (Product::Unit& u : product.units) {
      if (u.constant > place) --u.constant;
    }
  };
  for (size_t i = 0; isUnfolded("Reciprocal") && i < factors.size();) {
    const auto value = invertedBy(factors[i]);
    const auto found = value ? std::find(factors.begin(), factors.end(), *value) : factors.end();
    if (found == factors.end()) {
      ++i;
      continue;
    }
    const size_t other = static_cast<size_t>(found - factors.begin());
    remove(std::max(i, other));
    remove(std::min(i, other));
    i = 0;
  }
}

}  // namespace pet::check
