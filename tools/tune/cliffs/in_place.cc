#include "tools/tune/cliffs/in_place.h"

#include <algorithm>
#include <set>

namespace pet::tune {

std::vector<size_t> behindOthers(const Candidates& candidates, size_t op) {
  std::vector<size_t> groups;
  std::set<std::pair<size_t, int>> covered;  // models and nodes
  for (size_t g = candidates.operators; g < candidates.all.size(); ++g) {
    const Candidate& group = candidates.all[g];
    if (group.operators.size() != 2 || group.parts.size() != 2 || group.parts[1] != op) continue;
    groups.push_back(g);
    for (const Occurrence& o : group.occurrences)
      covered.emplace(o.model, o.nodes.back());
  }
  const auto& places = candidates.all[op].occurrences;
  const bool isEverywhere = std::all_of(places.begin(), places.end(), [&](const Occurrence& o) {
    return covered.contains({o.model, o.nodes.back()});
  });
  return isEverywhere ? groups : std::vector<size_t>();
}

std::optional<double> secondsInPlace(const Candidates& candidates, const std::vector<Timing>& timings, size_t op) {
  const std::optional<double> alone = timings[op].seconds;
  const std::vector<size_t> groups = behindOthers(candidates, op);
  if (!alone || groups.empty()) return alone;
  double most = 0;
  for (size_t g : groups) {
    const std::optional<double> both = timings[g].seconds, front = timings[candidates.all[g].parts[0]].seconds;
    if (!both || !front) return alone;
    most = std::max(most, *both - *front);
  }
  return std::min(*alone, most);
}

}  // namespace pet::tune
