#include "synth/graph/candidates.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"
#include "ir/ops/op.h"
#include "rules/small_shapes.h"
#include "synth/cost.h"
#include "synth/enumerate/plan.h"
#include "synth/filter.h"
#include "synth/finish.h"
#include "synth/graph/exchange.h"
#include "synth/graph/fill.h"
#include "synth/prove/prove.h"
#include "synth/select.h"
#include "synth/shapes.h"
#include "synth/stopwatch.h"

namespace pet {
namespace {

/// Shapes at which costs are compared.
constexpr size_t kCostShapes = 60;
/// Arithmetic of a candidate whose kernels differ, as a multiple of the pattern's.
constexpr double kNotMuchMore = 2;
/// Extents of the shape that a class must hold to be of use.
constexpr int64_t kTypicalExtent = 16;

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

/// The same operators on the same values; only pads may be written in another way.
bool sameButForPads(const Program& a, const Program& b) {
  auto same = [](const Node& m, const Node& n) {
    Attributes am = m.attributes, an = n.attributes;
    am.erase("pads");
    an.erase("pads");
    return m.op == n.op && m.operands == n.operands && am == an;
  };
  return a.outputs() == b.outputs() &&
         std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(), same);
}

/// The operators that compute, with the rank of what they read: a layout moves, and engines fuse a channel's bias.
/// `withWeights`: with the shapes of their weights, too.
std::multiset<std::string> computing(const Program& p, bool withWeights) {
  std::multiset<std::string> result;
  for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i) {
    const Node& n = p.nodes()[static_cast<size_t>(i)];
    if (n.op->name == "Input" || n.op->layout || isConstant(p, {i, 0})) continue;
    bool bias = n.op->name == "Add" &&
                std::any_of(n.operands.begin(), n.operands.end(), [&](Value v) { return isConstant(p, v); });
    if (bias) continue;
    std::string text = fmt::format("{} {}", n.op->name, p.shape(n.operands[0]).size());
    for (Value v : n.operands) {
      if (withWeights && isConstant(p, v)) text += " " + str(p.shape(v));
    }
    result.insert(std::move(text));
  }
  return result;
}

/// True if the candidate has none of some operator of the pattern, or there is a shape at which it computes less, or
/// not much more with other kernels.
bool mayPay(const ShapeClass& shapes, const Program& pattern, const Program& candidate) {
  auto lacks = [&](bool withWeights) {
    const auto before = computing(pattern, withWeights), after = computing(candidate, withWeights);
    return !std::includes(after.begin(), after.end(), before.begin(), before.end());
  };
  if (lacks(false)) return true;
  double factor = lacks(true) ? kNotMuchMore : 1;
  auto pays = [&](const Bindings& at) {
    auto before = arithmetic(pattern, at), after = arithmetic(candidate, at);
    return before && after && *after < factor * *before;
  };
  auto tried = smallShapes(shapes, kCostShapes, 1, [](const Bindings&) { return true; });
  return std::any_of(tried.members.begin(), tried.members.end(), pays);
}

/// Siblings came out as one, with the same weights: what joins them repeats a value, and some operator of the pattern
/// does that for less.
bool joinsOneValue(const Program& p) {
  return std::any_of(p.nodes().begin(), p.nodes().end(), [](const Node& n) {
    const std::set<Value> different(n.operands.begin(), n.operands.end());
    return n.op->name == "Concat" && n.operands.size() > 1 && different.size() == 1;
  });
}

/// One candidate on its way through the stages.
class Judge {
 public:
  Judge(const Pattern& pattern, const GraphOptions& options) : pattern_(pattern), options_(options) {}

  /// The linear parts of pattern and candidate, in which functions are inputs, can be evaluated over F_p.
  struct LinearParts {
    const Program &source, &program;
  };
  void run(Candidate& c, const std::optional<LinearParts>& linear = {}) const {
    try {
      stages(c, linear);
    } catch (const poly::BudgetExceeded& e) {
      end(c, Fate::kUnknown, e.what());
    } catch (const OverflowError& e) {
      end(c, Fate::kShape, e.what());
    }
  }

 private:
  void stages(Candidate& c, const std::optional<LinearParts>& linear) const {
    if (c.rule.depth > std::max(options_.depth, depthOf(pattern_.program))) return end(c, Fate::kTooDeep);
    if (sameButForPads(pattern_.program, c.rule.replacement)) return end(c, Fate::kIdentity);
    {
      Stopwatch watch(c.seconds.filter);
      poly::Context context(c.rule.shapes, options_.budget);
      auto typical = typicalShape(poly::Context(pattern_.shapes), pattern_.program, kTypicalExtent);
      if (typical && !c.rule.shapes.contains(*typical)) return end(c, Fate::kEmptyClass, "of usual shapes");
      if (!mayPay(c.rule.shapes, pattern_.program, c.rule.replacement))
        return end(c, Fate::kCost, "computes more at all shapes");
      if (linear) {
        if (joinsOneValue(c.rule.replacement)) return end(c, Fate::kCost, "its operators are one");
        if (auto fate = filter(context, linear->source, linear->program)) return end(c, *fate);
      }
    }
    Stopwatch watch(c.seconds.prove);
    if (auto wrongFor = prove(c)) restrict(*wrongFor, c);
    if (c.fate == Fate::kKept) finish(pattern_.program, c.rule);
  }

  /// The first part of the class outside `wrongFor` for which the candidate is proved.
  void restrict(const poly::Conjunction& wrongFor, Candidate& c) const {
    end(c, Fate::kNoCorrection, "wrong at borders");
    for (const ShapeClass& part : outside(c.rule.shapes, wrongFor)) {
      Candidate restricted = c;
      restricted.rule.shapes = part;
      end(restricted, Fate::kKept);
      if (poly::Context(part).set({}, {}).isEmpty() || prove(restricted) || restricted.fate != Fate::kKept) continue;
      c = std::move(restricted);
      return;
    }
  }

  /// Proves the candidate; or says why not; or returns for which shapes of its class it is wrong somewhere.
  std::optional<poly::Conjunction> prove(Candidate& c) const {
    poly::Context context(c.rule.shapes, options_.budget);
    Equality equality = proveEqual(context, pattern_.program, c.rule.replacement);
    if (auto* p = std::get_if<Proved>(&equality)) {
      c.rule.proofs = std::move(p->proofs);
    } else if (auto* u = std::get_if<Unknown>(&equality)) {
      end(c, Fate::kUnknown, u->reason);
    } else {
      if (auto shapes = std::get<ProvedOutside>(equality).bad.symbolCondition()) return shapes;
      end(c, Fate::kNoCorrection, "wrong at borders");
    }
    return std::nullopt;
  }

  const Pattern& pattern_;
  const GraphOptions& options_;
};

Candidate failed(const Pattern& pattern, const Skeleton& skeleton, Fate fate, std::string detail) {
  Candidate c;
  c.rule.name = pattern.name + "/" + skeleton.name;
  end(c, fate, std::move(detail));
  return c;
}

/// The cases of a skeleton, or the candidate that says why there are none.
tl::expected<std::vector<Filled>, Candidate> fill(const LinearPart& part, const Skeleton& skeleton) {
  try {
    auto filled = fillHoles(part.pattern, skeleton);
    if (!filled) return tl::unexpected(failed(part.pattern, skeleton, Fate::kNoVote, filled.error()));
    return std::move(*filled);
  } catch (const poly::BudgetExceeded& e) {
    return tl::unexpected(failed(part.pattern, skeleton, Fate::kNoVote, e.what()));
  } catch (const OverflowError& e) {
    return tl::unexpected(failed(part.pattern, skeleton, Fate::kShape, e.what()));
  }
}

std::vector<Candidate> runSkeleton(const SkeletonSpace& space, const Skeleton& skeleton, const GraphOptions& options) {
  double seconds = 0;
  auto filled = [&] {
    Stopwatch watch(seconds);
    return fill(space.part, skeleton);
  }();
  std::vector<Candidate> result;
  if (!filled) result.push_back(std::move(filled.error()));
  for (size_t i = 0; filled && i < filled->size(); ++i) {
    const Filled& f = (*filled)[i];
    auto program = withLeaves(space.part, f.program);
    if (!program) {
      result.push_back(failed(space.part.pattern, skeleton, Fate::kShape, program.error().what));
      continue;
    }
    result.emplace_back();
    std::string name = filled->size() > 1 ? fmt::format("{}/{}", skeleton.name, i + 1) : skeleton.name;
    result.back().rule =
        uncorrectedRule(space.special.pattern.name, name, skeleton.family, space.special.where, f.shapes, *program);
    Judge(space.special.pattern, options).run(result.back(), Judge::LinearParts{space.part.pattern.program, f.program});
  }
  result.front().seconds.build = seconds;
  return result;
}

}  // namespace

std::vector<Candidate> runForms(const SkeletonSpace& space, const SkeletonForms& forms, const GraphOptions& options) {
  std::vector<Candidate> result;
  for (const Skeleton& s : forms) {
    auto candidates = runSkeleton(space, s, options);
    bool kept = std::any_of(candidates.begin(), candidates.end(), [](const auto& c) { return c.fate == Fate::kKept; });
    std::move(candidates.begin(), candidates.end(), std::back_inserter(result));
    if (kept) break;
  }
  return result;
}

std::vector<Candidate> runExchanges(const Pattern& pattern, const GraphOptions& options) {
  std::vector<Candidate> result;
  std::vector<Exchange> found;
  try {
    found = enumerateExchanges(pattern, {.depth = options.depth});
  } catch (const OverflowError&) {
    return result;  // extents of the pattern leave 64 bits
  }
  for (const Exchange& e : found) {
    result.emplace_back();
    ShapeClass shapes = pattern.shapes;
    for (const Constraint& c : obligations(e.program))
      shapes.require(c);
    result.back().rule = uncorrectedRule(pattern.name, e.name, "exchanged", {}, shapes, e.program);
    Judge(pattern, options).run(result.back());
  }
  return result;
}

}  // namespace pet
