#include "tools/tune/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace pet::tune {
namespace {

constexpr int kFirstPoints = 3;  ///< of each rule, whatever they say
constexpr size_t kBatch = 32;    ///< jobs before all is considered anew
constexpr double kAsGood = 0.7;  ///< those whose uncertainty is so much of the greatest one

}  // namespace

double uncertainty(const Expected<CostEstimate>& cost, double minGain) {
  if (!cost) return 1;
  double distance = std::abs(std::log(cost->ratio() / minGain));
  double width = std::max(1e-3, std::log(cost->ratio() / cost->lower));
  return width / (width + distance);
}

std::vector<size_t> nextJobs(const RuleSet& rules,
                             const std::vector<Job>& jobs,
                             const std::vector<size_t>& open,
                             const Timings& timings,
                             const Machine& machine,
                             const Options& o) {
  std::vector<size_t> next;
  std::copy_if(open.begin(), open.end(), std::back_inserter(next),
               [&](size_t job) { return jobs[job].turn < kFirstPoints; });
  if (!next.empty()) return next;
  std::map<std::pair<std::string, int>, DeviceCosts> costs;  // by place and opset
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t job : open) {
    const Job& j = jobs[job];
    const Setting setting{o.device, o.threads, machine, std::string(j.beside.place()), j.opset};
    auto own = costs.find({setting.place, j.opset});
    if (own == costs.end())
      own = costs.emplace(std::pair(setting.place, j.opset), DeviceCosts::fit(rules, timings, setting)).first;
    ranked.emplace_back(-uncertainty(own->second.at(*j.rule, j.shapes), o.minGain), job);
  }
  std::sort(ranked.begin(), ranked.end());  // of as uncertain ones, the first
  std::set<const Rule*> seen;
  for (const auto& [minus, job] : ranked) {
    if (minus > kAsGood * ranked.front().first) break;
    if (next.size() < kBatch && seen.insert(jobs[job].rule).second) next.push_back(job);
  }
  return next;
}

}  // namespace pet::tune
