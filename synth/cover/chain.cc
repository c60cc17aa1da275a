#include "synth/cover/chain.h"

#include <algorithm>
#include <array>

#include "ir/ops/op.h"

namespace pet::cover {

using rewrite::Direction;
using rewrite::Equation;
using rewrite::Rewrite;
using rewrite::Terms;

namespace {

using State = std::vector<Value>;  ///< a program by its outputs

Direction opposite(Direction d) {
  return d == Direction::kForward ? Direction::kBackward : Direction::kForward;
}

/// How a program was reached.
struct Arrival {
  State from;
  size_t depth = 0;  ///< rewrites since the side's own program
  size_t equation = 0;
  Direction direction = Direction::kForward;
  Step::Place place = Step::Place::kInstance;
};

/// A program that both sides lead to.
struct Meeting {
  State program;
  size_t length = 0;  ///< of the chain through it
};

/// What one side leads to.
struct Front {
  std::map<State, Arrival> reached;
  std::vector<State> last;  ///< what the last level added
  size_t depth = 0;
};

class ChainSearch {
 public:
  ChainSearch(const Equation& goal, const KnownEquations& known, const ChainLimits& limits)
      : known_(known), limits_(limits), facts_(goal.shapes), anyNumbers_(goal.anyNumbers), terms_(goal.left) {}

  tl::expected<Chain, NoChain> run(const Equation& goal) {
    auto left = terms_.add(goal.left, terms_.inputs()), right = terms_.add(goal.right, terms_.inputs());
    if (!left || !right) return tl::unexpected(NoChain::kNone);
    if (*left == *right) return Chain{};
    most_ = std::max(terms_.nodesOf(*left).size(), terms_.nodesOf(*right).size()) + limits_.more;
    if (limits_.steps == 0) return tl::unexpected(NoChain::kSteps);
    if (auto one = singleStep(*left, *right)) return Chain{{std::move(*one)}};
    if (limits_.steps == 1) return tl::unexpected(NoChain::kSteps);
    for (size_t side : {0, 1}) {
      const State& start = side == 0 ? *left : *right;
      fronts_[side].reached.emplace(start, Arrival{});
      fronts_[side].last = {start};
    }
    for (size_t length = 2; length <= limits_.steps; ++length) {
      while (auto side = nextSide(length))
        advance(*side, length);
      if (meeting_ && meeting_->length <= length) break;
    }
    if (meeting_ && meeting_->length <= limits_.steps) return chainThrough(meeting_->program);
    return tl::unexpected(whyNot());
  }

 private:
  /// Every rewrite of a program that may belong to a chain, in order, until `found` returns true.
  template <class Found>
  void forEach(const State& state, size_t side, Found found) {
    auto implied = [&](const Constraint& c) { return facts_.implies(c); };
    Direction forwards = side == 0 ? Direction::kForward : Direction::kBackward;
    const rewrite::Subject subject(terms_, state);
    for (const KnownEquations::Use& use : known_.candidates(terms_, subject)) {
      if (!limits_.backwards && use.direction != forwards) continue;
      if (!rewrite::leavesOpen(known_.all()[use.equation], anyNumbers_)) continue;
      for (Rewrite& r : rewrite::rewrites(terms_, subject, known_.all()[use.equation], use.direction, implied)) {
        if (found(r, use)) return;
      }
      if (isFull()) return;
    }
  }

  bool isFull() const { return terms_.all().nodes().size() > limits_.values; }

  Step::Place placeOf(const Rewrite& r) const {
    bool inputs = std::all_of(r.match.inputs.begin(), r.match.inputs.end(),
                              [&](Value v) { return terms_.all().node(v).is(ops::kInput); });
    return r.whole && inputs ? Step::Place::kInstance : Step::Place::kShared;
  }

  /// One rewrite of either side that gives the other; an instance rather than anything else.
  std::optional<Step> singleStep(const State& left, const State& right) {
    std::optional<Step> best;
    for (size_t side : {0, 1}) {
      const State &from = side == 0 ? left : right, &to = side == 0 ? right : left;
      forEach(from, side, [&](const Rewrite& r, const KnownEquations::Use& use) {
        if (r.outputs != to) return false;
        Step::Place place = placeOf(r);
        if (!best || (best->place != place && place == Step::Place::kInstance))
          best = Step{use.equation, side == 0 ? use.direction : opposite(use.direction), place, terms_.extract(right)};
        return best->place == Step::Place::kInstance;
      });
      if (best && best->place == Step::Place::kInstance) break;
    }
    return best;
  }

  bool isFull(const Front& f) const { return f.reached.size() >= limits_.programs || isFull(); }

  /// The side with fewer programs to go on from, of those that may belong to a chain of this length and are not as deep
  /// yet. Each goes as deep as the whole chain is long: one side may lead to the other and not the other way. (A Split
  /// of a Concat is what was joined, and nobody reads from what was joined that it can be.)
  std::optional<size_t> nextSide(size_t length) const {
    if (meeting_ && meeting_->length <= length) return std::nullopt;
    std::optional<size_t> best;
    for (size_t side : {0, 1}) {
      const Front& f = fronts_[side];
      if (f.last.empty() || f.depth >= length || isFull(f)) continue;
      if (!best || f.last.size() < fronts_[*best].last.size()) best = side;
    }
    return best;
  }

  NoChain whyNot() const {
    if (isFull(fronts_[0]) || isFull(fronts_[1])) return NoChain::kPrograms;
    return fronts_[0].last.empty() && fronts_[1].last.empty() ? NoChain::kNone : NoChain::kSteps;
  }

  /// One level more, up to where the sides meet in a chain of this length, which is a shortest one: all that shorter
  /// ones can consist of has been looked at.
  void advance(size_t side, size_t length) {
    Front& own = fronts_[side];
    const Front& other = fronts_[1 - side];
    std::vector<State> next;
    ++own.depth;
    auto isDone = [&] { return (meeting_ && meeting_->length <= length) || own.reached.size() >= limits_.programs; };
    for (const State& state : own.last) {
      forEach(state, side, [&](const Rewrite& r, const KnownEquations::Use& use) {
        if (own.reached.contains(r.outputs) || terms_.nodesOf(r.outputs).size() > most_) return false;
        own.reached.emplace(r.outputs, Arrival{state, own.depth, use.equation, use.direction, placeOf(r)});
        next.push_back(r.outputs);
        if (auto there = other.reached.find(r.outputs); there != other.reached.end())
          meet(r.outputs, own.depth + there->second.depth);
        return isDone();
      });
      if (isDone() || isFull()) break;
    }
    own.last = std::move(next);
  }

  void meet(const State& program, size_t length) {
    if (!meeting_ || length < meeting_->length) meeting_ = Meeting{program, length};
  }

  /// Forwards from the left side, then backwards to the right one.
  Chain chainThrough(const State& middle) const {
    Chain chain;
    for (const State* s = &middle; !fronts_[0].reached.at(*s).from.empty();) {
      const Arrival& a = fronts_[0].reached.at(*s);
      chain.steps.push_back({a.equation, a.direction, a.place, terms_.extract(*s)});
      s = &a.from;
    }
    std::reverse(chain.steps.begin(), chain.steps.end());
    for (const State* s = &middle; !fronts_[1].reached.at(*s).from.empty();) {
      const Arrival& a = fronts_[1].reached.at(*s);
      chain.steps.push_back({a.equation, opposite(a.direction), a.place, terms_.extract(a.from)});
      s = &a.from;
    }
    return chain;
  }

  const KnownEquations& known_;
  const ChainLimits& limits_;
  ClassFacts facts_;
  std::vector<double> anyNumbers_;  ///< of the goal
  Terms terms_;
  size_t most_ = 0;
  std::array<Front, 2> fronts_;
  std::optional<Meeting> meeting_;  ///< in the shortest chain so far
};

}  // namespace

std::string_view reasonOf(NoChain why) {
  switch (why) {
    case NoChain::kNone:
      return "the rules do not lead from one side to the other";
    case NoChain::kSteps:
      return "there is no chain of so few rewrites";
    default:
      return "no chain was found among so many programs";
  }
}

tl::expected<Chain, NoChain> findChain(const Equation& goal, const KnownEquations& known, const ChainLimits& limits) {
  try {
    return ChainSearch(goal, known, limits).run(goal);
  } catch (const OverflowError&) {
    return tl::unexpected(NoChain::kNone);
  }
}

}  // namespace pet::cover
