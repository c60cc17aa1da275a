#include "tools/tune/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "applier/choose/policy.h"
#include "ir/quantile.h"
#include "rules/gain/gain.h"
#include "rules/pack/pack.h"
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
                     tool::shapesText(jobs[i].shapes) +
                         (jobs[i].beside == Surroundings{} ? "" : fmt::format(", {}", jobs[i].beside.place())) +
                         (jobs[i].opset == kUsualOpset ? "" : fmt::format(", opset {}", jobs[i].opset)),
                     r.kind == Row::Kind::kKnown ? "known" : r.note});
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

std::string wherePays(const RuleSet& rules, const Timings& timings, const Machine& machine, const Options& o) {
  std::map<std::pair<std::string, int>, DeviceCosts> costs;  // by place and opset
  for (const TimingSample& s : timings.all())
    costs.try_emplace({s.place, s.opset});
  for (auto& [where, of] : costs)
    of = DeviceCosts::fit(rules, timings, {o.device, o.threads, machine, where.first, where.second});
  std::vector<std::tuple<const Rule*, std::string, const DeviceCosts*>> tuned;
  for (const Rule& rule : rules.rules) {
    if (!matchesAny(rule.name, o.rules)) continue;
    const auto samples = timings.samples(ruleHash(*rules.findPattern(rule.pattern), rule), o.device);
    for (const auto& [where, of] : costs) {
      const std::string& place = where.first;
      const int opset = where.second;
      const bool isTimed = std::any_of(samples.begin(), samples.end(), [&](const TimingSample& s) {
        return s.threads == o.threads && s.place == place && s.opset == opset;
      });
      if (!isTimed || !of.isTuned(rule)) continue;
      const Surroundings* beside = surroundingsAt(place);
      const std::string words = (!beside || *beside == Surroundings{} ? "" : fmt::format("{}: ", beside->words())) +
                                (opset == kUsualOpset ? "" : fmt::format("from opset {} on: ", opset));
      tuned.emplace_back(&rule, words, &of);
    }
  }
  std::stable_sort(tuned.begin(), tuned.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a)->name < std::get<0>(b)->name; });
  tool::StatusLine status(o.quiet);
  std::vector<std::vector<std::string>> lines{{"RULE", "RIGHT", "OFF BY", "PAYS"}};
  double done = 0;
  for (const auto& [rule, where, own] : tuned) {
    status.show("judging the rules", done++ / static_cast<double>(tuned.size()));
    CrossValidation v = own->crossValidate(*rule, o.minGain);
    lines.push_back({rule->name, fmt::format("{}/{}", v.right, v.samples),
                     v.predicted > 0 ? fmt::format("{:.2f}", std::exp(v.logError)) : "-", where + own->words(*rule)});
  }
  return tuned.empty() ? fmt::format("no rule is tuned for {} with {} thread(s)\n", o.device, o.threads)
                       : tool::table(lines);
}

Worth worthOf(const RuleSet& rules,
              const Timings& timings,
              const Machine& machine,
              const std::vector<PointsOf>& models,
              const Options& o) {
  tool::StatusLine status(o.quiet);
  const ReportShare progress = [&](double share) { status.show("judging the predictions", share); };
  const DeviceCosts costs = DeviceCosts::fit(rules, timings, {o.device, o.threads, machine});
  std::vector<ShapesOfModel> shapes;
  for (const PointsOf& model : models) {
    ShapesOfModel& of = shapes.emplace_back();
    for (const auto& [pattern, points] : model) {
      for (const Point& point : points)
        of[pattern].insert(point.shapes);
    }
  }
  constexpr double kThird = 1.0 / 3;
  return {.machine = machine.str(),
          .models = models.size(),
          .bySample = costs.crossValidate(o.minGain, shareWithin(progress, 0, kThird)),
          .byModel = costs.crossValidateModels(shapes, o.minGain, shareWithin(progress, kThird, kThird)),
          .byMachine = costs.crossValidateMachines(o.minGain, shareWithin(progress, 2 * kThird, kThird))};
}

std::string text(const Worth& worth) {
  std::string text = fmt::format("on {}: {}\n", worth.machine, worth.bySample.str());
  if (worth.byModel.samples > 0) text += "each model by the others: " + worth.byModel.str() + "\n";
  return text + (worth.byMachine.samples == 0
                     ? "no rule was timed on two machines: how gains carry over is not known\n"
                     : "each machine by the others, with the margin: " + worth.byMachine.str() + "\n");
}

std::string json(const Worth& worth) {
  using Ordered = nlohmann::ordered_json;
  auto of = [](const CrossValidation& v) {
    return Ordered{{"samples", v.samples}, {"predicted", v.predicted}, {"right", v.right},
                   {"lost", v.lost},       {"below", v.below},         {"off_by", std::exp(v.logError)},
                   {"p10", v.low},         {"median", v.middle},       {"p90", v.high}};
  };
  const Ordered all{
      {"machine", worth.machine},
      {"models", worth.models},
      {"left_out", {{"sample", of(worth.bySample)}, {"model", of(worth.byModel)}, {"machine", of(worth.byMachine)}}}};
  return all.dump(2) + "\n";
}

}  // namespace pet::tune
