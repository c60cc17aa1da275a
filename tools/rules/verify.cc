#include "tools/rules/verify.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rules/exhaustive.h"
#include "rules/pack/file.h"
#include "rules/text.h"
#include "tools/common/tool.h"
#include "tools/rules/chosen.h"

namespace pet::rules {
namespace {

using Json = nlohmann::ordered_json;

/// A pack, or the rules on standard input, as text.
Expected<RuleSet> readRules(const std::string& pack) {
  if (pack != "-") return readPack(pack);
  auto text = readFile("/dev/stdin", ErrorKind::kText);
  if (!text) return tl::unexpected(text.error());
  auto rules = parseRules(*text, "standard input");
  return rules ? std::move(rules) : tl::unexpected(tool::badText(rules.error()));
}

/// What `judge` says of each rule; the answers are in the order of the rules.
template <class Judge>
auto judgeAll(const char* what,
              const RuleSet& set,
              const std::vector<const Rule*>& rules,
              const tool::Workers& workers,
              Judge judge) {
  return tool::inParallel(
      what, rules.size(), workers, [&](size_t i) { return judge(*set.findPattern(rules[i]->pattern), *rules[i]); },
      [&](size_t i) { return rules[i]->name; });
}

struct Verification {
  std::string text;  ///< one line a rule, and a summary
  Json json = Json::array();
  size_t proved = 0;
};

Verification describe(const RuleSet& set,
                      const std::vector<const Rule*>& rules,
                      const std::vector<CheckReport>& reports) {
  Verification v;
  size_t refuted = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    std::string verdict = verdictOf(reports[i]), reason = reports[i].reason();
    v.proved += verdict == "proved";
    refuted += verdict == "refuted";
    v.text += fmt::format("{:<8} {} ", verdict, rules[i]->name);
    v.text +=
        reason.empty() ? fmt::format("({} obligations)\n", reports[i].steps.size()) : fmt::format("- {}\n", reason);
    v.json.push_back({{"name", rules[i]->name},
                      {"hash", hashOf(set, *rules[i])},
                      {"verdict", verdict},
                      {"obligations", reports[i].steps.size()},
                      {"reason", reason}});
  }
  v.text += fmt::format("{} rules: {} proved, {} refuted, {} unknown\n", rules.size(), v.proved, refuted,
                        rules.size() - v.proved - refuted);
  return v;
}

Json jsonOf(const RuleSet& set, const Rule& rule, const Evaluation& e) {
  Json j = {{"name", rule.name},
            {"hash", hashOf(set, rule)},
            {"equal", e.holds()},
            {"domain", e.domain},
            {"shapes", e.shapes},
            {"constraints", e.constraints},
            {"touched", e.touched},
            {"positions", e.positions},
            {"box_positions", e.boxPositions},
            {"different_positions", e.differentPositions}};
  if (e.counterExample) {
    j["counter_example"] = {{"what", e.counterExample->what},
                            {"symbols", e.counterExample->symbols},
                            {"position", e.counterExample->position},
                            {"pattern", e.counterExample->patternValue},
                            {"other", e.counterExample->otherValue}};
  }
  return j;
}

}  // namespace

const char* verdictOf(const CheckReport& report) {
  bool refuted = std::any_of(report.steps.begin(), report.steps.end(),
                             [](const CheckStep& s) { return s.verdict == check::Verdict::kRefuted; });
  return report.proved() ? "proved" : refuted ? "refuted" : "unknown";
}

std::vector<CheckReport> checkAll(const RuleSet& set,
                                  const std::vector<const Rule*>& rules,
                                  const tool::Workers& workers) {
  return judgeAll("checking", set, rules, workers, [](const Pattern& p, const Rule& r) { return checkRule(p, r); });
}

Expected<void> verify(const Judged& o) {
  auto set = readRules(o.pack);
  if (!set) return tl::unexpected(set.error());
  auto rules = chosenRules(*set, o.rules, o.pack);
  if (!rules) return tl::unexpected(rules.error());
  Verification v = describe(*set, *rules, checkAll(*set, *rules, o.workers));
  if (auto ok = tool::print(o.json ? v.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : v.text); !ok)
    return ok;
  if (v.proved == rules->size()) return {};
  return fail(ErrorKind::kCheck, fmt::format("{} of {} rules are not proved", rules->size() - v.proved, rules->size()),
              o.pack, "do not use this pack");
}

Expected<void> evaluateAll(const Judged& o) {
  auto set = readPack(o.pack);
  if (!set) return tl::unexpected(set.error());
  auto rules = chosenRules(*set, o.rules, o.pack);
  if (!rules) return tl::unexpected(rules.error());
  auto evaluations = judgeAll("evaluating", *set, *rules, o.workers,
                              [](const Pattern& p, const Rule& r) { return evaluateRule(p, r); });
  Json array = Json::array();
  std::string text;
  size_t equal = 0, shapes = 0;
  int64_t inBoxes = 0, different = 0;
  for (size_t i = 0; i < rules->size(); ++i) {
    const Evaluation& e = evaluations[i];
    equal += e.holds();
    shapes += e.shapes;
    inBoxes += e.boxPositions;
    different += e.differentPositions;
    text += fmt::format("{:<5} {} - {}\n", e.holds() ? "ok" : "WRONG", (*rules)[i]->name, e.str());
    array.push_back(jsonOf(*set, *(*rules)[i], e));
  }
  text += fmt::format("{} rules at {} shapes: {} equal, {} not; {} of {} box positions differ\n", rules->size(), shapes,
                      equal, rules->size() - equal, different, inBoxes);
  if (auto ok = tool::print(o.json ? array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text); !ok)
    return ok;
  if (equal == rules->size()) return {};
  return fail(ErrorKind::kCheck, fmt::format("{} of {} rules are not equal", rules->size() - equal, rules->size()),
              o.pack, "do not use this pack");
}

}  // namespace pet::rules
