#include "synth/free/minimal.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include "synth/free/claim.h"
#include "synth/stopwatch.h"

namespace pet::freemode {
namespace {

size_t sizeOf(const Equality& e) {
  return sizeOf(e, e.left) + sizeOf(e, e.right);
}

/// Equalities of one size at a time: what does not follow from smaller rules, nor from those of its own size before it,
/// is proved. Where a proof fails, what followed from that equality is looked at again.
class Selection {
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
      if (options_.progress)
        options_.progress(fmt::format("{} equalities of {} operators", left.size(), sizeOf(all_[begin])));
      while (!left.empty())
        left = round(left);
    }
    for (const auto& [i, claim] : proved_)
      addRule(i, claim);
  }

 private:
  struct Pending {
    size_t equality;
    Rewriting::Answer answer;
  };

  void count(Derived how) {
    auto& n = result_.equalities;
    (how == Derived::kTrivial       ? n.trivial
     : how == Derived::kInstance    ? n.instances
     : how == Derived::kConsequence ? n.consequences
                                    : n.chains)++;
  }

  /// Returns those that followed from what could not be proved.
  std::vector<size_t> round(const std::vector<size_t>& left) {
    std::vector<Pending> derived;
    std::vector<std::pair<size_t, size_t>> chosen;  // equality, its number as a rule
    {
      Stopwatch watch(result_.seconds.prune);
      choose(left, derived, chosen);
    }
    std::vector<Claim> claims(chosen.size());
    {
      Stopwatch watch(result_.seconds.prove);
      tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
        size_t e = chosen[i].first;

        claims[i] = claimOf(all_[e], steps_, nameOf(e), options_.decide);
      });
    }
    std::vector<size_t> failed;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (claims[i].judgement.verdict == Verdict::kProved) {
        if (claims[i].exact) rewriting_.restrict(chosen[i].second);
        proved_.emplace_back(chosen[i].first, std::move(claims[i]));
        continue;
      }
      rewriting_.remove(chosen[i].second);
      failed.push_back(chosen[i].second);
      addOpen(chosen[i].first, claims[i].judgement);
    }
    std::vector<size_t> again;
    for (const Pending& p : derived) {
      bool holds = std::none_of(p.answer.rules.begin(), p.answer.rules.end(),
                                [&](size_t r) { return std::find(failed.begin(), failed.end(), r) != failed.end(); });
      if (holds) {
        count(p.answer.how);
      } else {
        again.push_back(p.equality);
      }
    }
    return again;
  }

  /// Against the rules that there are, in parallel; what is left one by one, against those that it adds.
  void choose(const std::vector<size_t>& left,
              std::vector<Pending>& derived,
              std::vector<std::pair<size_t, size_t>>& chosen) {
    std::vector<Rewriting::Answer> answers(left.size());
    tbb::parallel_for(size_t{0}, left.size(), [&](size_t i) { answers[i] = rewriting_.derive(all_[left[i]]); });
    for (size_t i = 0; i < left.size(); ++i) {
      if (answers[i].how == Derived::kNot && !chosen.empty()) answers[i] = rewriting_.derive(all_[left[i]]);
      if (answers[i].how != Derived::kNot) {
        derived.push_back({left[i], std::move(answers[i])});
      } else {
        chosen.emplace_back(left[i], rewriting_.add({all_[left[i]], false}));
      }
    }
  }

  static std::string nameOf(size_t equality) { return fmt::format("free-{:05}", equality); }

  void addOpen(size_t equality, const Judgement& j) {
    bool refuted = j.verdict == Verdict::kRefuted;
    ++(refuted ? result_.equalities.refuted : result_.equalities.unknown);
    result_.open.push_back(
        {str(all_[equality], steps_), j.verdict, refuted && j.witness ? witnessLine(*j.witness) : j.reason});
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
  Rewriting rewriting_;
  std::vector<std::pair<size_t, Claim>> proved_;
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
