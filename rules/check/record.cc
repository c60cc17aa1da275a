#include <algorithm>

#include <fmt/format.h>

#include "rules/check/bijection.h"
#include "rules/check/signs.h"

// The proof record: lemmas, monomials that are zero, two families of maps that are inverse to each other and keep the
// monomials, and what makes partial functions have a value (defined.cc).
namespace pet::check {
namespace {

using At = std::vector<Expr>;

/// Of one output (docs/rule-language.md, Limits).
constexpr size_t kMostClaims = 20'000;

/// Whoever asks for claims has to catch its base already.
struct TooManyClaims : OverflowError {
  const char* what() const noexcept override { return "a record that asks for very many obligations"; }
};

/// What one direction of a record maps, over positions for which `given` holds.
struct Direction {
  std::string prefix, name, inverseName;
  bool forward;
  const std::vector<ProofMap>&maps, &inverse;
  const Sum &from, &to;
  int fromNumber, toNumber;
  Formula given;

  std::string label(size_t i) const {
    return fmt::format("{}{} map {} ({} -> {})", prefix, name, i, maps[i].from, maps[i].to);
  }
  const Piece& source(const ProofMap& m) const { return from.pieces[static_cast<size_t>(m.from)]; }
  const Piece& target(const ProofMap& m) const { return to.pieces[static_cast<size_t>(m.to)]; }
};

std::set<std::string> variablesIn(const std::vector<Expr>& image, const std::vector<Constraint>& when) {
  std::set<std::string> used;
  for (const Expr& e : image)
    e.collectVariables(used);
  for (const Constraint& c : when)
    c.expr.collectVariables(used);
  return used;
}

/// Why a map cannot be read at all; empty if it can. It maps points with one list of reduction indices to points with
/// another, by number.
std::string malformed(const ProofMap& map,
                      const std::set<std::string>& known,
                      const std::vector<std::vector<std::string>>& fromReductions,
                      const std::vector<std::vector<std::string>>& toReductions,
                      std::string_view noun) {
  auto among = [](int i, size_t count) { return i >= 0 && static_cast<size_t>(i) < count; };
  if (!among(map.from, fromReductions.size())) return fmt::format("there is no {} {}", noun, map.from);
  if (!among(map.to, toReductions.size())) return fmt::format("there is no {} {}", noun, map.to);
  size_t wanted = toReductions[static_cast<size_t>(map.to)].size();
  if (map.atMost && noun != "alternative") return "a bound instead of an equation";
  if (map.image.size() != wanted) return fmt::format("it gives {} of {} reduction indices", map.image.size(), wanted);
  std::set<std::string> names = known;
  const auto& reduction = fromReductions[static_cast<size_t>(map.from)];
  names.insert(reduction.begin(), reduction.end());
  for (const std::string& name : variablesIn(map.image, map.when)) {
    if (!names.contains(name)) return fmt::format("{} is no index of the {}", name, noun);
  }
  return "";
}

template <class Part>
std::vector<std::vector<std::string>> reductionsOf(const std::vector<Part>& parts) {
  std::vector<std::vector<std::string>> result;
  for (const Part& p : parts)
    result.push_back(p.reduction);
  return result;
}

class Record {
 public:
  Record(const Rule& rule, const Proof& proof, const Side& pattern, const Side& replacement)
      : rule_(rule),
        proof_(proof),
        pattern_(pattern),
        replacement_(replacement),
        facts_(proof, pattern, replacement),
        patternSigns_(pattern),
        replacementSigns_(replacement) {}

  Claims run() {
    for (size_t i = 0; i < proof_.vanishing.size(); ++i)
      vanishing(fmt::format("vanish {}", i), proof_.vanishing[i]);
    for (const Side* side : {&pattern_, &replacement_})
      maximaOfSomething(*side);
    for (size_t i = 0; i < proof_.lemmas.size() && readable_; ++i) {
      const Lemma& l = proof_.lemmas[i];
      lemma(fmt::format("lemma {} ({} {} = {}): ", i, l.kind == Lemma::Kind::kSums ? "sums" : "maxima", l.pattern,
                        l.replacement),
            l);
      facts_.learn(l);
    }
    if (readable_) bijection("", 0, 0, {}, proof_.forward, proof_.backward);
    if (readable_) {
      Claims defined = definedClaims(rule_, proof_, pattern_, replacement_, facts_);
      std::move(defined.begin(), defined.end(), std::back_inserter(claims_));
    }
    return std::move(claims_);
  }

 private:
  const Rule& rule_;
  const Proof& proof_;
  const Side &pattern_, &replacement_;
  Facts facts_;
  Signs patternSigns_, replacementSigns_;
  Claims claims_;
  bool readable_ = true;  ///< all numbers and names so far are of something

  void require(std::string what, Formula given, Formula goal) {
    if (claims_.size() >= kMostClaims) throw TooManyClaims();
    claims_.push_back({.what = std::move(what), .given = std::move(given), .goal = std::move(goal)});
  }
  void refuse(std::string what, std::string reason) {
    claims_.push_back(fails(std::move(what), std::move(reason)));
    readable_ = false;
  }

  std::set<std::string> symbolsAnd(std::initializer_list<const std::vector<std::string>*> names) const {
    std::set<std::string> all(rule_.shapes.symbols.begin(), rule_.shapes.symbols.end());
    for (const auto* more : names)
      all.insert(more->begin(), more->end());
    return all;
  }
  static bool isSum(const Side& side, int number) {
    return number >= 0 && static_cast<size_t>(number) < side.meaning.sums.size();
  }
  static bool isApplication(const Side& side, int number) {
    return number >= 0 && static_cast<size_t>(number) < side.meaning.applications.size();
  }

  // --- Monomials that are zero ---

  void vanishing(const std::string& what, const Vanishing& v) {
    bool isPattern = v.side == Vanishing::Side::kPattern;
    const Side& side = isPattern ? pattern_ : replacement_;
    if (!isSum(side, v.sum)) return refuse(what, fmt::format("there is no sum {}", v.sum));
    const Sum& sum = side.sum(v.sum);
    if (v.piece < 0 || static_cast<size_t>(v.piece) >= sum.pieces.size())
      return refuse(what, fmt::format("there is no piece {}", v.piece));
    const Piece& piece = sum.pieces[static_cast<size_t>(v.piece)];
    if (v.factor < 0 || static_cast<size_t>(v.factor) >= piece.factors.size())
      return refuse(what, fmt::format("there is no factor {}", v.factor));
    const Factor& factor = piece.factors[static_cast<size_t>(v.factor)];
    std::set<std::string> known = symbolsAnd({&sum.index, &piece.reduction});
    for (const std::string& name : variablesIn({}, v.when)) {
      if (!known.contains(name)) return refuse(what, fmt::format("{} is no index of the piece", name));
    }
    bool mayVanish = factor.kind == Factor::Kind::kApplication && side.application(factor.number).keepsZero &&
                     !side.application(factor.number).isMaximum();
    if (!mayVanish) return refuse(what, "the factor is no function that keeps 0");
    // Nothing is added up at that position, unless it is zero for the same reason.
    const Application& f = side.application(factor.number);
    const Sum& argument = side.sum(f.arguments[0]);
    Values there = valuesOf(argument.index, factor.at);
    Formula given = Formula::all({Formula::all(piece.domain), Formula::all(v.when)});
    for (size_t p = 0; p < argument.pieces.size(); ++p) {
      Formula monomial = Formula::all(argument.pieces[p].domain).substitute(there);
      Formula zero = facts_.vanishes(v.side, f.arguments[0], static_cast<int>(p)).substitute(there);
      require(fmt::format("{}: piece {} of the argument has no monomial there", what, p),
              Formula::all({given, monomial}), zero);
    }
  }

  // --- Maxima ---

  /// Some ρ satisfies the conjunction: the first index takes a lower bound (or its value), and so on.
  static Formula exists(const std::vector<std::string>& reduction,
                        size_t first,
                        const Formula& domain,
                        const Conjunction& bounds) {
    if (first == reduction.size()) return domain;
    const std::string& r = reduction[first];
    std::vector<Formula> cases;
    for (const Constraint& c : bounds) {
      int64_t k = c.expr.coefficient(r);
      if (k == 0 || (k < 0 && c.kind == Constraint::Kind::kNonNegative)) continue;
      Expr rest = c.expr - Expr::variable(r) * k;
      if (rest.mentions(r)) continue;
      Expr value = k > 0 ? ceilDiv(-rest, k) : ceilDiv(rest, -k);
      Conjunction next;
      for (const Constraint& b : bounds)
        next.push_back(b.substitute({{r, value}}));
      cases.push_back(exists(reduction, first + 1, domain.substitute({{r, value}}), next));
    }
    return Formula::any(std::move(cases));
  }

  void maximaOfSomething(const Side& side) {
    for (size_t n = 0; n < side.meaning.applications.size(); ++n) {
      const Application& a = side.meaning.applications[n];
      if (!a.mustNotBeEmpty) continue;
      std::vector<Formula> some;
      for (const auto& alternative : a.alternatives)
        some.push_back(exists(alternative.reduction, 0, Formula::all(alternative.domain), alternative.domain));
      require(fmt::format("maximum {} of the {} is of something", n, side.noun), Formula::all(a.range),
              Formula::any(std::move(some)));
    }
  }

  void lemma(const std::string& prefix, const Lemma& l) {
    bool sums = l.kind == Lemma::Kind::kSums;
    if (sums && (!isSum(pattern_, l.pattern) || !isSum(replacement_, l.replacement)))
      return refuse(prefix + "its form", "there is no such sum");
    bool maxima = !sums && isApplication(pattern_, l.pattern) && isApplication(replacement_, l.replacement) &&
                  pattern_.application(l.pattern).isMaximum() && replacement_.application(l.replacement).isMaximum();
    if (!sums && !maxima) return refuse(prefix + "its form", "there is no such maximum");
    const auto& index = sums ? pattern_.sum(l.pattern).index : pattern_.application(l.pattern).index;
    const auto& other = sums ? replacement_.sum(l.replacement).index : replacement_.application(l.replacement).index;
    // The two positions must not be confused: only those of the outputs have common names.
    std::set<std::string> names(index.begin(), index.end());
    names.insert(other.begin(), other.end());
    if (names.size() != index.size() + other.size()) return refuse(prefix + "its form", "the sums share an index");
    std::set<std::string> known = symbolsAnd({&index, &other});
    std::vector<Formula> when;
    for (const auto& condition : l.when) {
      for (const std::string& name : variablesIn({}, condition)) {
        if (!known.contains(name)) return refuse(prefix + "its form", fmt::format("{} is no index of the two", name));
      }
      when.push_back(Formula::all(condition));
    }
    Formula given = Formula::any(std::move(when));
    if (sums) return bijection(prefix, l.pattern, l.replacement, given, l.forward, l.backward);
    maximum(prefix, given, l, true);
    maximum(prefix, given, l, false);
  }

  /// Every alternative of one maximum has an equal one in the other.
  void maximum(const std::string& prefix, const Formula& when, const Lemma& l, bool forward) {
    const Application &a = pattern_.application(l.pattern), &b = replacement_.application(l.replacement);
    const Application &from = forward ? a : b, &to = forward ? b : a;
    const auto& maps = forward ? l.forward : l.backward;
    std::string direction = prefix + (forward ? "forward" : "backward");
    std::set<std::string> known = symbolsAnd({&a.index, &b.index});
    auto reductions = reductionsOf(from.alternatives), others = reductionsOf(to.alternatives);
    for (size_t i = 0; i < maps.size(); ++i) {
      std::string why = malformed(maps[i], known, reductions, others, "alternative");
      if (!why.empty()) return refuse(fmt::format("{} map {}", direction, i), why);
    }
    Formula ranges = Formula::all({when, Formula::all(a.range), Formula::all(b.range)});
    for (size_t p = 0; p < from.alternatives.size(); ++p) {
      std::vector<Formula> cases;
      for (const ProofMap& m : maps) {
        if (static_cast<size_t>(m.from) == p) cases.push_back(Formula::all(m.when));
      }
      require(fmt::format("{}: a map for alternative {}", direction, p),
              Formula::all({ranges, Formula::all(from.alternatives[p].domain)}), Formula::any(std::move(cases)));
    }
    for (size_t i = 0; i < maps.size(); ++i) {
      const auto &source = from.alternatives[static_cast<size_t>(maps[i].from)],
                 &target = to.alternatives[static_cast<size_t>(maps[i].to)];
      Formula given = Formula::all({ranges, Formula::all(source.domain), Formula::all(maps[i].when)});
      Values by = valuesOf(target.reduction, maps[i].image);
      std::string label =
          fmt::format("{} map {} ({} {} {})", direction, i, maps[i].from, maps[i].atMost ? "<=" : "->", maps[i].to);
      require(label + ": the image is an alternative", given, Formula::all(target.domain).substitute(by));
      if (maps[i].atMost) {
        zeroIsAtMost(label, given, forward, source.element, target.element);
        continue;
      }
      At here = elementAt(from, variablesOf(source.reduction)), there = elementAt(to, maps[i].image);
      require(label + ": the elements are equal", given,
              forward ? facts_.equalSums(source.element, here, target.element, there)
                      : facts_.equalSums(target.element, there, source.element, here));
    }
  }

  /// The element of an alternative is 0 at its own position, that of the other program's is not negative anywhere.
  void zeroIsAtMost(const std::string& label, const Formula& given, bool ofPattern, int element, int other) {
    const Sum& zero = (ofPattern ? pattern_ : replacement_).sum(element);
    for (size_t p = 0; p < zero.pieces.size(); ++p)
      require(fmt::format("{}: piece {} of the element has no monomial there", label, p),
              Formula::all({given, Formula::all(zero.pieces[p].domain)}),
              facts_.vanishes(side(ofPattern), element, static_cast<int>(p)));
    if (!(ofPattern ? replacementSigns_ : patternSigns_).isNotNegative(other))
      claims_.push_back(fails(label + ": the image is not negative", "it may be, for all that is known"));
  }

  static At elementAt(const Application& maximum, const At& reduction) {
    At at = variablesOf(maximum.index);
    at.insert(at.end(), reduction.begin(), reduction.end());
    return at;
  }

  // --- Sums ---

  void bijection(const std::string& prefix,
                 int pattern,
                 int replacement,
                 const Formula& when,
                 const std::vector<ProofMap>& forward,
                 const std::vector<ProofMap>& backward) {
    const Sum &a = pattern_.sum(pattern), &b = replacement_.sum(replacement);
    Formula given = Formula::all({when, Formula::all(a.range), Formula::all(b.range)});
    Direction there{prefix, "forward", "backward", true, forward, backward, a, b, pattern, replacement, given};
    Direction back{prefix, "backward", "forward", false, backward, forward, b, a, replacement, pattern, given};
    checkForm(there);
    checkForm(back);
    if (!readable_) return;
    direction(there);
    direction(back);
  }

  void checkForm(const Direction& d) {
    std::set<std::string> known = symbolsAnd({&d.from.index, &d.to.index});
    auto reductions = reductionsOf(d.from.pieces), others = reductionsOf(d.to.pieces);
    for (size_t i = 0; i < d.maps.size(); ++i) {
      std::string why = malformed(d.maps[i], known, reductions, others, "piece");
      if (!why.empty()) refuse(d.label(i), why);
    }
  }

  static Vanishing::Side side(bool pattern) {
    return pattern ? Vanishing::Side::kPattern : Vanishing::Side::kReplacement;
  }
  /// The points of a piece that are not known to be zero.
  Formula points(const Direction& d, int piece) const {
    return Formula::all({d.given, Formula::all(d.from.pieces[static_cast<size_t>(piece)].domain),
                         Formula::negation(facts_.vanishes(side(d.forward), d.fromNumber, piece))});
  }

  void direction(const Direction& d) {
    for (size_t p = 0; p < d.from.pieces.size(); ++p) {
      std::vector<Formula> when;
      for (const ProofMap& m : d.maps) {
        if (static_cast<size_t>(m.from) == p) when.push_back(Formula::all(m.when));
      }
      require(fmt::format("{}{}: one map for every term of piece {}", d.prefix, d.name, p),
              points(d, static_cast<int>(p)), Formula::exactlyOne(when));
    }
    for (size_t i = 0; i < d.maps.size(); ++i) {
      const ProofMap& map = d.maps[i];
      const Piece& target = d.target(map);
      Formula given = Formula::all({points(d, map.from), Formula::all(map.when)});
      Values by = valuesOf(target.reduction, map.image);
      Formula zero = facts_.vanishes(side(!d.forward), d.toNumber, map.to).substitute(by);
      require(d.label(i) + ": the image is a term", given,
              Formula::all({Formula::all(target.domain).substitute(by), Formula::negation(zero)}));
      sameTerm(d, i, given, target, by);
      inverse(d, i, given, by);
    }
  }

  /// The map keeps coefficient and factors.
  void sameTerm(const Direction& d, size_t i, const Formula& given, const Piece& target, const Values& by) {
    const Piece& source = d.source(d.maps[i]);
    if (source.coefficient != target.coefficient) {
      return require(fmt::format("{}: {} becomes {}", d.label(i), source.coefficient.str(), target.coefficient.str()),
                     given, Formula::no());
    }
    std::vector<Factor> image = target.factors;
    for (Factor& f : image) {
      for (Expr& e : f.at)
        e = e.substitute(by);
    }
    Formula same =
        d.forward ? facts_.equalProducts(source.factors, image) : facts_.equalProducts(image, source.factors);
    bool never = same.kind == Formula::Kind::kFalse;
    require(d.label(i) + (never ? ": a product of other inputs, or of functions that no lemma compares"
                                : ": the term stays the same"),
            given, std::move(same));
  }

  /// Applying map i and then the other direction comes back to the same term.
  void inverse(const Direction& d, size_t i, const Formula& given, const Values& by) {
    const ProofMap& map = d.maps[i];
    const auto& reduction = d.source(map).reduction;
    std::vector<Formula> goals;
    for (const ProofMap& back : d.inverse) {
      if (back.from != map.to) continue;
      Formula returns = Formula::no();
      if (back.to == map.from) {
        std::vector<Constraint> same;
        for (size_t r = 0; r < reduction.size(); ++r)
          same.push_back(Constraint::eq(back.image[r].substitute(by), Expr::variable(reduction[r])));
        returns = Formula::all(same);
      }
      goals.push_back(Formula::implies(Formula::all(back.when).substitute(by), returns));
    }
    require(fmt::format("{}: {} leads back", d.label(i), d.inverseName), given, Formula::all(std::move(goals)));
  }
};

}  // namespace

Claims recordClaims(const Rule& rule, const Proof& proof, const Side& pattern, const Side& replacement) {
  return Record(rule, proof, pattern, replacement).run();
}

}  // namespace pet::check
