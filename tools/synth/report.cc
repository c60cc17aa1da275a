#include "tools/synth/report.h"

#include <cmath>

#include <fmt/format.h>

#include "tools/common/tool.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;

/// One line of the summary: space, survivors of each filter, verdicts, rules.
std::string summaryLine(std::string_view name, size_t space, std::map<Fate, size_t>& n) {
  size_t built = space - n[Fate::kNotApplicable] - n[Fate::kNoVote] - n[Fate::kShape] - n[Fate::kEmptyClass];
  size_t filtered = built - n[Fate::kTooDeep] - n[Fate::kIdentity] - n[Fate::kCost] - n[Fate::kFingerprint];
  size_t unknown = n[Fate::kUnknown] + n[Fate::kUnproved];
  size_t proved = filtered - unknown - n[Fate::kNoCorrection];
  return fmt::format("{:<18} {:>7} {:>7} {:>9} {:>7} {:>8} {:>6}\n", name, space, built, filtered, proved, unknown,
                     n[Fate::kKept]);
}

/// "no vote 12, cost 3": what fell, by reason.
std::string dropped(const std::map<Fate, size_t>& fates) {
  std::string text;
  for (const auto& [fate, count] : fates) {
    if (fate != Fate::kKept && count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", fateName(fate), count);
  }
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

/// By stage, those that took at least a millisecond.
Json toMs(const StageTimes& t) {
  Json ms = Json::object();
  for (auto [stage, seconds] :
       {std::pair{"build", t.build}, {"filter", t.filter}, {"prove", t.prove}, {"correct", t.correct}}) {
    if (seconds >= 1e-3) ms[stage] = std::llround(seconds * 1e3);
  }
  return ms;
}

Json toSeconds(const StageTimes& t) {
  return {{"build", t.build}, {"filter", t.filter}, {"prove", t.prove}, {"correct", t.correct}};
}

Json toCounts(const std::map<Fate, size_t>& fates) {
  Json counts = Json::object();
  for (const auto& [fate, count] : fates)
    counts[std::string(fateName(fate))] = count;
  return counts;
}

Json toJson(const FromCounts& n) {
  return {{"subgraphs", n.subgraphs},   {"distinct", n.distinct},
          {"patterns", n.patterns},     {"known", n.known},
          {"unsearched", n.unsearched}, {"searched", n.searched},
          {"left_out", n.leftOut},      {"without_pattern", n.withoutPattern}};
}

Json toJson(const PatternReport& r) {
  Json candidates = Json::array();
  for (const CandidateOutcome& c : r.candidates) {
    candidates.push_back({{"name", c.name}, {"fate", fateName(c.fate)}, {"detail", c.detail}, {"ms", toMs(c.seconds)}});
  }
  return {{"pattern", r.pattern},         {"space", r.candidates.size()},
          {"fates", toCounts(r.fates())}, {"seconds", toSeconds(r.seconds)},
          {"no_plans", r.noPlans},        {"candidates", std::move(candidates)}};
}

/// Over all patterns.
struct Sums {
  explicit Sums(const Synthesis& s) {
    for (const PatternReport& r : s.reports) {
      space += r.candidates.size();
      seconds += r.seconds;
      for (const auto& [fate, count] : r.fates())
        fates[fate] += count;
    }
  }
  size_t space = 0;
  std::map<Fate, size_t> fates;
  StageTimes seconds;
};

}  // namespace

std::string summary(const Synthesis& s, const RunFacts& run) {
  Sums sums(s);
  std::string text = fmt::format("{:<18} {:>7} {:>7} {:>9} {:>7} {:>8} {:>6}\n", "pattern", "space", "voted",
                                 "filtered", "proved", "unknown", "kept");
  for (const PatternReport& r : s.reports) {
    auto fates = r.fates();
    text += summaryLine(r.pattern, r.candidates.size(), fates);
  }
  text += summaryLine("all", sums.space, sums.fates);
  for (const PatternReport& r : s.reports) {
    if (!r.noPlans.empty()) text += fmt::format("{}: no plans: {}\n", r.pattern, r.noPlans);
  }
  size_t boxes = 0;
  for (const Rule& r : s.rules.rules)
    boxes += !r.boxes.empty();
  const StageTimes& t = sums.seconds;
  return text +
         fmt::format(
             "dropped: {}\n{} rules, {} with boxes; {:.1f} s (build {:.1f}, filter {:.1f}, prove {:.1f}, correct "
             "{:.1f} s of thread time)\n",
             dropped(sums.fates), s.rules.rules.size(), boxes, run.seconds, t.build, t.filter, t.prove, t.correct) +
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
                 {"space", sums.space},
                 {"fates", toCounts(sums.fates)},
                 {"patterns", std::move(patterns)}};
  if (run.from) report["from"] = toJson(*run.from);
  return report;
}

std::string explanation(const Synthesis& s, const std::string& pattern) {
  std::string text;
  for (const PatternReport& r : s.reports) {
    if (r.pattern != pattern) continue;
    if (!r.noPlans.empty()) text += fmt::format("{}: no plans: {}\n", pattern, r.noPlans);
    auto fates = r.fates();
    text += fmt::format("{}: {} candidates, {} kept; dropped: {}\n", pattern, r.candidates.size(), fates[Fate::kKept],
                        dropped(fates));
    for (const auto& [fate, count] : fates) {
      if (!count) continue;
      text += fmt::format("{} {}: {}\n", fateName(fate), count, fateMeaning(fate));
      for (const CandidateOutcome& c : r.candidates) {
        if (c.fate != fate) continue;
        text += fmt::format("  {}/{}{}{}\n", pattern, c.name, c.detail.empty() ? "" : ": ", c.detail);
      }
    }
  }
  return text;
}

}  // namespace pet::tool
