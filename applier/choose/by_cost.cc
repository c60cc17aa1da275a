#include "applier/choose/by_cost.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "applier/choose/layout_savings.h"
#include "applier/choose/same_place.h"
#include "ir/pbqp.h"
#include "ir/quantile.h"

namespace pet {
namespace {

/// Of what meeting layouts seem to save, so much counts: alone they take longer than where engines fuse them.
constexpr double kTrust = 0.6;
/// So many times as fast rules must at least be that pay only where their layouts meet: what an engine takes into its
/// operators (ONNX Runtime's products take Transposes) it does not save there.
constexpr double kLeastAlone = 0.95;
/// So much the estimate of a gain counts beside its bound: it decides where bounds are equal, whatever is rounded.
constexpr double kOfEstimate = 0.01;
/// How often groups are made to agree on what their nodes take.
constexpr int kFittingRounds = 8;

/// What a replacement takes, but for noise and the predictor's error. Decisions are made by this, so that a rule that
/// may lose is not carried along by one that wins. What is timed on the engine counts for what is expected of it.
/// `margin`: for other CPUs.
double atMost(const CostEstimate& cost, const Policy& policy, double margin) {
  return policy.isMeasured ? cost.replacement : cost.pattern * margin / cost.lower;
}

/// "1.44 on other CPUs, where such figures are off by up to 1.50 (--measure)".
Reason otherCpus(double ratio, double margin) {
  return {ReasonKind::kOtherCpus,
          fmt::format("{:.2f} on other CPUs, where such figures are off by up to {:.2f} (--measure)", ratio, margin),
          ratio};
}

/// The problem that chooseByCost() solves: a variable for each set of nodes, whose alternatives are to leave it as it
/// is (0) and the candidates that would replace just these nodes.
class Chooser {
 public:
  Chooser(const MatchIndex& index,
          const std::vector<PricedRewrite>& candidates,
          const Costs& costs,
          const Policy& policy)
      : candidates_(candidates), sizes_(index.sizes()), policy_(policy), banned_(candidates.size()) {
    for (const PricedRewrite& c : candidates)
      moves_.push_back(movesActivations(c.rewrite.replacement));
    group();
    findOverlaps();
    seconds_ = secondsOfGroups();
    LayoutSavings savings(index);
    findSavings(savings, costs.layoutSecondsPerByte);
  }

  /// The best choice without what is banned, by position.
  std::vector<size_t> solve() const;
  void ban(size_t candidate) { banned_[candidate] = true; }
  /// The chosen candidates in groups whose layouts meet.
  std::vector<std::vector<size_t>> groupsOf(const std::vector<size_t>& chosen) const;
  /// Why a group does not gain enough at one of the samples, even with what its layouts save by meeting.
  std::optional<Loss> loss(const std::vector<size_t>& group) const;
  /// The one of a group that gains the least by itself, at a sample.
  size_t weakest(const std::vector<size_t>& group, size_t sample) const;
  /// At the typical sizes.
  const CostEstimate& typical(size_t candidate) const { return candidates_[candidate].costs[sizes_.typicalIndex()]; }

 private:
  struct Saving {
    size_t a, b;
    std::vector<double> seconds;  ///< at each sample
  };
  void group();
  void findOverlaps();
  void findSavings(LayoutSavings& savings, double secondsPerByte);
  void enterSaving(size_t a, size_t b, const std::vector<int64_t>& bytes, double secondsPerByte);
  /// What the group costs at a sample with these of `savings_`, which are within it; or why that does not pay.
  Gain gainAt(const std::vector<size_t>& group, const std::vector<size_t>& within, size_t sample) const;
  const Site& siteOf(size_t candidate) const { return candidates_[candidate].rewrite.site; }
  /// What the nodes of each group take at the typical sizes, so that groups agree on what a node takes: candidates'
  /// samples are of several days and predictors, which a choice between these must not depend on.
  std::vector<double> secondsOfGroups() const;

  const std::vector<PricedRewrite>& candidates_;
  const ModelSizes& sizes_;
  const Policy& policy_;
  std::vector<bool> banned_, moves_;
  std::vector<std::vector<size_t>> groups_;       ///< candidates for the same nodes
  std::vector<double> seconds_;                   ///< of each group, without any of its rules
  std::map<int, std::vector<size_t>> groupsAt_;   ///< by node
  std::set<std::pair<size_t, size_t>> overlaps_;  ///< groups that share a node; the later one first
  std::vector<Saving> savings_;
  std::map<size_t, std::vector<size_t>> savingsOf_;  ///< by Saving::a
};

void Chooser::group() {
  std::map<std::vector<int>, std::vector<size_t>> byNodes;
  for (size_t c = 0; c < candidates_.size(); ++c) {
    auto& group = byNodes[siteOf(c).nodes];
    bool known = std::any_of(group.begin(), group.end(),
                             [&](size_t other) { return sameBut(candidates_[other].rewrite, candidates_[c].rewrite); });
    if (!known) group.push_back(c);
  }
  for (auto& [nodes, group] : byNodes)
    groups_.push_back(std::move(group));
}

void Chooser::findOverlaps() {
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (int node : siteOf(groups_[g][0]).nodes) {
      for (size_t other : groupsAt_[node])
        overlaps_.emplace(g, other);
      groupsAt_[node].push_back(g);
    }
  }
}

void Chooser::findSavings(LayoutSavings& savings, double secondsPerByte) {
  for (const auto& from : groups_) {
    std::set<size_t> near;
    for (int node : savings.behind(siteOf(from[0]))) {
      if (auto at = groupsAt_.find(node); at != groupsAt_.end()) near.insert(at->second.begin(), at->second.end());
    }
    for (size_t g : near) {
      const auto& to = groups_[g];
      if (overlap(siteOf(from[0]).nodes, siteOf(to[0]).nodes)) continue;
      auto meeting = savings.between(siteOf(from[0]), siteOf(to[0]));
      if (!meeting) continue;
      for (size_t a : from) {
        for (size_t b : to) {
          if (!moves_[a] || !moves_[b]) continue;
          enterSaving(a, b, savings.bytes(candidates_[a].rewrite, candidates_[b].rewrite, *meeting), secondsPerByte);
        }
      }
    }
  }
}

void Chooser::enterSaving(size_t a, size_t b, const std::vector<int64_t>& bytes, double secondsPerByte) {
  Saving saving{a, b, {}};
  for (size_t s = 0; s < bytes.size(); ++s) {
    const double most = (candidates_[a].costs[s].replacement + candidates_[b].costs[s].replacement) / 2;
    saving.seconds.push_back(kTrust * std::min(static_cast<double>(bytes[s]) * secondsPerByte, most));
  }
  if (saving.seconds[sizes_.typicalIndex()] <= 0) return;
  savingsOf_[a].push_back(savings_.size());
  savings_.push_back(std::move(saving));
}

std::vector<double> Chooser::secondsOfGroups() const {
  std::vector<double> timed;
  for (const auto& group : groups_) {
    std::vector<double> seconds;
    for (size_t c : group)
      seconds.push_back(typical(c).pattern);
    timed.push_back(median(std::move(seconds)));
  }
  auto nodesOf = [&](size_t g) -> const std::vector<int>& { return siteOf(groups_[g][0]).nodes; };
  std::vector<size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return nodesOf(a).size() < nodesOf(b).size(); });
  // What a node takes is its share of the smallest group's seconds; then each group's share is stretched to what the
  // group took, the largest ones last, which were timed at once.
  std::map<int, double> share;
  for (size_t g : order) {
    for (int node : nodesOf(g))
      share.emplace(node, timed[g] / static_cast<double>(nodesOf(g).size()));
  }
  std::vector<double> seconds(groups_.size());
  auto add = [&](size_t g) {
    seconds[g] = 0;
    for (int node : nodesOf(g))
      seconds[g] += share[node];
  };
  for (int round = 0; round < kFittingRounds; ++round) {
    for (size_t g : order) {
      add(g);
      for (int node : nodesOf(g))
        share[node] *= timed[g] / seconds[g];
    }
  }
  for (size_t g : order)
    add(g);
  return seconds;
}

std::vector<size_t> Chooser::solve() const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  Pbqp problem;
  std::map<size_t, std::pair<int, int>> place;  // of a candidate: variable, alternative
  for (const auto& group : groups_) {
    std::vector<double> costs{0};
    int variable = static_cast<int>(&group - groups_.data());
    for (size_t c : group) {
      place[c] = {variable, static_cast<int>(costs.size())};
      const double most = atMost(typical(c), policy_, typical(c).margin);
      const double share = std::lerp(most, typical(c).replacement, kOfEstimate) / typical(c).pattern;
      costs.push_back(banned_[c] ? kNever : (share - 1) * seconds_[static_cast<size_t>(variable)]);
    }
    problem.variable(std::move(costs));
  }
  auto together = [&](size_t a, size_t b, double cost) {
    auto [va, ia] = place.at(a);
    auto [vb, ib] = place.at(b);
    problem.together(va, ia, vb, ib, cost);
  };
  for (const auto& [i, j] : overlaps_) {
    for (size_t a : groups_[i]) {
      for (size_t b : groups_[j])
        together(a, b, kNever);
    }
  }
  for (const Saving& s : savings_)
    together(s.a, s.b, -s.seconds[sizes_.typicalIndex()]);
  auto solution = problem.solve();
  std::vector<size_t> chosen;
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (int alternative = solution.choice[g]; alternative > 0)
      chosen.push_back(groups_[g][static_cast<size_t>(alternative) - 1]);
  }
  return chosen;
}

std::vector<std::vector<size_t>> Chooser::groupsOf(const std::vector<size_t>& chosen) const {
  std::map<size_t, size_t> leader;  // of one that leads nobody: who leads it; the first of a group leads itself
  for (size_t c : chosen)
    leader[c] = c;
  auto leaderOf = [&](size_t c) {
    while (leader[c] != c)
      c = leader[c] = leader[leader[c]];
    return c;
  };
  for (const Saving& s : savings_) {
    if (!leader.contains(s.a) || !leader.contains(s.b)) continue;
    const size_t a = leaderOf(s.a), b = leaderOf(s.b);
    leader[std::max(a, b)] = std::min(a, b);
  }
  std::map<size_t, std::vector<size_t>> byLeader;
  for (size_t c : chosen)
    byLeader[leaderOf(c)].push_back(c);
  std::vector<std::vector<size_t>> groups;
  for (auto& [l, group] : byLeader)
    groups.push_back(std::move(group));
  return groups;
}

size_t Chooser::weakest(const std::vector<size_t>& group, size_t sample) const {
  return *std::min_element(group.begin(), group.end(), [&](size_t a, size_t b) {
    return candidates_[a].costs[sample].ratio() < candidates_[b].costs[sample].ratio();
  });
}

Gain Chooser::gainAt(const std::vector<size_t>& group, const std::vector<size_t>& within, size_t sample) const {
  double saved = 0;
  for (size_t s : within)
    saved += savings_[s].seconds[sample];
  CostEstimate sum{.pattern = 0, .replacement = -saved};
  double most = -saved, mostHere = -saved;  // with the margin for other CPUs, and without
  for (size_t c : group) {
    const CostEstimate& cost = candidates_[c].costs[sample];
    sum.pattern += cost.pattern;
    sum.replacement += cost.replacement;
    sum.measured = sum.measured || cost.measured;
    sum.guessed = sum.guessed || cost.guessed;
    sum.margin = std::max(sum.margin, cost.margin);
    most += atMost(cost, policy_, cost.margin);
    mostHere += atMost(cost, policy_, 1);
  }
  if (sum.ratio() < policy_.minGain) return tl::unexpected(noGain(sum));
  if (sum.pattern < kLeastAlone * (sum.replacement + saved) && !policy_.isMeasured)
    return tl::unexpected(Reason{ReasonKind::kUnsure,
                                 fmt::format("{:.2f} by layouts that meet, which was not timed", sum.ratio()),
                                 sum.ratio()});
  if (sum.pattern <= most && sum.pattern > mostHere) return tl::unexpected(otherCpus(sum.ratio(), sum.margin));
  if (sum.pattern <= most)
    return tl::unexpected(
        Reason{ReasonKind::kUnsure,
               fmt::format("{:.2f}, but within the {}", sum.ratio(), sum.guessed ? "doubt of a guess" : "noise"),
               sum.ratio()});
  return sum;
}

std::optional<Loss> Chooser::loss(const std::vector<size_t>& group) const {
  const std::set<size_t> members(group.begin(), group.end());
  std::set<size_t> within;  // of savings_, in their order
  for (size_t c : members) {
    auto of = savingsOf_.find(c);
    if (of == savingsOf_.end()) continue;
    std::copy_if(of->second.begin(), of->second.end(), std::inserter(within, within.end()),
                 [&](size_t s) { return members.contains(savings_[s].b); });
  }
  std::vector<Gain> gains;
  for (size_t sample = 0; sample < sizes_.samples().size(); ++sample)
    gains.push_back(gainAt(group, {within.begin(), within.end()}, sample));
  return worstOf(gains, sizes_);
}

/// What is wrong with a choice: candidates to leave out, with the reason. Of a group that does not pay it is the one
/// that gains the least by itself, where the group loses: the others may do without it.
std::map<size_t, Reason> objections(const Chooser& chooser,
                                    const std::vector<size_t>& chosen,
                                    const std::vector<PricedRewrite>& candidates,
                                    size_t typical,
                                    const LastWord& lastWord) {
  std::map<size_t, Reason> result;
  auto groups = chooser.groupsOf(chosen);
  for (const auto& group : groups) {
    if (auto loss = chooser.loss(group)) result[chooser.weakest(group, loss->sample)] = std::move(loss->reason);
  }
  if (!result.empty()) return result;
  std::vector<const Rewrite*> all;
  for (size_t c : chosen)
    all.push_back(&candidates[c].rewrite);
  if (auto vetoed = lastWord.veto(all)) return {{chosen[vetoed->first], vetoed->second}};
  for (size_t g = 0; lastWord.objection && g < groups.size(); ++g) {
    std::vector<const Rewrite*> rewrites;
    for (size_t c : groups[g])
      rewrites.push_back(&candidates[c].rewrite);
    const double share = static_cast<double>(g) / static_cast<double>(groups.size());
    if (auto reason = lastWord.objection(rewrites, share))
      result[chooser.weakest(groups[g], typical)] = std::move(*reason);
  }
  return result;
}

}  // namespace

std::vector<size_t> chooseByCost(const MatchIndex& index,
                                 const std::vector<PricedRewrite>& candidates,
                                 const Costs& costs,
                                 const Policy& policy,
                                 const LastWord& lastWord,
                                 std::vector<Refusal>& refusals) {
  Chooser chooser(index, candidates, costs, policy);
  std::map<size_t, Reason> reasons;
  std::vector<size_t> chosen;
  // Each turn bans something, so there are at most as many as candidates.
  for (bool settled = false; !settled;) {
    chosen = chooser.solve();
    std::sort(chosen.begin(), chosen.end(),
              [&](size_t a, size_t b) { return placeKey(candidates[a].rewrite) < placeKey(candidates[b].rewrite); });
    auto banned = objections(chooser, chosen, candidates, index.sizes().typicalIndex(), lastWord);
    settled = banned.empty();
    for (auto& [c, reason] : banned) {
      chooser.ban(c);
      reasons[c] = std::move(reason);
    }
  }
  const std::set<size_t> kept(chosen.begin(), chosen.end());
  for (size_t c = 0; c < candidates.size(); ++c) {
    if (kept.contains(c)) continue;
    const Rewrite& r = candidates[c].rewrite;
    Reason why{ReasonKind::kOtherPreferred, "another rule was preferred", chooser.typical(c).ratio()};
    if (auto reason = reasons.find(c); reason != reasons.end()) {
      why = reason->second;
    } else if (auto loss = chooser.loss({c})) {
      why = std::move(loss->reason);
    }
    refusals.push_back({r.site.anchor, r.site.pattern->name, r.rule->name, std::move(why)});
  }
  return chosen;
}

}  // namespace pet
