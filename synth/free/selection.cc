#include "synth/free/selection.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include "synth/free/claim.h"
#include "synth/free/proved.h"
#include "synth/free/shared_count.h"
#include "synth/judge/stopwatch.h"

namespace pet::freemode {
namespace {

size_t sizeOf(const Equality& e) {
  return sizeOf(e, e.left) + sizeOf(e, e.right);
}

/// Equalities of one size at a time: what does not follow from smaller rules, nor from those of its own size before it,
/// is proved. Where a proof fails, what followed from that equality is looked at again. What follows at the
/// vocabulary's extents is dropped only where the proved rules imply all that it says: each of its readings, or, if
/// that is not known, the class over which it is proved itself.
class Selection {
  static constexpr size_t kMostClaims = 512;  ///< proved at once: each takes some 100 kB

 public:
  Selection(const std::vector<Equality>& all,
            const std::vector<Step>& steps,
            const SearchOptions& options,
            SearchResult& result)
      : all_(all), steps_(steps), options_(options), result_(result), rewriting_(steps) {}

  void run() {
    for (size_t begin = 0, end = 0; begin < all_.size(); begin = end) {
      while (end < all_.size() && sizeOf(all_[end]) == sizeOf(all_[begin]))
        ++end;
      std::vector<size_t> left;
      for (size_t i = begin; i < end; ++i)
        left.push_back(i);
      progress_ = stage(fmt::format("{} equalities of {} operators", left.size(), sizeOf(all_[begin])));
      while (!left.empty())
        left = round(left);
    }
    for (const auto& [i, claim] : proved_)
      addRule(i, claim);
    addOpen();
  }

 private:
  struct Pending {
    size_t equality;
    Rewriting::Answer answer;
  };
  struct Chosen {
    size_t equality, rule;  ///< its number as a rule
  };

  ReportShare stage(std::string what) const {
    if (!options_.progress) return nullptr;
    return [this, what = std::move(what)](double share) { options_.progress(what, share); };
  }

  void count(Derived how) {
    auto& n = result_.equalities;
    (how == Derived::kTrivial       ? n.trivial
     : how == Derived::kInstance    ? n.instances
     : how == Derived::kConsequence ? n.consequences
                                    : n.chains)++;
  }

  /// Returns those to be looked at again: what followed from what could not be proved, or over a part of its class.
  std::vector<size_t> round(const std::vector<size_t>& left) {
    std::vector<Pending> derived;
    std::vector<Chosen> chosen;
    {
      Stopwatch watch(result_.seconds.prune);
      choose(left, derived, chosen);
    }
    std::set<size_t> failed;
    SharedCount proved(chosen.size(), progress_);
    for (size_t begin = 0; begin < chosen.size(); begin += kMostClaims)
      settle(std::span(chosen).subspan(begin, std::min(kMostClaims, chosen.size() - begin)), failed, proved);
    return unsettled(derived, failed);
  }

  /// Proves some of what was chosen; adds the numbers of those that are no rules.
  void settle(std::span<const Chosen> chosen, std::set<size_t>& failed, SharedCount& proved) {
    std::vector<Claim> claims(chosen.size());
    {
      Stopwatch watch(result_.seconds.prove);
      tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
        size_t e = chosen[i].equality;
        claims[i] = claimOf(all_[e], steps_, nameOf(e), options_.decide);
        proved.add(1);
      });
    }
    Stopwatch watch(result_.seconds.prune);
    std::vector<char> follow(chosen.size(), false);  // from the rules so far; those that come are looked at one by one
    tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
      auto draft = drafts_.find(chosen[i].equality);
      follow[i] = draft != drafts_.end() && claims[i].judgement.verdict == Verdict::kProved &&
                  follows(claims[i].judgement, draft->second);
    });
    std::vector<size_t> added;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (settle(chosen[i], std::move(claims[i]), follow[i], added)) {
        added.push_back(chosen[i].rule);
      } else {
        rewriting_.remove(chosen[i].rule);
        failed.insert(chosen[i].rule);
      }
    }
  }

  /// True: the equality is a rule.
  bool settle(const Chosen& c, Claim claim, bool followed, const std::vector<size_t>& added) {
    const Judgement& j = claim.judgement;
    if (j.verdict == Verdict::kUnknown) {
      open_.emplace_back(c.equality, std::move(claim.judgement));
      return false;
    }
    auto draft = drafts_.find(c.equality);
    const bool proved = j.verdict == Verdict::kProved;
    // What is true at the vocabulary's extents, where it follows, and false beyond them, is no rule.
    if (draft != drafts_.end() && (!proved || followed || rules_.implyAmong(j.pattern, j.rule, added))) {
      count(draft->second.how);
      return false;
    }
    if (!proved) {
      open_.emplace_back(c.equality, std::move(claim.judgement));
      return false;
    }
    if (claim.exact) rewriting_.restrict(c.rule);
    rules_.add(c.rule, j);
    proved_.emplace_back(c.equality, std::move(claim));
    return true;
  }

  bool follows(const Judgement& j, const Rewriting::Answer& draft) const {
    return rules_.imply(j.pattern, j.rule, draft.rules) || rules_.imply(j.pattern, j.rule, ProvedRules::Effort::kShort);
  }

  /// Of what follows at the vocabulary's extents, what does not follow from proved rules over its widest class.
  std::vector<size_t> unsettled(const std::vector<Pending>& derived, const std::set<size_t>& failed) {
    enum class Fate : char { kFollows, kFailed, kNarrower };
    std::vector<Fate> fates(derived.size());
    tbb::parallel_for(size_t{0}, derived.size(), [&](size_t i) {
      const auto& rules = derived[i].answer.rules;
      bool holds = std::none_of(rules.begin(), rules.end(), [&](size_t r) { return failed.contains(r); });
      fates[i] = !holds ? Fate::kFailed : impliesAll(derived[i]) ? Fate::kFollows : Fate::kNarrower;
    });
    std::vector<size_t> again;
    for (size_t i = 0; i < derived.size(); ++i) {
      if (fates[i] == Fate::kFollows) {
        count(derived[i].answer.how);
        continue;
      }
      again.push_back(derived[i].equality);
      if (fates[i] == Fate::kNarrower) drafts_.emplace(derived[i].equality, derived[i].answer);
    }
    return again;
  }

  /// What has no reading is no rule.
  bool impliesAll(const Pending& p) const {
    auto readings = readingsOf(all_[p.equality], steps_, nameOf(p.equality));
    return !readings || std::all_of(readings->begin(), readings->end(), [&](const taso::Translation& t) {
      return rules_.imply(t.pattern, t.rule, p.answer.rules);
    });
  }

  /// Against the rules that there are, in parallel; what is left one by one, against those that it adds.
  void choose(const std::vector<size_t>& left, std::vector<Pending>& derived, std::vector<Chosen>& chosen) {
    std::vector<Rewriting::Answer> answers(left.size());
    auto isDraft = [&](size_t i) { return drafts_.contains(left[i]); };
    tbb::parallel_for(size_t{0}, left.size(), [&](size_t i) {
      if (!isDraft(i)) answers[i] = rewriting_.derive(all_[left[i]]);
    });
    for (size_t i = 0; i < left.size(); ++i) {
      if (answers[i].how == Derived::kNot && !chosen.empty() && !isDraft(i))
        answers[i] = rewriting_.derive(all_[left[i]]);
      if (answers[i].how != Derived::kNot) {
        derived.push_back({left[i], std::move(answers[i])});
      } else {
        chosen.push_back({left[i], rewriting_.add({all_[left[i]], false})});
      }
    }
  }

  static std::string nameOf(size_t equality) { return fmt::format("free-{:05}", equality); }

  /// What is not proved. An instance of rules may be beyond the prover (Relu of a Relu behind a convolution): what is
  /// unknown and follows from the rules, all of them, is not open.
  void addOpen() {
    Stopwatch watch(result_.seconds.prune);
    std::vector<char> follows(open_.size(), false);
    tbb::parallel_for(size_t{0}, open_.size(), [&](size_t i) {
      const Judgement& j = open_[i].second;
      follows[i] = j.verdict == Verdict::kUnknown && rules_.imply(j.pattern, j.rule, ProvedRules::Effort::kLong);
    });
    for (size_t i = 0; i < open_.size(); ++i) {
      const auto& [equality, j] = open_[i];
      if (follows[i]) {
        count(Derived::kChain);
        continue;
      }
      bool refuted = j.verdict == Verdict::kRefuted;
      ++(refuted ? result_.equalities.refuted : result_.equalities.unknown);
      result_.open.push_back(
          {str(all_[equality], steps_), j.verdict, refuted && j.witness ? witnessLine(*j.witness) : j.reason});
    }
  }

  void addRule(size_t equality, const Claim& claim) {
    result_.equalitiesKept.push_back(all_[equality]);
    result_.kept.push_back(str(all_[equality], steps_));
    ++result_.equalities.proved;
    result_.rules.patterns.push_back(claim.judgement.pattern);
    result_.rules.rules.push_back(claim.judgement.rule);
  }

  const std::vector<Equality>& all_;
  const std::vector<Step>& steps_;
  const SearchOptions& options_;
  SearchResult& result_;
  ReportShare progress_;  ///< of the equalities of one size
  Rewriting rewriting_;
  ProvedRules rules_;
  std::map<size_t, Rewriting::Answer> drafts_;  ///< equalities that follow at the vocabulary's extents, and how
  std::vector<std::pair<size_t, Claim>> proved_;
  std::vector<std::pair<size_t, Judgement>> open_;
};

}  // namespace

void sortForSelection(std::vector<Equality>& equalities, const std::vector<Step>& steps) {
  using Key = std::tuple<size_t, size_t, size_t, size_t, std::string>;
  std::vector<std::pair<Key, size_t>> order(equalities.size());
  tbb::parallel_for(size_t{0}, equalities.size(), [&](size_t i) {
    const Equality& e = equalities[i];
    auto constants = static_cast<size_t>(std::count_if(
        e.variables.begin(), e.variables.end(), [](const Variable& v) { return v.constant != Constant::kNone; }));
    size_t left = sizeOf(e, e.left), right = sizeOf(e, e.right);
    order[i] = {{left + right, std::max(left, right), constants, 100 - e.variables.size(), str(e, steps)}, i};
  });
  std::sort(order.begin(), order.end());
  std::vector<Equality> sorted;
  for (const auto& [key, i] : order)
    sorted.push_back(std::move(equalities[i]));
  equalities = std::move(sorted);
}

void selectAndProve(const std::vector<Equality>& sorted,
                    const std::vector<Step>& steps,
                    const SearchOptions& options,
                    SearchResult& result) {
  Selection(sorted, steps, options, result).run();
}

}  // namespace pet::freemode
