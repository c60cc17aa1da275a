#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/check/subject.h"

// The proof record: two families of affine maps that are inverse to each other and keep the monomials.
namespace pet::check {
namespace {

/// One direction of the record.
struct Direction {
  std::string name, inverseName;
  const std::vector<ProofMap>&maps, &inverse;
  const Sum &from, &to;

  const Monomials& source(const ProofMap& m) const { return from.pieces[static_cast<size_t>(m.from)]; }
  const Monomials& target(const ProofMap& m) const { return to.pieces[static_cast<size_t>(m.to)]; }
  std::string label(size_t i) const { return fmt::format("{} map {} ({} -> {})", name, i, maps[i].from, maps[i].to); }
};

/// Why a map cannot be read at all; empty if it can.
std::string malformed(const Direction& d, const ProofMap& map, const std::vector<std::string>& symbols) {
  auto isPiece = [](int i, const Sum& sum) { return i >= 0 && static_cast<size_t>(i) < sum.pieces.size(); };
  if (!isPiece(map.from, d.from)) return fmt::format("there is no piece {}", map.from);
  if (!isPiece(map.to, d.to)) return fmt::format("there is no piece {}", map.to);
  size_t wanted = d.target(map).reduction.size();
  if (map.image.size() != wanted) return fmt::format("it gives {} of {} reduction indices", map.image.size(), wanted);
  std::set<std::string> known(symbols.begin(), symbols.end());
  known.insert(d.from.index.begin(), d.from.index.end());
  known.insert(d.source(map).reduction.begin(), d.source(map).reduction.end());
  std::set<std::string> used;
  for (const Expr& e : map.image)
    e.collectVariables(used);
  for (const Constraint& c : map.when)
    c.expr.collectVariables(used);
  for (const std::string& name : used) {
    if (!known.contains(name)) return fmt::format("{} is no index of the piece", name);
  }
  return "";
}

bool checkForm(Subject& subject, const Direction& d) {
  bool ok = true;
  for (size_t i = 0; i < d.maps.size(); ++i) {
    std::string why = malformed(d, d.maps[i], subject.rule().shapes.symbols);
    if (!why.empty()) subject.record(d.label(i), Verdict::kRefuted, why);
    ok = ok && why.empty();
  }
  return ok;
}

std::string text(const Read& read, const Bindings& at) {
  std::vector<std::string> digits;
  for (const Expr& e : read.at)
    digits.push_back(std::to_string(e.evaluate(at).value_or(0)));
  return fmt::format("{}[{}]", read.input, fmt::join(digits, ", "));
}

std::string product(const Monomials& m, const Bindings& at) {
  std::vector<std::string> factors;
  for (const Read& r : m.reads)
    factors.push_back(text(r, at));
  return fmt::format("{}", fmt::join(factors, " "));
}

/// The map keeps coefficient and factors. Equal factors of one tensor may stand in another order, the same one
/// everywhere.
void checkTerm(Subject& subject, const Direction& d, size_t i, const Formula& given, const Monomials& image) {
  const Monomials& source = d.source(d.maps[i]);
  std::string what = d.label(i) + ": the term stays the same";
  if (source.coefficient != image.coefficient) {
    subject.require(
        fmt::format("{}: {}/{} becomes {}/{}", d.label(i), source.coefficient.numerator, source.coefficient.denominator,
                    image.coefficient.numerator, image.coefficient.denominator),
        given, Formula::no());
    return;
  }
  Answer answer{Verdict::kRefuted, {}, "a product of other inputs"};
  for (const auto& pairing : pairings(source, image)) {
    answer = subject.ask(given, sameReads(source, image, pairing));
    if (answer.verdict != Verdict::kRefuted) break;
    answer.reason = fmt::format("{}: {} becomes {}", subject.describe(answer.witness), product(source, answer.witness),
                                product(image, answer.witness));
    subject.noteWitness(answer.witness);
  }
  subject.record(what, answer.verdict, answer.reason);
}

/// Applying map i and then the other direction comes back to the same term.
void checkInverse(Subject& subject, const Direction& d, size_t i, const Formula& given, const Monomials& target) {
  const ProofMap& map = d.maps[i];
  std::map<std::string, Expr> by;
  for (size_t r = 0; r < target.reduction.size(); ++r)
    by.emplace(target.reduction[r], map.image[r]);
  const auto& reduction = d.source(map).reduction;
  std::vector<Formula> goals;
  for (const ProofMap& back : d.inverse) {
    if (back.from != map.to) continue;
    Formula returns = Formula::no();
    if (back.to == map.from) {
      std::vector<Constraint> same;
      for (size_t r = 0; r < reduction.size(); ++r) {
        same.push_back(Constraint::eq(back.image[r].substitute(by), Expr::variable(reduction[r])));
      }
      returns = Formula::all(same);
    }
    goals.push_back(Formula::implies(Formula::all(back.when).substitute(by), returns));
  }
  subject.require(fmt::format("{}: {} leads back", d.label(i), d.inverseName), given, Formula::all(goals));
}

void checkDirection(Subject& subject, const Direction& d) {
  for (size_t p = 0; p < d.from.pieces.size(); ++p) {
    std::vector<Formula> when;
    for (const ProofMap& m : d.maps) {
      if (static_cast<size_t>(m.from) == p) when.push_back(Formula::all(m.when));
    }
    subject.require(fmt::format("{}: one map for every term of piece {}", d.name, p), d.from.pieces[p].domain,
                    Formula::exactlyOne(when));
  }
  for (size_t i = 0; i < d.maps.size(); ++i) {
    const ProofMap& map = d.maps[i];
    Formula given = Formula::all({d.source(map).domain, Formula::all(map.when)});
    Monomials image = d.target(map).withReduction(map.image);
    subject.require(d.label(i) + ": the image is a term", given, image.domain);
    checkTerm(subject, d, i, given, image);
    checkInverse(subject, d, i, given, d.target(map));
  }
}

}  // namespace

void checkRecord(Subject& subject, const Program& source, const Sum& from, const Sum& to) {
  const Proof& proof = subject.rule().proof;
  Direction forward{"forward", "backward", proof.forward, proof.backward, from, to};
  Direction backward{"backward", "forward", proof.backward, proof.forward, to, from};
  bool readable = checkForm(subject, forward);
  if (!checkForm(subject, backward) || !readable) return;
  checkDirection(subject, forward);
  checkDirection(subject, backward);
  if (!subject.proved()) subject.tellWhoIsWrong(source);
}

}  // namespace pet::check
