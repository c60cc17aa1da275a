#include "rules/check/check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/check/agree.h"
#include "rules/check/claim.h"
#include "rules/check/solve.h"

namespace pet {

using check::Claim;
using check::Claims;
using check::Formula;
using check::Verdict;

bool CheckReport::proved() const {
  return std::all_of(steps.begin(), steps.end(), [](const CheckStep& s) { return s.verdict == Verdict::kProved; });
}

std::string CheckReport::reason() const {
  for (const CheckStep& s : steps) {
    if (s.verdict != Verdict::kProved) return s.reason.empty() ? s.what : s.what + ": " + s.reason;
  }
  return "";
}

namespace check {
namespace {

Expected<Side> sideOf(std::string noun, const Program& program, size_t output, Names& names, const Unfolded& unfolded) {
  auto meaning = meaningOf(program, output, names, unfolded);
  if (!meaning) return tl::unexpected(meaning.error());
  Side side{std::move(noun), program, std::move(*meaning), {}};
  for (Value v : program.inputs())
    side.inputs.push_back(program.name(v));
  return side;
}

/// What a record unfolds is said to be something else.
Claims unfoldClaims(const Proof& proof) {
  Claims claims;
  for (const std::string& op : proof.unfold) {
    if (!canBeUnfolded(op)) claims.push_back(fails("unfold " + op, "no operator with a definition or a law"));
  }
  return claims;
}

/// Says of which output the claims are, where there are several.
Claims ofOutput(const Proof& proof, Claims claims) {
  for (Claim& c : claims) {
    if (!proof.output.empty()) c.what = fmt::format("output {}: {}", proof.output, c.what);
  }
  return claims;
}

/// What both the check and the export go through: the parts of claims, one after the other. `show` says whether it is
/// of use to go on.
template <class Show>
void goThrough(const Pattern& pattern, const Rule& rule, Show show) {
  auto source = instantiate(pattern, rule);
  if (!source) {
    show(Claims{open("the pattern over the rule's symbols", source.error().message())});
    return;
  }
  Claims first = classClaims(pattern, rule, *source);
  for (const Claims& more : {numberClaims(pattern, rule, *source), shapeClaims(rule, *source)})
    first.insert(first.end(), more.begin(), more.end());
  if (!show(first)) return;
  Names names;
  std::vector<Side> sides;
  auto add = [&](const std::string& noun, const Program& program, size_t output) {
    auto side = sideOf(noun, program, output, names, rule.proofs[output].unfold);
    if (!side) {
      show(Claims{open(fmt::format("the {} as a sum of products", noun), side.error().message())});
      return false;
    }
    sides.push_back(std::move(*side));
    return true;
  };
  for (size_t o = 0; o < rule.proofs.size(); ++o) {
    names = {};
    sides.clear();
    if (!show(ofOutput(rule.proofs[o], unfoldClaims(rule.proofs[o])))) return;
    if (!add("pattern", *source, o) || !add("replacement", rule.replacement, o)) return;
    if (!show(ofOutput(rule.proofs[o], recordClaims(rule, rule.proofs[o], sides[0], sides[1])))) return;
  }
  if (!show(numericsClaims(pattern, rule, *source)) || rule.boxes.empty()) return;
  if (add("mutant", rule.mutant, 0)) show(boxClaims(rule, sides[1], sides[2]));
}

}  // namespace

std::vector<Claims> claimsOf(const Pattern& pattern, const Rule& rule) {
  std::vector<Claims> parts;
  goThrough(pattern, rule, [&](const Claims& part) {
    parts.push_back(part);
    return std::none_of(part.begin(), part.end(),
                        [](const Claim& c) { return c.kind == Claim::Kind::kFails || c.kind == Claim::Kind::kOpen; });
  });
  return parts;
}

namespace {

/// Asks the solver for every claim.
class Checker {
 public:
  Checker(const Rule& rule, const CheckOptions& options, CheckReport& report)
      : rule_(rule), solver_(rule.shapes.constraints, options.steps), report_(report) {}

  /// The parts in order, as long as all is proved.
  void run(const Pattern& pattern) {
    auto source = instantiate(pattern, rule_);
    goThrough(pattern, rule_, [&](const Claims& part) {
      for (const Claim& claim : part)
        show(claim, source ? &*source : nullptr);
      return report_.proved();
    });
    if (source && !report_.proved()) tellWhoIsWrong(*source);
    report_.queries = solver_.queries();
  }

 private:
  const Rule& rule_;
  Solver solver_;
  CheckReport& report_;
  std::optional<Bindings> witness_;

  void record(const std::string& what, Verdict verdict, const std::string& reason) {
    report_.steps.push_back({what, verdict, reason});
  }

  void show(const Claim& claim, const Program* source) {
    if (claim.kind == Claim::Kind::kFails) return record(claim.what, Verdict::kRefuted, claim.reason);
    if (claim.kind == Claim::Kind::kOpen) return record(claim.what, Verdict::kUnknown, claim.reason);
    if (claim.kind == Claim::Kind::kPossible) return showPossible(claim);
    Answer answer = solver_.implies(claim.given, claim.goal);
    if (answer.verdict != Verdict::kRefuted) return record(claim.what, answer.verdict, answer.reason);
    std::string at = describe(answer.witness);
    if (!claim.sufficient) {
      if (!witness_) witness_ = answer.witness;
      return record(claim.what, Verdict::kRefuted, at);
    }
    // The sufficient condition may be at fault; only an evaluation that differs refutes.
    std::vector<std::string> index;
    for (size_t d = 0; answer.witness.contains(fmt::format("v{}", d)); ++d)
      index.push_back(fmt::format("v{}", d));
    bool differs = source && agreeAt(*source, rule_.mutant, answer.witness, outsideBoxes(rule_, index)) == false;
    record(claim.what, differs ? Verdict::kRefuted : Verdict::kUnknown,
           fmt::format("{} at {}", differs ? "mutant and pattern differ" : claim.reason, at));
  }

  void showPossible(const Claim& claim) {
    Answer impossible = solver_.implies(claim.given, Formula::no());
    switch (impossible.verdict) {
      case Verdict::kProved:
        return record(claim.what, Verdict::kRefuted, claim.reason);
      case Verdict::kRefuted:
        return record(claim.what, Verdict::kProved, "");
      case Verdict::kUnknown:
        return record(claim.what, Verdict::kUnknown, impossible.reason);
    }
  }

  /// "N = 1, W = 2; v = [0, 1]; c_1 = 0".
  std::string describe(const Bindings& witness) const {
    Bindings rest = witness;
    std::vector<std::string> symbols, position, others;
    for (const std::string& s : rule_.shapes.symbols) {
      auto it = rest.find(s);
      if (it == rest.end()) continue;
      symbols.push_back(fmt::format("{} = {}", s, it->second));
      rest.erase(it);
    }
    for (auto it = rest.find("v0"); it != rest.end(); it = rest.find(fmt::format("v{}", position.size()))) {
      position.push_back(std::to_string(it->second));
      rest.erase(it);
    }
    for (const auto& [name, value] : rest)
      others.push_back(fmt::format("{} = {}", name, value));
    std::string text = fmt::format("{}", fmt::join(symbols, ", "));
    if (!position.empty()) text += fmt::format("; v = [{}]", fmt::join(position, ", "));
    if (!others.empty()) text += fmt::format("; {}", fmt::join(others, ", "));
    return text;
  }

  /// Adds to the first failed step whether pattern and replacement differ at the counter-example's shape, or only the
  /// record is wrong.
  void tellWhoIsWrong(const Program& source) {
    auto failed = std::find_if(report_.steps.begin(), report_.steps.end(),
                               [](const CheckStep& s) { return s.verdict == Verdict::kRefuted; });
    if (failed == report_.steps.end() || !witness_) return;
    auto agree = agreeAt(source, rule_.replacement, *witness_, {});
    if (!agree) return;
    failed->reason += *agree ? " (the programs agree at this shape: it is the record that is wrong)"
                             : " (the programs differ at this shape)";
  }
};

}  // namespace
}  // namespace check

CheckReport checkRule(const Pattern& pattern, const Rule& rule, const CheckOptions& options) {
  CheckReport report;
  try {
    check::Checker(rule, options, report).run(pattern);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {  // an overflow in the affine arithmetic, or the solver's own
    report.steps.push_back({"the check", Verdict::kUnknown, e.what()});
  }
  return report;
}

}  // namespace pet
