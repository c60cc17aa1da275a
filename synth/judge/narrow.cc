#include "synth/judge/narrow.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "synth/judge/pipeline.h"

namespace pet {
namespace {

std::optional<ShapeClass> narrow(const ShapeClass& shapes, const std::map<std::string, Expr>& by) {
  ShapeClass result;
  for (const std::string& s : shapes.symbols) {
    if (!by.contains(s)) result.symbols.push_back(s);
  }
  for (const Constraint& c : shapes.constraints) {
    Constraint narrowed = c.substitute(by);
    if (narrowed.decided() == false) return std::nullopt;
    result.require(narrowed);
  }
  return result;
}

/// The claim over the shapes that satisfy one equation more; nullopt where none do.
std::optional<Judgement> narrow(const Judgement& j, const Narrowing& n) {
  std::set<std::string> symbols(j.rule.shapes.symbols.begin(), j.rule.shapes.symbols.end()),
      used = n.second.variables();
  if (!symbols.contains(n.first) || !std::includes(symbols.begin(), symbols.end(), used.begin(), used.end())) {
    return std::nullopt;  // an earlier equation has replaced them
  }
  std::map<std::string, Expr> by{n};
  auto shapes = narrow(j.pattern.shapes, by), ruleShapes = narrow(j.rule.shapes, by);
  auto source = j.pattern.program.substitute(by), replacement = j.rule.replacement.substitute(by);
  if (!shapes || !ruleShapes || !source || !replacement) return std::nullopt;
  Judgement result = j;
  result.pattern.shapes = std::move(*shapes);
  result.pattern.program = std::move(*source);
  result.rule.shapes = std::move(*ruleShapes);
  result.rule.mutant = *replacement;
  result.rule.replacement = std::move(*replacement);
  result.narrowed.push_back(n);
  return result;
}

class Narrower {
 public:
  Narrower(const std::vector<Narrowing>& narrowings, const DecideOptions& options, int most)
      : narrowings_(narrowings), options_(options), most_(most) {}

  Judgement run(Judgement claim) const {
    decideClaim(claim);
    return claim.verdict == Verdict::kRefuted ? narrowest(claim).value_or(claim) : claim;
  }

 private:
  /// Sets the verdict and what belongs to it: records, a witness (that of a wider claim stays where there is none), or
  /// a reason.
  void decideClaim(Judgement& claim) const {
    auto [d, rule] = judgeClaim(claim.pattern, claim.rule, options_);
    claim.reason.clear();
    if (rule) {
      claim.verdict = Verdict::kProved;
      claim.rule = std::move(*rule);
    } else if (auto witness = witnessOf(d)) {
      claim.verdict = Verdict::kRefuted;
      claim.witness = std::move(witness);
    } else {
      claim.verdict = Verdict::kUnknown;
      claim.reason = reasonOf(d);
    }
  }

  /// A position at which values differ: what is equal outside boxes only is not equal.
  static std::optional<Witness> witnessOf(const Decision& d) {
    if (const auto* refuted = std::get_if<Refuted>(&d)) return refuted->witness;
    const auto* outside = std::get_if<ProvedOutsideBoxes>(&d);
    return outside ? outside->witness : std::nullopt;
  }

  static std::string reasonOf(const Decision& d) {
    if (const auto* unknown = std::get_if<Unknown>(&d)) return unknown->reason;
    if (const auto* violated = std::get_if<Violated>(&d)) return violated->reason();
    return "equal outside boxes; evaluation finds no difference in them";
  }

  /// The claim with at most `most_` equations more, the fewest that are enough, that is proved or does not differ at
  /// small shapes.
  std::optional<Judgement> narrowest(const Judgement& claim) const {
    std::vector<Judgement> level{claim};
    for (int depth = 0; depth < most_; ++depth) {
      std::vector<Judgement> next;
      for (const Judgement& wide : level) {
        for (const Narrowing& n : narrowings_) {
          auto narrowed = narrow(wide, n);
          if (!narrowed) continue;
          decideClaim(*narrowed);
          if (narrowed->verdict != Verdict::kRefuted) return narrowed;
          narrowed->witness = claim.witness;
          next.push_back(std::move(*narrowed));
        }
      }
      level = std::move(next);
    }
    return std::nullopt;
  }

  const std::vector<Narrowing>& narrowings_;
  const DecideOptions& options_;
  int most_;
};

}  // namespace

std::string_view verdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return "proved";
    case Verdict::kRefuted:
      return "refuted";
    default:
      return "unknown";
  }
}

std::string witnessLine(const Witness& w) {
  if (w.position.empty() && w.patternValue.empty()) {
    return fmt::format("at {}: {} is {}, not {}", shapeText(w.symbols), w.output, str(w.patternExtents),
                       str(w.candidateExtents));
  }
  return fmt::format("at {}: {}[{}] = {}, not {}", shapeText(w.symbols), w.output, fmt::join(w.position, ", "),
                     w.patternValue, w.candidateValue);
}

Judgement judge(const Pattern& pattern,
                const Rule& rule,
                const std::vector<Narrowing>& narrowings,
                const DecideOptions& options,
                int most) {
  Judgement claim;
  claim.pattern = pattern;
  claim.rule = rule;
  try {
    return Narrower(narrowings, options, most).run(claim);
  } catch (const OverflowError& e) {
    claim.reason = e.what();
    return claim;
  }
}

}  // namespace pet
