#include "tools/tune/cliffs/ranking.h"

#include <algorithm>
#include <set>

namespace pet::tune {
namespace {

constexpr double kLeastLost = 1e-3;  ///< of a model's time

bool isCliff(const Candidates& candidates, const Survey& survey, size_t c, double leastTimes) {
  const Candidate& candidate = candidates.all[c];
  const auto& seconds = survey.candidates[c].seconds;
  if (!seconds || *seconds < leastTimes * survey.peaks.seconds(candidate.flops, candidate.bytes)) return false;
  double lostInParts = 0;
  for (size_t part : candidate.parts)
    lostInParts += survey.lost(candidates, part);
  return c < candidates.operators || survey.lost(candidates, c) >= kSaysMore * lostInParts;
}

class Ranking {
 public:
  Ranking(const Candidates& candidates, const Survey& survey) : candidates_(candidates), survey_(survey) {
    for (size_t m = 0; m < survey.models.size(); ++m)
      whole_.push_back(survey.modelSeconds(candidates, m));
    taken_.resize(survey.models.size());
  }

  /// The cliff as far as its nodes are not taken.
  Cliff rest(size_t c) const {
    const Candidate& candidate = candidates_.all[c];
    Cliff cliff{c, *survey_.candidates[c].seconds, survey_.peaks.seconds(candidate.flops, candidate.bytes), {}, 0};
    for (const Occurrence& o : free(c)) {
      Cliff::InModel& model = cliff.models[o.model];
      ++model.count;
      model.share += cliff.seconds / whole_[o.model];
      cliff.lost += survey_.lost(candidates_, c) / whole_[o.model];
    }
    return cliff;
  }

  void take(size_t c) {
    for (const Occurrence& o : free(c))
      taken_[o.model].insert(o.nodes.begin(), o.nodes.end());
  }

 private:
  /// Its occurrences that share no node with each other, nor with what is taken.
  std::vector<Occurrence> free(size_t c) const {
    std::vector<Occurrence> result;
    std::vector<std::set<int>> own(taken_.size());
    for (const Occurrence& o : candidates_.all[c].occurrences) {
      const bool isFree = std::none_of(o.nodes.begin(), o.nodes.end(),
                                       [&](int n) { return taken_[o.model].contains(n) || own[o.model].contains(n); });
      if (!isFree) continue;
      own[o.model].insert(o.nodes.begin(), o.nodes.end());
      result.push_back(o);
    }
    return result;
  }

  const Candidates& candidates_;
  const Survey& survey_;
  std::vector<double> whole_;
  std::vector<std::set<int>> taken_;  ///< nodes by model
};

}  // namespace

std::vector<Cliff> worst(const Candidates& candidates, const Survey& survey, size_t most, double leastTimes) {
  Ranking ranking(candidates, survey);
  std::vector<Cliff> open, found;
  for (size_t c = 0; c < candidates.all.size(); ++c) {
    if (isCliff(candidates, survey, c, leastTimes)) open.push_back(ranking.rest(c));
  }
  // What is lost gets less as nodes are taken: the first one whose loss is still what it was is the worst.
  auto isBetter = [](const Cliff& a, const Cliff& b) {
    return a.lost != b.lost ? a.lost < b.lost : a.candidate > b.candidate;
  };
  std::make_heap(open.begin(), open.end(), isBetter);
  while (!open.empty() && found.size() < most) {
    std::pop_heap(open.begin(), open.end(), isBetter);
    Cliff cliff = std::move(open.back());
    open.pop_back();
    Cliff now = ranking.rest(cliff.candidate);
    if (now.lost < kLeastLost) continue;
    if (now.lost < cliff.lost) {
      open.push_back(std::move(now));
      std::push_heap(open.begin(), open.end(), isBetter);
      continue;
    }
    ranking.take(now.candidate);
    found.push_back(std::move(now));
  }
  return found;
}

}  // namespace pet::tune
