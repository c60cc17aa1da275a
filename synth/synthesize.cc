#include "synth/synthesize.h"

namespace pet {

Expected<Synthesis> reduceSearch(const Search& search, std::vector<UnitOutcome> outcomes, const ReportShare& progress) {
  auto result = reduce(search.patterns(), std::move(outcomes), progress);
  if (!result) return result;
  for (PatternReport& report : result->reports)
    report.noPlans = search.whyEmpty(report.pattern);
  return result;
}

Expected<Synthesis> synthesize(const std::vector<Pattern>& patterns,
                               const JudgeOptions& options,
                               const RunOptions& run,
                               const std::function<void(size_t, size_t)>& progress) {
  auto search = Search::create(patterns, options);
  if (!search) return tl::unexpected(search.error());
  std::vector<size_t> units(search->size());
  for (size_t i = 0; i < units.size(); ++i)
    units[i] = i;
  std::vector<UnitOutcome> outcomes;
  auto keep = [&](UnitOutcome outcome) -> Expected<void> {
    outcomes.push_back(std::move(outcome));
    if (progress) progress(outcomes.size(), units.size());
    return {};
  };
  if (auto done = runHere(*search, units, run, keep); !done) return tl::unexpected(done.error());
  return reduceSearch(*search, std::move(outcomes));
}

}  // namespace pet
