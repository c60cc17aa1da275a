#include "synth/judge/pipeline.h"

#include <algorithm>

#include "ir/value_kinds.h"
#include "synth/analysis/depth.h"
#include "synth/analysis/in_full.h"
#include "synth/judge/correct.h"
#include "synth/judge/filter.h"
#include "synth/judge/record.h"
#include "synth/judge/stopwatch.h"
#include "synth/prove/prove.h"

namespace pet {
namespace {

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

/// One candidate on its way. A step changes the rule, or says why the way ends there.
class Way {
 public:
  Way(const Pattern& pattern, const Candidate& candidate, const JudgeOptions& options, StageTimes& seconds)
      : pattern_(pattern), candidate_(candidate), options_(options), seconds_(seconds) {}

  tl::expected<Rule, Drop> run() {
    for (auto step : {&Way::propose, &Way::instantiate, &Way::depth, &Way::identity, &Way::cost, &Way::fingerprint,
                      &Way::proveOrCorrect, &Way::record, &Way::check}) {
      if (auto drop = (this->*step)()) return tl::unexpected(std::move(*drop));
    }
    return std::move(rule_);
  }

 private:
  using Step = std::optional<Drop>;

  poly::Context context() const { return poly::Context(rule_.shapes, options_.operations); }

  /// The generator may have found out itself why there is no program.
  Step propose() {
    if (!candidate_.proposal) return candidate_.proposal.error();
    const Proposal& p = proposal();
    rule_.name = pattern_.name + "/" + p.name;
    rule_.pattern = pattern_.name;
    rule_.family = p.family;
    rule_.depth = depthOf(p.program);
    rule_.where = p.where;
    rule_.shapes = p.shapes;
    rule_.mutant = rule_.replacement = p.program;
    return std::nullopt;
  }

  Step instantiate() {
    if (context().set({}, {}).isEmpty()) return Drop{DropReason::kEmptyClass, ""};
    auto program = pet::instantiate(pattern_, rule_);
    if (!program) return Drop{DropReason::kShape, program.error().what};
    if (computesWithTruth(rule_.replacement)) return Drop{DropReason::kNotApplicable, "computes with truth values"};
    source_.emplace(std::move(*program));
    return std::nullopt;
  }

  Step depth() {
    if (rule_.depth <= std::max({options_.depth, depthOf(source_->program), depthOf(inFull(source_->program))}))
      return std::nullopt;
    return Drop{DropReason::kTooDeep, ""};
  }

  Step identity() {
    if (!sameButForPads(source_->program, rule_.replacement)) return std::nullopt;
    return Drop{DropReason::kIdentity, ""};
  }

  Step cost() {
    Stopwatch watch(seconds_.filter);
    if (auto drop = tooExpensive(context(), *source_, rule_.replacement)) return drop;
    if (proposal().mustSave && !maySave(rule_.shapes, source_->program, rule_.replacement))
      return Drop{DropReason::kCost, "computes more at all shapes"};
    return std::nullopt;
  }

  Step fingerprint() {
    Stopwatch watch(seconds_.filter);
    return differs(context(), *source_, rule_.replacement);
  }

  Step proveOrCorrect() {
    const poly::Context proving = context();
    std::optional<Equality> equality;
    {
      Stopwatch watch(seconds_.prove);
      equality = proveEqual(proving, source_->program, rule_.replacement);
    }
    if (auto* proved = std::get_if<Proved>(&*equality)) {
      rule_.proofs = std::move(proved->proofs);
      return std::nullopt;
    }
    if (auto* unknown = std::get_if<Unknown>(&*equality)) return Drop{DropReason::kUnknown, unknown->reason};
    Stopwatch watch(seconds_.correct);
    return correct(proving, std::get<ProvedOutside>(*equality).bad);
  }

  /// The first correction whose complete program is proved equal.
  Step correct(const poly::Context& proving, const poly::Set& bad) {
    Step drop = Drop{DropReason::kNoCorrection, "wrong at borders"};
    const Uncorrected candidate{rule_.shapes, rule_.replacement, proposal().main};
    for (auto correction : corrections(proving, *source_, candidate, bad)) {
      auto corrected = correction();
      drop = corrected ? proveCorrected(std::move(*corrected))
                       : Drop{DropReason::kNoCorrection, std::move(corrected.error())};
      if (!drop) break;
    }
    return drop;
  }

  Step proveCorrected(Corrected corrected) {
    poly::Context restricted(corrected.shapes, options_.operations);
    if (restricted.set({}, {}).isEmpty()) return Drop{DropReason::kEmptyClass, "after correction"};
    auto whole = proveEqual(restricted, source_->program, corrected.replacement);
    auto* proved = std::get_if<Proved>(&whole);
    if (!proved) {
      auto* unknown = std::get_if<Unknown>(&whole);
      return Drop{DropReason::kUnproved, unknown ? unknown->reason : "still different after correction"};
    }
    rule_.shapes = std::move(corrected.shapes);
    rule_.replacement = std::move(corrected.replacement);
    rule_.boxes = std::move(corrected.boxes);
    rule_.proofs = std::move(proved->proofs);
    return std::nullopt;
  }

  Step record() {
    Stopwatch watch(seconds_.prove);
    rule_ = recorded(pattern_, std::move(rule_));
    return std::nullopt;
  }

  Step check() {
    if (!options_.check) return std::nullopt;
    Stopwatch watch(seconds_.check);
    std::string objection = objectionOfChecker(pattern_, rule_);
    if (objection.empty()) return std::nullopt;
    return Drop{DropReason::kUnchecked, std::move(objection)};
  }

  const Proposal& proposal() const { return *candidate_.proposal; }

  const Pattern& pattern_;
  const Candidate& candidate_;
  const JudgeOptions& options_;
  StageTimes& seconds_;
  std::optional<PatternInstance> source_;
  Rule rule_;
};

}  // namespace

Pipeline::Pipeline(Pattern pattern, const JudgeOptions& options) : pattern_(std::move(pattern)), options_(options) {}

Judged Pipeline::judge(const Candidate& candidate) const {
  Judged judged{Drop{DropReason::kUnknown, ""}, candidate.seconds};
  auto rule = orDrop([&] { return Way(pattern_, candidate, options_, judged.seconds).run(); });
  if (rule) {
    judged.verdict = std::move(*rule);
  } else {
    judged.verdict = std::move(rule.error());
  }
  return judged;
}

namespace {

/// The claim with its proofs, as it enters a pack.
Rule recordedClaim(const Pattern& pattern, Rule rule, std::vector<Proof> proofs) {
  rule.proofs = std::move(proofs);
  rule.mutant = rule.replacement;
  rule.boxes.clear();
  rule.numerics = {Numerics::Kind::kUnbounded, 1, true};  // the safe side, where extents overflow
  auto whole = orDrop([&]() -> tl::expected<Rule, Drop> { return recorded(pattern, rule); });
  return whole ? std::move(*whole) : std::move(rule);
}

}  // namespace

JudgedClaim judgeClaim(const Pattern& pattern, const Rule& claim, const DecideOptions& options) {
  JudgedClaim judged{decide(pattern, claim, options), std::nullopt};
  auto* proved = std::get_if<Proved>(&judged.decision);
  if (!proved) return judged;
  Rule rule = recordedClaim(pattern, claim, proved->proofs);
  if (std::string objection = options.check ? objectionOfChecker(pattern, rule) : ""; !objection.empty()) {
    judged.decision = Unknown{"the checker does not confirm the proof: " + objection};
  } else {
    judged.rule = std::move(rule);
  }
  return judged;
}

}  // namespace pet
