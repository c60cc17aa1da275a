#include "tools/rules/covers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "ir/join.h"
#include "ir/text.h"
#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "synth/cover/reprove.h"
#include "tools/common/parallel.h"
#include "tools/common/tool.h"
#include "tools/rules/taso.h"

namespace pet::rules {
namespace {

using Json = nlohmann::ordered_json;
using rewrite::Direction;
using rewrite::Equation;

/// What is known of one rule.
struct Finding {
  enum class Kind { kCovered, kMissing, kFalse };
  Kind kind = Kind::kMissing;
  cover::Chain chain;
  std::string reason;  ///< why it is missing
};

size_t sizeOf(const Equation& e) {
  return e.left.nodes().size() + e.right.nodes().size();
}

/// The pack's rules, the small ones first; at each rank that occurs where they hold at each.
cover::KnownEquations knownEquations(const RuleSet& pack, const std::vector<TasoRule>& rules) {
  std::vector<Equation> equations;
  for (const Rule& r : pack.rules) {
    if (auto e = rewrite::equationOf(*pack.findPattern(r.pattern), r)) equations.push_back(std::move(*e));
  }
  std::stable_sort(equations.begin(), equations.end(),
                   [](const Equation& a, const Equation& b) { return sizeOf(a) < sizeOf(b); });
  cover::KnownEquations known;
  for (Equation& e : equations)
    known.add(std::move(e));
  std::set<size_t> ranks;
  for (const TasoRule& r : rules) {
    for (const Node& n : r.judgement.pattern.program.nodes()) {
      for (const Shape& s : n.shapes)
        ranks.insert(s.size());
    }
  }
  known.addRanks({ranks.begin(), ranks.end()});
  return known;
}

Finding findingOf(const Judgement& j, const cover::KnownEquations& known, const cover::ChainLimits& limits) {
  if (j.verdict == Verdict::kRefuted) return {Finding::Kind::kFalse, {}, j.reason};
  // What the prover does not know as a whole may be proved step by step.
  const std::string unknown = j.verdict == Verdict::kUnknown ? "it is not proved: " + j.reason : "";
  if (j.pattern.program.outputs().empty()) return {Finding::Kind::kMissing, {}, unknown};
  auto goal = rewrite::equationOf(j.pattern, j.rule);
  if (!goal) return {Finding::Kind::kMissing, {}, goal.error().message()};
  auto chain = cover::findChain(*goal, known, limits);
  if (!chain && !unknown.empty()) return {Finding::Kind::kMissing, {}, unknown};
  if (!chain) return {Finding::Kind::kMissing, {}, std::string(cover::reasonOf(chain.error()))};
  if (auto fault = cover::faultOf(*chain, j.pattern, j.rule)) return {Finding::Kind::kMissing, {}, *fault};
  return {Finding::Kind::kCovered, std::move(*chain), ""};
}

std::string stepText(const cover::Step& s, const cover::KnownEquations& known) {
  return known.all()[s.equation].name + (s.direction == Direction::kForward ? "" : " backwards");
}

bool isInstance(const cover::Chain& chain) {
  return chain.steps.size() == 1 && chain.steps[0].place == cover::Step::Place::kInstance;
}

/// "an instance", "in 2 steps".
std::string howText(const cover::Chain& chain) {
  if (chain.steps.empty()) return "one program on both sides";
  if (isInstance(chain)) return "an instance";
  return fmt::format("in {} step{}", chain.steps.size(), chain.steps.size() == 1 ? "" : "s");
}

std::string findingText(const TasoRule& rule, const Finding& f, const cover::KnownEquations& known, bool verbose) {
  if (f.kind == Finding::Kind::kFalse) return fmt::format("false   {} - it does not hold\n", rule.name);
  if (f.kind == Finding::Kind::kMissing) return fmt::format("MISSING {} - {}\n", rule.name, f.reason);
  std::string text = fmt::format("covered {} - {}", rule.name, howText(f.chain));
  if (!f.chain.steps.empty())
    text += ": " + joined(f.chain.steps, ", then ", [&](const cover::Step& s) { return stepText(s, known); });
  text += "\n";
  if (!verbose) return text;
  text += print(rule.judgement.pattern.program, "    ");
  for (const cover::Step& s : f.chain.steps)
    text += fmt::format("  {}\n{}", stepText(s, known), printStatements(s.after, "    "));
  return text;
}

Json jsonOf(const TasoRule& rule, const Finding& f, const cover::KnownEquations& known) {
  Json j = {
      {"name", rule.name}, {"true", f.kind != Finding::Kind::kFalse}, {"covered", f.kind == Finding::Kind::kCovered}};
  if (f.kind == Finding::Kind::kMissing) j["reason"] = f.reason;
  if (f.kind != Finding::Kind::kCovered) return j;
  j["instance"] = isInstance(f.chain);
  j["steps"] = Json::array();
  for (const cover::Step& s : f.chain.steps) {
    j["steps"].push_back({{"rule", known.all()[s.equation].name},
                          {"direction", s.direction == Direction::kForward ? "forwards" : "backwards"},
                          {"program", print(s.after, "")}});
  }
  return j;
}

/// "131 covered (40 an instance, 60 in 1 step, …), 2 not covered: taso-007, taso-009".
std::string summary(const std::vector<TasoRule>& rules, const std::vector<Finding>& findings) {
  std::map<std::pair<size_t, bool>, size_t> count;  // by length and whether it is a rewrite of a part
  std::map<std::pair<size_t, bool>, std::string> words;
  std::vector<std::string> missing;
  size_t covered = 0, wrong = 0;
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i];
    if (f.kind == Finding::Kind::kMissing) missing.push_back(rules[i].name);
    wrong += f.kind == Finding::Kind::kFalse;
    if (f.kind != Finding::Kind::kCovered) continue;
    ++covered;
    std::pair key{f.chain.steps.size(), !isInstance(f.chain)};
    ++count[key];
    words[key] = howText(f.chain);
  }
  std::vector<std::string> parts;
  for (const auto& [key, number] : count)
    parts.push_back(fmt::format("{} {}", number, words[key]));
  std::string text = fmt::format("{} covered", covered);
  if (!parts.empty()) text += fmt::format(" ({})", fmt::join(parts, ", "));
  text += fmt::format(", {} not covered", missing.size());
  if (!missing.empty()) text += fmt::format(": {}", fmt::join(missing, ", "));
  return text + (wrong > 0 ? fmt::format("; {} false\n", wrong) : "\n");
}

}  // namespace

Expected<void> covers(const std::string& pack,
                      const std::string& taso,
                      const CoverOptions& options,
                      const tool::Workers& workers) {
  auto set = readPack(pack);
  if (!set) return tl::unexpected(set.error());
  auto bytes = readFile(taso, ErrorKind::kText);
  if (!bytes) return tl::unexpected(bytes.error());
  auto rules = judgeTaso(*bytes, taso, workers);
  if (!rules) return tl::unexpected(rules.error());
  cover::KnownEquations known = knownEquations(*set, *rules);
  auto findings = tool::inParallel(
      "covering", rules->size(), workers,
      [&](size_t i) { return findingOf((*rules)[i].judgement, known, options.limits); },
      [&](size_t i) { return (*rules)[i].name; });
  std::string text;
  Json array = Json::array();
  size_t missing = 0;
  for (size_t i = 0; i < rules->size(); ++i) {
    missing += findings[i].kind == Finding::Kind::kMissing;
    if (options.json) {
      array.push_back(jsonOf((*rules)[i], findings[i], known));
    } else {
      text += findingText((*rules)[i], findings[i], known, options.verbose);
    }
  }
  if (auto ok = tool::print(options.json ? array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                         : text + summary(*rules, findings));
      !ok)
    return ok;
  if (missing == 0) return {};
  return fail(ErrorKind::kCheck, fmt::format("{} of {} rules are not covered", missing, rules->size()), pack);
}

}  // namespace pet::rules
