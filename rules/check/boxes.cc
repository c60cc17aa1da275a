#include <fmt/format.h>

#include "rules/check/subject.h"

// Outside its boxes the mutant equals the pattern. The replacement is known to equal the pattern by now, and outside
// the boxes it holds the mutant's own values: there, the terms of both are the same under the same reduction indices,
// one by one.
namespace pet::check {
namespace {

/// v lies in the box.
Formula inside(const Box& box, const std::vector<std::string>& index) {
  std::vector<Constraint> in;
  for (size_t d = 0; d < index.size(); ++d) {
    Expr v = Expr::variable(index[d]);
    const BoxRange& range = box.ranges[d];
    in.push_back(Constraint::le(range.lower, v));
    in.push_back(Constraint::lt(v, range.upper));
    if (range.step != 1) in.push_back(Constraint::eq(modulo(v - range.lower, range.step), 0));
  }
  return Formula::all(in);
}

std::string malformed(const Rule& rule, size_t rank) {
  std::set<std::string> used, declared(rule.shapes.symbols.begin(), rule.shapes.symbols.end());
  for (const Box& box : rule.boxes) {
    if (box.ranges.size() != rank)
      return fmt::format("a box has {} ranges, the output {} digits", box.ranges.size(), rank);
    for (const BoxRange& range : box.ranges) {
      if (range.step < 1) return "a box has a step < 1";
      range.lower.collectVariables(used);
      range.upper.collectVariables(used);
    }
  }
  for (const std::string& s : used) {
    if (!declared.contains(s)) return s + " is not declared";
  }
  return "";
}

/// The term of `a` at (v, ρ) is also the term of `b` at (v, ρ).
Formula sameTerm(const Monomials& a, const Monomials& b) {
  if (a.reduction.size() != b.reduction.size() || a.coefficient != b.coefficient) return Formula::no();
  auto orders = pairings(a, b);
  if (orders.empty()) return Formula::no();
  std::vector<Expr> names;
  for (const std::string& r : a.reduction)
    names.push_back(Expr::variable(r));
  Monomials renamed = b.withReduction(names);
  return Formula::all({renamed.domain, sameReads(a, renamed, orders.front())});
}

}  // namespace

void checkBoxes(Subject& subject, const Program& source, const Sum& replacement, const Sum& mutant) {
  const Rule& rule = subject.rule();
  std::string unsound = malformed(rule, replacement.index.size());
  if (!unsound.empty()) return subject.record("the boxes", Verdict::kRefuted, unsound);
  std::vector<Formula> notInBox;
  for (const Box& box : rule.boxes)
    notInBox.push_back(Formula::negation(inside(box, replacement.index)));
  Formula outside = Formula::all(notInBox);

  auto compare = [&](const std::string& noun, const Sum& from, const Sum& to) {
    for (size_t p = 0; p < from.pieces.size(); ++p) {
      std::vector<Formula> partners;
      for (const Monomials& other : to.pieces) {
        Formula same = sameTerm(from.pieces[p], other);
        if (same.kind != Formula::Kind::kFalse) partners.push_back(std::move(same));
      }
      std::string what = fmt::format("outside the boxes: terms of the {}'s piece {}", noun, p);
      Answer answer = subject.ask(Formula::all({from.pieces[p].domain, outside}), Formula::exactlyOne(partners));
      if (answer.verdict != Verdict::kRefuted) {
        subject.record(what, answer.verdict, answer.reason);
        continue;
      }
      // The matching of terms may be at fault; only an evaluation that differs refutes the boxes.
      std::string at = subject.describe(answer.witness);
      bool differs = agreeAt(source, rule.mutant, answer.witness, outside) == false;
      subject.record(what, differs ? Verdict::kRefuted : Verdict::kUnknown,
                     differs ? "mutant and pattern differ at " + at : "no term of the other program matches at " + at);
    }
  };
  compare("mutant", mutant, replacement);
  compare("replacement", replacement, mutant);
}

}  // namespace pet::check
