#include "tools/synth/report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/common/tool.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;

/// What became of many candidates.
struct Counts {
  size_t space = 0, kept = 0;
  std::map<DropReason, size_t> drops;

  size_t operator[](DropReason reason) const {
    auto it = drops.find(reason);
    return it == drops.end() ? 0 : it->second;
  }
  void add(const PatternReport& r) {
    space += r.candidates.size();
    kept += r.kept();
    for (const auto& [reason, count] : r.drops())
      drops[reason] += count;
  }
};

Counts countsOf(const PatternReport& r) {
  Counts counts;
  counts.add(r);
  return counts;
}

/// One line of the summary: space, survivors of each filter, verdicts, rules.
std::string summaryLine(std::string_view name, const Counts& n) {
  using enum DropReason;
  size_t built = n.space - n[kNotApplicable] - n[kNoVote] - n[kShape] - n[kEmptyClass];
  size_t filtered = built - n[kTooDeep] - n[kIdentity] - n[kCost] - n[kFingerprint];
  size_t unknown = n[kUnknown] + n[kUnproved] + n[kUnchecked];
  size_t proved = filtered - unknown - n[kNoCorrection];
  return fmt::format("{:<18} {:>7} {:>7} {:>9} {:>7} {:>8} {:>6}\n", name, n.space, built, filtered, proved, unknown,
                     n.kept);
}

/// "no vote 12, cost 3": what fell, by reason.
std::string dropped(const Counts& counts) {
  std::string text;
  for (const auto& [reason, count] : counts.drops)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dropName(reason), count);
  return text.empty() ? "nothing" : text;
}

/// What a reader of the summary must know about where the outcomes come from, and whether all are there.
std::string about(const RunFacts& run) {
  std::string text;
  if (run.resumed) text += fmt::format("{} of {} units were in {}\n", run.resumed, run.units, run.checkpoint);
  if (!run.shard.whole()) {
    text += fmt::format("part {}: {} of {} units; pet-rules merge makes a pack of all parts\n", run.shard.str(),
                        run.units, run.id.units);
  }
  return text;
}

std::array<std::pair<const char*, double>, 5> stagesOf(const StageTimes& t) {
  return {{{"build", t.build}, {"filter", t.filter}, {"prove", t.prove}, {"correct", t.correct}, {"check", t.check}}};
}

/// By stage, those that took at least a millisecond.
Json toMs(const StageTimes& t) {
  Json ms = Json::object();
  for (auto [stage, seconds] : stagesOf(t)) {
    if (seconds >= 1e-3) ms[stage] = std::llround(seconds * 1e3);
  }
  return ms;
}

Json toSeconds(const StageTimes& t) {
  Json all = Json::object();
  for (auto [stage, seconds] : stagesOf(t))
    all[stage] = seconds;
  return all;
}

Json toJson(const Counts& counts) {
  Json json = Json::object();
  for (const auto& [reason, count] : counts.drops)
    json[std::string(dropName(reason))] = count;
  if (counts.kept) json["kept"] = counts.kept;
  return json;
}

Json toJson(const FromCounts& n) {
  return {{"subgraphs", n.subgraphs},   {"distinct", n.distinct},
          {"patterns", n.patterns},     {"known", n.known},
          {"unsearched", n.unsearched}, {"searched", n.searched},
          {"left_out", n.leftOut},      {"without_pattern", n.withoutPattern}};
}

Json toJson(const CandidateOutcome& c) {
  const Drop* drop = c.drop();
  return {{"name", c.name},
          {"verdict", drop ? dropName(drop->reason) : "kept"},
          {"detail", drop ? drop->detail : ""},
          {"ms", toMs(c.seconds)}};
}

Json toJson(const PatternReport& r) {
  Json candidates = Json::array();
  for (const CandidateOutcome& c : r.candidates)
    candidates.push_back(toJson(c));
  return {{"pattern", r.pattern},
          {"space", r.candidates.size()},
          {"verdicts", toJson(countsOf(r))},
          {"seconds", toSeconds(r.seconds)},
          {"no_plans", r.noPlans},
          {"candidates", std::move(candidates)}};
}

/// Over all patterns.
struct Sums {
  explicit Sums(const Synthesis& s) {
    for (const PatternReport& r : s.reports) {
      counts.add(r);
      seconds += r.seconds;
    }
  }
  Counts counts;
  StageTimes seconds;
};

/// A line for each pattern; of more than a screen holds, for those with the most rules.
std::string patternLines(const Synthesis& s, bool verbose) {
  constexpr size_t kShown = 15;
  std::vector<const PatternReport*> reports;
  for (const PatternReport& r : s.reports)
    reports.push_back(&r);
  const size_t shown = verbose ? reports.size() : std::min(reports.size(), kShown);
  if (shown < reports.size()) {
    std::stable_sort(reports.begin(), reports.end(),
                     [](const auto* a, const auto* b) { return a->kept() > b->kept(); });
  }
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += summaryLine(reports[i]->pattern, countsOf(*reports[i]));
  return shown < reports.size() ? text + fmt::format("and {} more (--verbose)\n", reports.size() - shown) : text;
}

/// Why patterns have no plans.
std::string emptySpaces(const Synthesis& s, bool verbose) {
  constexpr size_t kShown = 3;
  std::string text;
  size_t count = 0;
  for (const PatternReport& r : s.reports) {
    if (!r.noPlans.empty() && (++count <= kShown || verbose))
      text += fmt::format("{}: no plans: {}\n", r.pattern, r.noPlans);
  }
  return count > kShown && !verbose ? text + fmt::format("and {} more without plans (--verbose)\n", count - kShown)
                                    : text;
}

}  // namespace

std::string summary(const Synthesis& s, const RunFacts& run, bool verbose) {
  Sums sums(s);
  std::string text = fmt::format("{:<18} {:>7} {:>7} {:>9} {:>7} {:>8} {:>6}\n", "pattern", "space", "voted",
                                 "filtered", "proved", "unknown", "kept");
  text += patternLines(s, verbose) + summaryLine("all", sums.counts) + emptySpaces(s, verbose);
  size_t boxes = 0;
  for (const Rule& r : s.rules.rules)
    boxes += !r.boxes.empty();
  const StageTimes& t = sums.seconds;
  return text +
         fmt::format(
             "dropped: {}\n{} rules, {} with boxes; {:.1f} s (build {:.1f}, filter {:.1f}, prove {:.1f}, correct "
             "{:.1f}, "
             "check {:.1f} s of thread time)\n",
             dropped(sums.counts), s.rules.rules.size(), boxes, run.seconds, t.build, t.filter, t.prove, t.correct,
             t.check) +
         about(run);
}

Json jsonReport(const Synthesis& s, const RunFacts& run) {
  Sums sums(s);
  Json patterns = Json::array();
  for (const PatternReport& r : s.reports)
    patterns.push_back(toJson(r));
  Json report = {{"version", kVersion},
                 {"code", run.id.code},
                 {"poly", run.id.poly},
                 {"options",
                  {{"depth", run.id.depth},
                   {"operations", run.id.operations},
                   {"check", run.id.checked},
                   {"threads", run.threads},
                   {"ranks", run.ranks},
                   {"shard", run.shard.str()},
                   {"budget_s", run.budget},
                   {"checkpoint", run.checkpoint}}},
                 {"partial", run.missing > 0},
                 {"units", {{"all", run.units}, {"missing", run.missing}, {"resumed", run.resumed}}},
                 {"rules", s.rules.rules.size()},
                 {"seconds", run.seconds},
                 {"stages", toSeconds(sums.seconds)},
                 {"space", sums.counts.space},
                 {"verdicts", toJson(sums.counts)},
                 {"patterns", std::move(patterns)}};
  if (run.from) report["from"] = toJson(*run.from);
  return report;
}

std::string explanation(const Synthesis& s, const std::string& pattern) {
  std::string text;
  for (const PatternReport& r : s.reports) {
    if (r.pattern != pattern) continue;
    if (!r.noPlans.empty()) text += fmt::format("{}: no plans: {}\n", pattern, r.noPlans);
    const Counts counts = countsOf(r);
    text +=
        fmt::format("{}: {} candidates, {} kept; dropped: {}\n", pattern, counts.space, counts.kept, dropped(counts));
    for (const auto& [reason, count] : counts.drops) {
      text += fmt::format("{} {}: {}\n", dropName(reason), count, dropMeaning(reason));
      for (const CandidateOutcome& c : r.candidates) {
        const Drop* drop = c.drop();
        if (!drop || drop->reason != reason) continue;
        text += fmt::format("  {}/{}{}{}\n", pattern, c.name, drop->detail.empty() ? "" : ": ", drop->detail);
      }
    }
    if (counts.kept) text += fmt::format("kept {}: proved\n", counts.kept);
    for (const CandidateOutcome& c : r.candidates) {
      if (c.rule()) text += fmt::format("  {}/{}\n", pattern, c.name);
    }
  }
  return text;
}

}  // namespace pet::tool
