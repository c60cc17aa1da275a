#include "tools/tune/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "rules/gain/roofline.h"

namespace pet::tune {
namespace {

constexpr int kFirstPoints = 3;  ///< of each rule, whatever they say
constexpr size_t kBatch = 32;    ///< jobs before all is considered anew
constexpr double kAsGood = 0.7;  ///< those whose uncertainty is so much of the greatest one

/// What timings say of jobs.
class CostsOfSettings {
 public:
  CostsOfSettings(const RuleSet& rules, const Timings& timings, const Machine& machine, const Options& o)
      : rules_(rules), timings_(timings), machine_(machine), o_(o) {}

  const DeviceCosts& of(const Job& job) {
    const std::pair key(std::string(job.beside.place()), job.opset);
    auto known = costs_.find(key);
    if (known != costs_.end()) return known->second;
    const Setting setting{o_.device, o_.threads, machine_, key.first, job.opset};
    return costs_.emplace(key, DeviceCosts::fit(rules_, timings_, setting)).first->second;
  }

 private:
  const RuleSet& rules_;
  const Timings& timings_;
  const Machine& machine_;
  const Options& o_;
  std::map<std::pair<std::string, int>, DeviceCosts> costs_;  ///< by place and opset
};

/// How many times as fast each rule is where it gains most, by its hash, of those that were timed on other devices
/// alone.
std::map<std::string, double> bestElsewhere(const Timings& timings, const std::string& device) {
  std::map<std::string, double> best;
  std::set<std::string> here;
  for (const TimingSample& s : timings.all()) {
    if (s.device == device) here.insert(s.rule);
    double& ratio = best[s.rule];
    ratio = std::max(ratio, s.pattern / s.replacement);
  }
  std::erase_if(best, [&](const auto& rule) { return here.contains(rule.first); });
  return best;
}

/// Seconds of a run that a rule might save of which nothing is known on the device. `elsewhere`: how many times as fast
/// it is at most on others; 0: not known. Where no rates of the machine are known, a pattern takes a second.
double mightSave(const Job& job, const DeviceCosts& costs, const Rates& rates, double elsewhere) {
  const auto load = loadOf(job.pattern->program, job.shapes), loadAfter = loadOf(job.rule->replacement, job.symbols);
  const auto roof = load ? rooflineSeconds(*load, rates) : std::nullopt;
  const double before = costs.secondsOf(*job.pattern, job.shapes, kNear).value_or(roof.value_or(1));
  if (elsewhere > 0) return before * (1 - 1 / elsewhere);
  const auto after = loadAfter ? rooflineSeconds(*loadAfter, rates) : std::nullopt;
  return after ? std::max(0.0, before - *after) : 0;
}

}  // namespace

std::vector<double> promisedSeconds(const RuleSet& rules,
                                    const std::vector<Job>& jobs,
                                    const Timings& timings,
                                    const Machine& machine,
                                    const Options& o) {
  constexpr double kMaybe = 1e-9;
  CostsOfSettings costs(rules, timings, machine, o);
  const std::map<std::string, double> elsewhere = bestElsewhere(timings, o.device);
  const Rates rates = machine.ratesOn(o.device, o.threads);
  std::vector<double> promised;
  for (const Job& job : jobs) {
    promised.push_back(0);
    if (job.turn >= kFirstPoints) continue;
    if (auto cost = costs.of(job).withoutMarginAt(*job.rule, job.shapes)) {
      promised.back() = cost->pattern - cost->replacement;
      continue;
    }
    const auto ratio = elsewhere.find(job.hash);
    promised.back() = kMaybe * mightSave(job, costs.of(job), rates, ratio == elsewhere.end() ? 0 : ratio->second);
  }
  return promised;
}

double uncertainty(const Expected<CostEstimate>& cost, double minGain) {
  if (!cost) return 1;
  double distance = std::abs(std::log(cost->ratio() / minGain));
  double width = std::max(1e-3, std::log(cost->ratio() / cost->lower));
  return width / (width + distance);
}

std::vector<size_t> nextJobs(const RuleSet& rules,
                             const std::vector<Job>& jobs,
                             const std::vector<size_t>& open,
                             const std::vector<double>& promised,
                             const Timings& timings,
                             const Machine& machine,
                             const Options& o) {
  std::vector<size_t> next;
  std::copy_if(open.begin(), open.end(), std::back_inserter(next),
               [&](size_t job) { return jobs[job].turn < kFirstPoints; });
  std::stable_sort(next.begin(), next.end(), [&](size_t a, size_t b) { return promised[a] > promised[b]; });
  if (!next.empty()) return next;
  CostsOfSettings costs(rules, timings, machine, o);
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t job : open) {
    const Job& j = jobs[job];
    ranked.emplace_back(-uncertainty(costs.of(j).at(*j.rule, j.shapes), o.minGain), job);
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
