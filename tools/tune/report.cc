#include "tools/tune/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "applier/choose/policy.h"
#include "ir/quantile.h"
#include "rules/gain/gain.h"
#include "tools/common/status_line.h"
#include "tools/common/table.h"

namespace pet::tune {

std::string report(const std::vector<Job>& jobs, const std::vector<Row>& rows) {
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].sample || rows[i].kind == Row::Kind::kFailed) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return jobs[a].rule->name < jobs[b].rule->name; });
  std::vector<std::vector<std::string>> lines{
      {"RULE", "RATIO", "ALONE", "LAYOUTS", "SPREAD", "PATTERN", "SHAPES", "NOTE"}};
  for (size_t i : order) {
    const Row& r = rows[i];
    auto field = [&](auto value) { return r.sample ? fmt::format("{:.2f}", value(*r.sample)) : "-"; };
    lines.push_back({jobs[i].rule->name, field([](const auto& s) { return s.ratio(); }),
                     r.bare ? fmt::format("{:.2f}", *r.bare) : "-",
                     field([](const auto& s) { return (s.opening + s.closing) / s.replacement; }),
                     field([](const auto& s) { return s.spread; }),
                     r.sample ? fmt::format("{:.2f} ms", 1e3 * r.sample->pattern) : "-",
                     tool::shapesText(jobs[i].shapes), r.kind == Row::Kind::kKnown ? "known" : r.note});
  }
  return tool::table(lines);
}

std::string counts(const std::vector<Row>& rows) {
  auto count = [&](Row::Kind kind) {
    return std::count_if(rows.begin(), rows.end(), [&](const Row& r) { return r.kind == kind; });
  };
  std::string text =
      fmt::format("{} points: {} timed, {} known, {} failed, {} left out because their rule loses, {} not timed\n",
                  rows.size(), count(Row::Kind::kTimed), count(Row::Kind::kKnown), count(Row::Kind::kFailed),
                  count(Row::Kind::kHopeless), count(Row::Kind::kNotTimed));
  std::vector<double> spreads;
  size_t runs = 0, outliers = 0;
  for (const Row& r : rows) {
    if (r.kind != Row::Kind::kTimed || !r.sample) continue;
    spreads.push_back(r.sample->spread);
    runs += r.runs;
    outliers += r.outliers;
  }
  if (spreads.empty()) return text;
  return text + fmt::format("median spread {:.2f}; {} of {} runs more than three spreads from their median, kept\n",
                            median(spreads), outliers, runs);
}

namespace {

/// What is known of a machine by the others.
std::string machinesLeftOut(const DeviceCosts& costs, double minGain, const ReportShare& progress) {
  const CrossValidation v = costs.crossValidateMachines(minGain, progress);
  return v.samples == 0 ? "no rule was timed on two machines: how gains carry over is not known\n"
                        : "each machine by the others, with the margin: " + v.str() + "\n";
}

}  // namespace

std::string wherePays(const RuleSet& rules, const Timings& timings, const Machine& machine, const Options& o) {
  tool::StatusLine status(o.quiet);
  const ReportShare progress = [&](double share) { status.show("judging the predictions", share); };
  DeviceCosts costs = DeviceCosts::fit(rules, timings, {o.device, o.threads, machine});
  std::vector<const Rule*> tuned;
  for (const Rule& rule : rules.rules) {
    if (matchesAny(rule.name, o.rules) && costs.isTuned(rule)) tuned.push_back(&rule);
  }
  std::sort(tuned.begin(), tuned.end(), [](const Rule* a, const Rule* b) { return a->name < b->name; });
  std::vector<std::vector<std::string>> lines{{"RULE", "RIGHT", "OFF BY", "PAYS"}};
  double done = 0;
  for (const Rule* rule : tuned) {
    progress(done++ / (3 * static_cast<double>(tuned.size())));
    CrossValidation v = costs.crossValidate(*rule, o.minGain);
    lines.push_back({rule->name, fmt::format("{}/{}", v.right, v.samples),
                     v.predicted > 0 ? fmt::format("{:.2f}", std::exp(v.logError)) : "-", costs.words(*rule)});
  }
  if (tuned.empty()) return fmt::format("no rule is tuned for {} with {} thread(s)\n", o.device, o.threads);
  const std::string all = costs.crossValidate(o.minGain, shareWithin(progress, 1.0 / 3, 1.0 / 3)).str();
  return tool::table(lines) + "\non " + machine.str() + ": " + all + "\n" +
         machinesLeftOut(costs, o.minGain, shareWithin(progress, 2.0 / 3, 1.0 / 3));
}

}  // namespace pet::tune
