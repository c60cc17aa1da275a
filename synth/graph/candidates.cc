#include "synth/graph/candidates.h"

#include <fmt/format.h>

#include "synth/enumerate/plan.h"
#include "synth/filter.h"
#include "synth/finish.h"
#include "synth/graph/fill.h"
#include "synth/prove/prove.h"
#include "synth/select.h"
#include "synth/stopwatch.h"

namespace pet {
namespace {

/// The parts of a class outside the conjunction, as far as each is one constraint more.
std::vector<ShapeClass> outside(const ShapeClass& shapes, const poly::Conjunction& condition) {
  std::vector<ShapeClass> result;
  for (const Constraint& c : condition) {
    if (c.kind == Constraint::Kind::kZero) continue;
    result.push_back(shapes);
    result.back().require(Constraint::lt(c.expr, 0));
  }
  return result;
}

class Run {
 public:
  Run(const Pattern& pattern, const Skeleton& skeleton, const GraphOptions& options)
      : pattern_(pattern), skeleton_(skeleton), options_(options) {}

  std::vector<Candidate> all() const {
    Candidate first;
    std::vector<Filled> filled;
    try {
      Stopwatch watch(first.seconds.build);
      auto made = fillHoles(pattern_, skeleton_);
      if (!made) return {ended(std::move(first), Fate::kNoVote, made.error())};
      filled = std::move(*made);
    } catch (const poly::BudgetExceeded& e) {
      return {ended(std::move(first), Fate::kNoVote, e.what())};
    } catch (const OverflowError& e) {
      return {ended(std::move(first), Fate::kShape, e.what())};
    }
    std::vector<Candidate> result;
    for (size_t i = 0; i < filled.size(); ++i) {
      Candidate c;
      if (i == 0) c.seconds = first.seconds;
      c.rule = ruleOf(filled[i], filled.size() > 1 ? fmt::format("/{}", i + 1) : "");
      try {
        judge(c);
      } catch (const poly::BudgetExceeded& e) {
        c = ended(std::move(c), Fate::kUnknown, e.what());
      } catch (const OverflowError& e) {
        c = ended(std::move(c), Fate::kShape, e.what());
      }
      result.push_back(std::move(c));
    }
    return result;
  }

 private:
  static Candidate ended(Candidate c, Fate fate, std::string detail) {
    c.fate = fate;
    c.detail = std::move(detail);
    return c;
  }

  Rule ruleOf(const Filled& f, const std::string& number) const {
    return {.name = pattern_.name + "/" + skeleton_.name + number,
            .pattern = pattern_.name,
            .family = skeleton_.family,
            .depth = depthOf(f.program),
            .where = {},
            .shapes = f.shapes,
            .mutant = f.program,
            .boxes = {},
            .replacement = f.program,
            .numerics = {},
            .proof = {}};
  }

  void judge(Candidate& c) const {
    if (c.rule.depth > options_.depth) return void(c.fate = Fate::kTooDeep);
    if (canonicalText(c.rule.replacement) == canonicalText(pattern_.program)) return void(c.fate = Fate::kIdentity);
    {
      Stopwatch watch(c.seconds.filter);
      poly::Context context(c.rule.shapes, options_.budget);
      if (auto fate = filter(context, pattern_.program, c.rule.replacement)) return void(c.fate = *fate);
    }
    Stopwatch watch(c.seconds.prove);
    if (auto wrongFor = prove(c)) {
      c = ended(std::move(c), Fate::kNoCorrection, "wrong outside the class");
      for (const ShapeClass& part : outside(c.rule.shapes, *wrongFor)) {
        Candidate restricted = c;
        restricted.rule.shapes = part;
        restricted.fate = Fate::kKept;
        if (poly::Context(part).set({}, {}).isEmpty() || prove(restricted)) continue;
        c = std::move(restricted);
        if (c.fate == Fate::kKept) break;
      }
    }
    if (c.fate == Fate::kKept) finish(c.rule);
  }

  /// Proves the candidate; or says why not; or returns for which shapes of its class it is wrong somewhere.
  std::optional<poly::Conjunction> prove(Candidate& c) const {
    poly::Context context(c.rule.shapes, options_.budget);
    Equality equality = proveEqual(context, pattern_.program, c.rule.replacement);
    if (auto* p = std::get_if<Proved>(&equality)) {
      c.rule.proof = std::move(p->proof);
    } else if (auto* u = std::get_if<Unknown>(&equality)) {
      c = ended(std::move(c), Fate::kUnknown, u->reason);
    } else {
      if (auto shapes = std::get<ProvedOutside>(equality).bad.symbolCondition()) return shapes;
      c = ended(std::move(c), Fate::kNoCorrection, "wrong at borders");
    }
    return std::nullopt;
  }

  const Pattern& pattern_;
  const Skeleton& skeleton_;
  const GraphOptions& options_;
};

}  // namespace

std::vector<Candidate> runSkeleton(const Pattern& pattern, const Skeleton& skeleton, const GraphOptions& options) {
  return Run(pattern, skeleton, options).all();
}

}  // namespace pet
