#include "tools/tune/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/common/table.h"

namespace pet::tune {

std::string report(const std::vector<Job>& jobs, const std::vector<Row>& rows) {
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].sample || rows[i].kind == Row::Kind::kFailed) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return jobs[a].rule->name < jobs[b].rule->name; });
  std::vector<std::vector<std::string>> lines{{"RULE", "RATIO", "ALONE", "SPREAD", "PATTERN", "SHAPES", "NOTE"}};
  for (size_t i : order) {
    const Row& r = rows[i];
    auto field = [&](auto value) { return r.sample ? fmt::format("{:.2f}", value(*r.sample)) : "-"; };
    lines.push_back({jobs[i].rule->name, field([](const auto& s) { return s.ratio(); }),
                     r.bare ? fmt::format("{:.2f}", *r.bare) : "-", field([](const auto& s) { return s.spread; }),
                     r.sample ? fmt::format("{:.2f} ms", 1e3 * r.sample->pattern) : "-",
                     tool::shapesText(jobs[i].shapes), r.kind == Row::Kind::kKnown ? "known" : r.note});
  }
  return tool::table(lines);
}

std::string counts(const std::vector<Row>& rows) {
  auto count = [&](Row::Kind kind) {
    return std::count_if(rows.begin(), rows.end(), [&](const Row& r) { return r.kind == kind; });
  };
  return fmt::format("{} points: {} timed, {} known, {} failed, {} left out as their rule loses, {} not timed\n",
                     rows.size(), count(Row::Kind::kTimed), count(Row::Kind::kKnown), count(Row::Kind::kFailed),
                     count(Row::Kind::kHopeless), count(Row::Kind::kNotTimed));
}

std::string summary(const Timings& timings) {
  std::vector<std::vector<std::string>> lines{{"RULE", "SAMPLES", "LEAST", "MEDIAN", "GREATEST"}};
  for (const TimingSummary& s : timings.summaries()) {
    lines.push_back({s.name, std::to_string(s.samples), fmt::format("{:.2f}", s.least), fmt::format("{:.2f}", s.median),
                     fmt::format("{:.2f}", s.greatest)});
  }
  return tool::table(lines);
}

}  // namespace pet::tune
