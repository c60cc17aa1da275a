#include "applier/choose.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "applier/pbqp.h"
#include "applier/savings.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

std::string noGain(const CostEstimate& cost) {
  return fmt::format("{} {:.2f}, no gain", cost.measured ? "measured" : "predicted", cost.ratio());
}

bool wanted(const std::string& rule, const Policy& policy) {
  return (policy.only.empty() || matchesAny(rule, policy.only)) && !matchesAny(rule, policy.skip);
}

/// Why a rule's rounding is not wanted; empty where it is.
std::string roundsTooMuch(const Numerics& numerics, const Policy& policy) {
  constexpr double kUnitRoundoff = 0x1p-24;
  if (numerics.kind == Numerics::Kind::kUnbounded && !policy.unbounded)
    return "the model's data do not bound its intermediate values (--numerics any)";
  if (numerics.kind != Numerics::Kind::kConditioned) return "";
  double error = numerics.kappa * kUnitRoundoff;
  return error <= policy.maxRelativeError ? "" : fmt::format("may be off by {:.2g} (--max-rel-error)", error);
}

/// Of what meeting layouts seem to save, so much counts: alone they take longer than where engines fuse them.
constexpr double kTrust = 0.6;

/// What a replacement takes, but for noise and the predictor's error. Decisions are made by this, so that a rule that
/// may lose is not carried along by one that wins.
double atMost(const CostEstimate& cost) {
  return cost.pattern / cost.lower;
}

bool movesActivations(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  for (size_t i = 0; i < constant.size(); ++i) {
    if (!constant[i] && program.nodes()[i].op->name == "Layout") return true;
  }
  return false;
}

/// Bytes of the activations that a pattern takes and gives.
double endsOf(const Program& pattern, const Bindings& symbols) {
  std::vector<Value> ends = pattern.outputs();
  for (Value v : pattern.inputs()) {
    if (!isConstant(pattern, v)) ends.push_back(v);
  }
  double bytes = 0;
  for (Value v : ends) {
    auto extents = evaluate(pattern.shape(v), symbols);
    bytes += extents ? 4.0 * static_cast<double>(elementCount(*extents)) : 0;
  }
  return bytes;
}

/// The cost, if the rule may pay: where neighbours spare it its layouts, it is the less. That can be what they were
/// timed to take, or, where they are not at the ends alone, moving all operands and results once.
Expected<CostEstimate> hopefulCost(const Rule& rule, const Site& site, const Costs& costs, const Policy& policy) {
  if (!costs.at) return fail(ErrorKind::kCheck, "not tuned for this device");
  auto cost = costs.at(rule, site.symbols);
  if (!cost) return cost;
  CostEstimate best = *cost;
  if (movesActivations(rule.replacement))
    best.layouts = std::max(best.layouts, costs.layoutSecondsPerByte * endsOf(site.pattern->program, site.symbols));
  if (best.layouts < best.replacement && best.bestRatio() < policy.minGain)
    return fail(ErrorKind::kCheck, noGain(*cost));
  return cost;
}

/// A SiteRule or a Rewrite.
template <class At>
auto canonicalKey(const At& at) {
  return std::tuple(at.site.anchor, std::string_view(at.rule->name), at.site.outputs);
}

/// The rule at the same nodes, in another order of what is alike in its pattern.
template <class At>
bool sameBut(const At& a, const At& b) {
  return a.rule == b.rule && a.site.nodes == b.site.nodes;
}

bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int n) { return std::binary_search(b.begin(), b.end(), n); });
}

}  // namespace

int occupiedBoxes(const Rule& rule, const Bindings& symbols) {
  auto holdsAny = [&](const BoxRange& range) {
    auto lower = range.lower.evaluate(symbols), upper = range.upper.evaluate(symbols);
    return lower && upper && *lower < *upper;
  };
  return static_cast<int>(std::count_if(rule.boxes.begin(), rule.boxes.end(), [&](const Box& box) {
    return std::all_of(box.ranges.begin(), box.ranges.end(), holdsAny);
  }));
}

bool matchesGlob(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= text.size(); ++skip) {
      if (matchesGlob(text.substr(skip), pattern.substr(1))) return true;
    }
    return false;
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         matchesGlob(text.substr(1), pattern.substr(1));
}

bool matchesAny(std::string_view text, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matchesGlob(text, p); });
}

std::vector<SiteRule> candidatesAt(
    const Site& site, const RuleSet& rules, const Costs& costs, const Policy& policy, std::vector<Refusal>& refusals) {
  std::vector<SiteRule> result;
  for (const Rule& rule : rules.rules) {
    if (rule.pattern != site.pattern->name || !wanted(rule.name, policy)) continue;
    auto refuse = [&](std::string reason) {
      refusals.push_back({site.anchor, site.pattern->name, rule.name, std::move(reason)});
    };
    if (auto why = roundsTooMuch(rule.numerics, policy); !why.empty()) {
      refuse(std::move(why));
      continue;
    }
    Expected<Bindings> symbols;
    try {
      symbols = bindRuleOrExplain(rule, site.symbols);
    } catch (const OverflowError&) {
      symbols = fail(ErrorKind::kCheck, "extents beyond 64 bits");
    }
    if (!symbols) {
      refuse(symbols.error().what);
      continue;
    }
    auto cost = hopefulCost(rule, site, costs, policy);
    if (!cost && !policy.all) {
      refuse(cost.error().what);
      continue;
    }
    int boxes = occupiedBoxes(rule, *symbols);
    result.push_back({site, &rule, std::move(*symbols), boxes, cost ? std::optional(*cost) : std::nullopt});
  }
  return result;
}

namespace {

/// Under --all the rules of a site take turns: the one that fired least so far goes first, so that one model shows
/// many; of those the one with the most boxes, for it has the most to show.
std::vector<SiteRule> byTurns(std::vector<SiteRule> candidates) {
  std::map<std::string_view, int> turns;
  for (size_t begin = 0; begin < candidates.size();) {
    size_t end = begin;
    while (end < candidates.size() && candidates[end].site.anchor == candidates[begin].site.anchor)
      ++end;
    auto first = candidates.begin() + static_cast<std::ptrdiff_t>(begin);
    auto last = candidates.begin() + static_cast<std::ptrdiff_t>(end);
    std::stable_sort(first, last, [&](const SiteRule& x, const SiteRule& y) {
      return std::pair(turns[x.rule->name], -x.boxes) < std::pair(turns[y.rule->name], -y.boxes);
    });
    ++turns[first->rule->name];
    begin = end;
  }
  return candidates;
}

}  // namespace

std::vector<SiteRule> chooseByTurns(std::vector<SiteRule> candidates,
                                    const std::function<Expected<void>(const SiteRule&)>& usable,
                                    std::vector<Refusal>& refusals) {
  auto before = [](const SiteRule& a, const SiteRule& b) { return canonicalKey(a) < canonicalKey(b); };
  std::stable_sort(candidates.begin(), candidates.end(), before);
  std::vector<SiteRule> chosen;
  for (SiteRule& c : byTurns(std::move(candidates))) {
    auto refuse = [&](std::string reason) {
      refusals.push_back({c.site.anchor, c.site.pattern->name, c.rule->name, std::move(reason)});
    };
    if (std::any_of(chosen.begin(), chosen.end(), [&](const SiteRule& o) { return sameBut(o, c); })) continue;
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const SiteRule& o) { return overlap(o.site.nodes, c.site.nodes); })) {
      refuse("another rule was preferred");
    } else if (auto ok = usable(c); !ok) {
      refuse(ok.error().what);
    } else {
      chosen.push_back(std::move(c));
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), before);
  return chosen;
}

namespace {

/// The problem that chooseByCost() solves: a variable for each set of nodes, whose alternatives are to leave it as it
/// is (0) and the candidates that would replace just these nodes.
class Chooser {
 public:
  Chooser(const View& view, const std::vector<PricedRewrite>& candidates, const Costs& costs, const Policy& policy)
      : candidates_(candidates), policy_(policy), banned_(candidates.size()) {
    for (const PricedRewrite& c : candidates)
      moves_.push_back(movesActivations(c.rewrite.replacement));
    group();
    findSavings(LayoutSavings(view), costs.layoutSecondsPerByte);
  }

  /// The best choice without what is banned, by position.
  std::vector<size_t> solve() const;
  void ban(size_t candidate) { banned_[candidate] = true; }
  /// The chosen candidates in groups whose layouts meet.
  std::vector<std::vector<size_t>> groupsOf(const std::vector<size_t>& chosen) const;
  /// Why a group does not gain enough, even with what its layouts save by meeting.
  std::optional<std::string> loss(const std::vector<size_t>& group) const;

 private:
  struct Saving {
    size_t a, b;
    double seconds;
  };
  void group();
  void findSavings(const LayoutSavings& savings, double secondsPerByte);
  const Site& siteOf(size_t candidate) const { return candidates_[candidate].rewrite.site; }

  const std::vector<PricedRewrite>& candidates_;
  const Policy& policy_;
  std::vector<bool> banned_, moves_;
  std::vector<std::vector<size_t>> groups_;  ///< candidates for the same nodes
  std::vector<Saving> savings_;
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

void Chooser::findSavings(const LayoutSavings& savings, double secondsPerByte) {
  for (const auto& from : groups_) {
    for (const auto& to : groups_) {
      if (overlap(siteOf(from[0]).nodes, siteOf(to[0]).nodes)) continue;
      auto way = savings.between(siteOf(from[0]), siteOf(to[0]));
      if (!way) continue;
      for (size_t a : from) {
        for (size_t b : to) {
          if (!moves_[a] || !moves_[b]) continue;
          auto bytes = static_cast<double>(savings.bytes(candidates_[a].rewrite, candidates_[b].rewrite, *way));
          double most = (candidates_[a].cost.replacement + candidates_[b].cost.replacement) / 2;
          double seconds = kTrust * std::min(bytes * secondsPerByte, most);
          if (seconds > 0) savings_.push_back({a, b, seconds});
        }
      }
    }
  }
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
      costs.push_back(banned_[c] ? kNever : atMost(candidates_[c].cost) - candidates_[c].cost.pattern);
    }
    problem.variable(std::move(costs));
  }
  auto together = [&](size_t a, size_t b, double cost) {
    auto [va, ia] = place.at(a);
    auto [vb, ib] = place.at(b);
    problem.together(va, ia, vb, ib, cost);
  };
  for (size_t i = 0; i < groups_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!overlap(siteOf(groups_[i][0]).nodes, siteOf(groups_[j][0]).nodes)) continue;
      for (size_t a : groups_[i]) {
        for (size_t b : groups_[j])
          together(a, b, kNever);
      }
    }
  }
  for (const Saving& s : savings_)
    together(s.a, s.b, -s.seconds);
  auto solution = problem.solve();
  std::vector<size_t> chosen;
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (int alternative = solution.choice[g]; alternative > 0)
      chosen.push_back(groups_[g][static_cast<size_t>(alternative) - 1]);
  }
  return chosen;
}

std::vector<std::vector<size_t>> Chooser::groupsOf(const std::vector<size_t>& chosen) const {
  std::map<size_t, size_t> leader;
  for (size_t c : chosen)
    leader[c] = c;
  for (const Saving& s : savings_) {
    if (!leader.contains(s.a) || !leader.contains(s.b)) continue;
    size_t from = std::max(leader[s.a], leader[s.b]), to = std::min(leader[s.a], leader[s.b]);
    for (auto& [c, l] : leader)
      l = l == from ? to : l;
  }
  std::map<size_t, std::vector<size_t>> byLeader;
  for (size_t c : chosen)
    byLeader[leader[c]].push_back(c);
  std::vector<std::vector<size_t>> groups;
  for (auto& [l, group] : byLeader)
    groups.push_back(std::move(group));
  return groups;
}

std::optional<std::string> Chooser::loss(const std::vector<size_t>& group) const {
  auto inGroup = [&](size_t c) { return std::find(group.begin(), group.end(), c) != group.end(); };
  double saved = 0;
  for (const Saving& s : savings_)
    saved += inGroup(s.a) && inGroup(s.b) ? s.seconds : 0;
  CostEstimate sum{.pattern = 0, .replacement = -saved};
  double most = -saved;
  for (size_t c : group) {
    const CostEstimate& cost = candidates_[c].cost;
    sum.pattern += cost.pattern;
    sum.replacement += cost.replacement;
    sum.measured = sum.measured || cost.measured;
    most += atMost(cost);
  }
  if (sum.ratio() < policy_.minGain) return noGain(sum);
  if (sum.pattern <= most) return fmt::format("{:.2f}, but within the noise", sum.ratio());
  return std::nullopt;
}

/// What is wrong with a choice: candidates to leave out, with the reason. Of a group that does not pay it is the one
/// that gains the least by itself: the others may do without it.
std::map<size_t, std::string> objections(const Chooser& chooser,
                                         const std::vector<size_t>& chosen,
                                         const std::vector<PricedRewrite>& candidates,
                                         const LastWord& lastWord) {
  std::map<size_t, std::string> result;
  auto groups = chooser.groupsOf(chosen);
  auto object = [&](const std::vector<size_t>& group, const std::optional<std::string>& reason) {
    auto gainsLess = [&](size_t a, size_t b) { return candidates[a].cost.ratio() < candidates[b].cost.ratio(); };
    if (reason) result[*std::min_element(group.begin(), group.end(), gainsLess)] = *reason;
  };
  for (const auto& group : groups)
    object(group, chooser.loss(group));
  if (!result.empty()) return result;
  std::vector<const Rewrite*> kept;
  for (size_t c : chosen) {
    kept.push_back(&candidates[c].rewrite);
    if (auto why = lastWord.veto(kept)) return {{c, *why}};
  }
  for (const auto& group : lastWord.objection ? groups : std::vector<std::vector<size_t>>()) {
    std::vector<const Rewrite*> rewrites;
    for (size_t c : group)
      rewrites.push_back(&candidates[c].rewrite);
    object(group, lastWord.objection(rewrites));
  }
  return result;
}

}  // namespace

std::vector<size_t> chooseByCost(const View& view,
                                 const std::vector<PricedRewrite>& candidates,
                                 const Costs& costs,
                                 const Policy& policy,
                                 const LastWord& lastWord,
                                 std::vector<Refusal>& refusals) {
  Chooser chooser(view, candidates, costs, policy);
  std::map<size_t, std::string> reasons;
  std::vector<size_t> chosen;
  // Each turn bans something, so there are at most as many as candidates.
  for (bool settled = false; !settled;) {
    chosen = chooser.solve();
    std::sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
      return canonicalKey(candidates[a].rewrite) < canonicalKey(candidates[b].rewrite);
    });
    auto banned = objections(chooser, chosen, candidates, lastWord);
    settled = banned.empty();
    for (auto& [c, reason] : banned) {
      chooser.ban(c);
      reasons[c] = std::move(reason);
    }
  }
  for (size_t c = 0; c < candidates.size(); ++c) {
    if (std::find(chosen.begin(), chosen.end(), c) != chosen.end()) continue;
    const Rewrite& r = candidates[c].rewrite;
    auto reason = reasons.find(c);
    auto own = chooser.loss({c});
    refusals.push_back({r.site.anchor, r.site.pattern->name, r.rule->name,
                        reason != reasons.end() ? reason->second : own.value_or("another rule was preferred")});
  }
  return chosen;
}

}  // namespace pet
