#include "synth/judge.h"

#include <algorithm>
#include <set>

#include "synth/finish.h"
#include "synth/prove/prove.h"

namespace pet {
namespace {

/// The part of a program that computes one output.
Program outputOf(const Program& program, size_t output) {
  return ProgramBuilder(program).finish({program.outputs()[output]}).withoutDeadNodes();
}

/// Empty if every output is proved equal, then `rule` has the proof; else why not.
std::string prove(const Pattern& pattern, Rule& rule, unsigned long budget) {
  poly::Context context(rule.shapes, budget);
  size_t outputs = pattern.program.outputs().size();
  if (rule.replacement.outputs().size() != outputs) return "the two sides have different numbers of outputs";
  try {
    if (context.set({}, {}).isEmpty()) return "no shape is in the class";
    if (auto c = failedObligation(context, rule.replacement)) return "the class does not imply " + c->str();
    for (size_t o = 0; o < outputs; ++o) {
      Equality e = proveEqual(context, outputOf(pattern.program, o), outputOf(rule.replacement, o));
      if (const auto* unknown = std::get_if<Unknown>(&e)) return unknown->reason;
      if (std::holds_alternative<ProvedOutside>(e)) return "monomials are left without a partner";
      if (outputs == 1) rule.proof = std::move(std::get<Proved>(e).proof);
    }
  } catch (const poly::BudgetExceeded& e) {
    return e.what();
  }
  return "";
}

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

class Judge {
 public:
  Judge(const std::vector<Narrowing>& narrowings, const JudgeOptions& options)
      : narrowings_(narrowings), options_(options) {}

  Judgement run(Judgement claim) const {
    if (proves(claim)) return claim;
    Evaluation e = evaluate(claim);
    if (!e.counterExample || !e.counterExample->isDifference()) {
      if (!e.holds()) claim.reason += "; " + e.str();
      return claim;
    }
    claim.witness = e.counterExample;
    claim.reason.clear();
    claim.verdict = Verdict::kRefuted;
    return narrowest(claim, 2).value_or(claim);
  }

 private:
  /// Sets the verdict, or the reason.
  bool proves(Judgement& claim) const {
    claim.reason = prove(claim.pattern, claim.rule, options_.budget);
    if (!claim.reason.empty()) return false;
    claim.verdict = Verdict::kProved;
    finish(claim.rule);
    return true;
  }

  Evaluation evaluate(const Judgement& claim) const {
    return evaluateRule(claim.pattern, claim.rule, options_.evaluation);
  }

  /// Proved, or equal at small shapes. Most that are neither differ at the first ones.
  bool seemsTrue(Judgement& claim) const {
    EvaluationOptions few = options_.evaluation;
    few.shapes = std::min<size_t>(few.shapes, 20);
    return evaluateRule(claim.pattern, claim.rule, few).holds() && (proves(claim) || evaluate(claim).holds());
  }

  /// The claim with at most `most` equations more, the fewest that are enough, that does not differ at small shapes.
  std::optional<Judgement> narrowest(const Judgement& claim, int most) const {
    std::vector<Judgement> level{claim};
    for (int depth = 0; depth < most; ++depth) {
      std::vector<Judgement> next;
      for (const Judgement& wide : level) {
        for (const Narrowing& n : narrowings_) {
          auto narrowed = narrow(wide, n);
          if (!narrowed) continue;
          narrowed->verdict = Verdict::kUnknown;
          if (seemsTrue(*narrowed)) return narrowed;
          next.push_back(std::move(*narrowed));
        }
      }
      level = std::move(next);
    }
    return std::nullopt;
  }

  const std::vector<Narrowing>& narrowings_;
  const JudgeOptions& options_;
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

Judgement judge(const Pattern& pattern,
                const Rule& rule,
                const std::vector<Narrowing>& narrowings,
                const JudgeOptions& options) {
  Judgement claim;
  claim.pattern = pattern;
  claim.rule = rule;
  try {
    return Judge(narrowings, options).run(claim);
  } catch (const OverflowError& e) {
    claim.reason = e.what();
    return claim;
  }
}

}  // namespace pet
