#include "synth/search/reduce.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/text.h"
#include "synth/analysis/canonical_text.h"
#include "synth/cover/redundancy.h"
#include "synth/judge/part_of.h"

namespace pet {
namespace {

Expected<Rule> readRule(const Pattern& pattern, const CandidateOutcome& candidate) {
  std::string name = "rule " + pattern.name + "/" + candidate.name;
  auto parsed = parseRules(*candidate.rule(), name, {.patterns = {pattern}, .rules = {}});
  if (!parsed) return fail(ErrorKind::kPack, parsed.error().message(), name);
  if (parsed->rules.size() != 1) return fail(ErrorKind::kPack, "an outcome has one rule", name);
  parsed->rules[0].name = pattern.name + "/" + candidate.name;
  return std::move(parsed->rules[0]);
}

/// The same program, over no shape that `kept` does not have.
bool isDuplicate(const Rule& rule, const Rule& kept) {
  return rule.where == kept.where && isPartOf(rule.shapes, kept.shapes);
}

/// The rules of one pattern, and what became of its candidates.
Expected<PatternReport> reducePattern(const Pattern& pattern,
                                      std::vector<CandidateOutcome> candidates,
                                      std::vector<Rule>& rules) {
  PatternReport report{pattern.name, std::move(candidates), {}, ""};
  std::map<std::string, std::vector<Rule>> seen;  // by program
  for (CandidateOutcome& c : report.candidates) {
    report.seconds += c.seconds;
    if (!c.rule()) continue;
    auto rule = readRule(pattern, c);
    if (!rule) return tl::unexpected(rule.error());
    c.verdict = std::string();
    std::vector<Rule>& same = seen[canonicalText(rule->replacement)];
    auto first = std::find_if(same.begin(), same.end(), [&](const Rule& kept) { return isDuplicate(*rule, kept); });
    if (first == same.end()) {
      same.push_back(std::move(*rule));
    } else {
      c.verdict = Drop{DropReason::kDuplicate, "of " + first->name.substr(pattern.name.size() + 1)};
    }
  }
  for (auto& [program, same] : seen)
    std::move(same.begin(), same.end(), std::back_inserter(rules));
  return report;
}

/// Layouts alone: in normal form one program, whatever the order in which they move.
bool onlyMoves(const Program& p) {
  return std::all_of(p.nodes().begin(), p.nodes().end(),
                     [](const Node& n) { return n.is(ops::kInput) || n.op->layout; });
}

/// Drops rules that are others with other names, or instances of more general ones, whatever their pattern: where they
/// match, the other one does. What follows in more than that is kept, for the applier makes one step at a time.
void dropInstances(Synthesis& s, const ReportShare& progress) {
  auto minimal = cover::minimalSet(s.rules, {.steps = 1, .backwards = false}, progress);
  std::map<std::string, std::string> why;
  for (const cover::Dropped& d : minimal.dropped) {
    using cover::Redundancy;
    if (d.why != Redundancy::kSameProgram && d.why != Redundancy::kRenaming && d.why != Redundancy::kInstance) continue;
    why[d.rule] = d.by.empty() ? "both sides are one program" : "of " + d.by.front();
  }
  for (const Rule& r : s.rules.rules) {
    if (onlyMoves(r.replacement)) why.erase(r.name);
  }
  std::erase_if(s.rules.rules, [&](const Rule& r) { return why.contains(r.name); });
  for (PatternReport& report : s.reports) {
    for (CandidateOutcome& c : report.candidates) {
      auto it = c.rule() ? why.find(report.pattern + "/" + c.name) : why.end();
      if (it != why.end()) c.verdict = Drop{DropReason::kInstance, it->second};
    }
  }
}

}  // namespace

size_t PatternReport::kept() const {
  return static_cast<size_t>(std::count_if(candidates.begin(), candidates.end(),
                                           [](const CandidateOutcome& c) { return c.rule() != nullptr; }));
}

std::map<DropReason, size_t> PatternReport::drops() const {
  std::map<DropReason, size_t> count;
  for (const CandidateOutcome& c : candidates) {
    if (const Drop* drop = c.drop()) ++count[drop->reason];
  }
  return count;
}

Expected<Synthesis> reduce(const std::vector<Pattern>& patterns,
                           std::vector<UnitOutcome> outcomes,
                           const ReportShare& progress) {
  std::map<std::string, std::vector<CandidateOutcome>> byPattern;
  Synthesis result;
  std::sort(outcomes.begin(), outcomes.end(),
            [](const UnitOutcome& a, const UnitOutcome& b) { return a.unit < b.unit; });
  std::map<std::string, int> named;  // rules, by the name that their generators gave them
  for (UnitOutcome& unit : outcomes) {
    for (CandidateOutcome& c : unit.candidates) {
      const int count = c.rule() ? ++named[unit.pattern + "/" + c.name] : 0;
      if (count > 1) c.name += fmt::format("-{}", count);
      result.sources[unit.pattern + "/" + c.name] = unit.source;
    }
    auto& all = byPattern[unit.pattern];
    std::move(unit.candidates.begin(), unit.candidates.end(), std::back_inserter(all));
  }
  auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
  result.rules.patterns = patterns;
  std::sort(result.rules.patterns.begin(), result.rules.patterns.end(), byName);
  double done = 0;
  for (const Pattern& p : result.rules.patterns) {
    if (progress) progress(0.5 * done++ / static_cast<double>(result.rules.patterns.size()));
    auto report = reducePattern(p, std::move(byPattern[p.name]), result.rules.rules);
    if (!report) return tl::unexpected(report.error());
    result.reports.push_back(std::move(*report));
  }
  std::sort(result.rules.rules.begin(), result.rules.rules.end(), byName);
  dropInstances(result, shareWithin(progress, 0.5, 0.5));
  std::erase_if(result.sources, [&](const auto& of) { return !result.rules.findRule(of.first); });
  return result;
}

}  // namespace pet
