#include "tools/apply/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/apply/command.h"
#include "tools/apply/next_step.h"
#include "tools/apply/reasons.h"
#include "tools/common/table.h"

namespace pet::tool {
namespace {

/// That a screen holds.
constexpr size_t kMostLines = 15;

bool fits(const std::string& name, const ApplyArguments& o) {
  return matchesGlob(name, o.explain);
}

std::string ruleOf(const Refused& r) {
  return r.rule.empty() ? r.pattern + " (all rules)" : r.rule;
}

/// What would let it fire, or what else is known.
std::string wayOut(const Refused& r) {
  const Reason& reason = r.reason;
  const std::string gain =
      reason.ratio && isUnlocked(reason.kind) ? fmt::format(", then {:.2f} times as fast", *reason.ratio) : "";
  if (reason.kind == ReasonKind::kOpset && reason.value) return fmt::format("opset {}{}", *reason.value, gain);
  if (reason.kind == ReasonKind::kNotTuned || reason.kind == ReasonKind::kFarSizes) return "pet-tune";
  const std::string option = optionOf(reason);
  return option.empty() ? "" : option + gain;
}

std::string missesText(const std::vector<const Refused*>& misses, const ApplyArguments& o) {
  std::vector<std::vector<std::string>> rows{{"SITE", "RULE", "BECAUSE", "WHAT WOULD DO"}};
  if (o.verbose) rows[0].emplace_back("DETAIL");
  const size_t shown = o.verbose ? misses.size() : std::min(misses.size(), kMostLines);
  for (size_t i = 0; i < shown; ++i) {
    const Refused& r = *misses[i];
    const std::string out = wayOut(r);
    rows.push_back({r.site, ruleOf(r), sentenceOf(r.reason), out.empty() ? "-" : out});
    if (o.verbose) rows.back().push_back(r.reason.detail);
  }
  std::string text = table(rows);
  if (shown < misses.size()) text += fmt::format("and {} more (--verbose)\n", misses.size() - shown);
  return text;
}

/// Of nodes about which no rule has anything to say.
std::string silenceText(const ApplyReport& report, const std::vector<NodeName>& nodes, const ApplyArguments& o) {
  std::string text;
  size_t said = 0;
  for (const Untouched& u : report.untouched) {
    if (fits(u.node, o) && ++said <= kMostLines)
      text += fmt::format("{} ({}): pet does not look into it: {}\n", u.node, u.type, u.reason);
  }
  if (said > 0) return text;
  for (const NodeName& n : nodes) {
    if (fits(n.name, o) && ++said <= kMostLines)
      text += fmt::format("{} ({}): no rule looks for its operator, or it is part of a constant or of a larger site\n",
                          n.name, n.type);
  }
  return said > 0 ? text : fmt::format("{}: the operators that it looks for are nowhere in the model\n", o.explain);
}

}  // namespace

std::string explanation(const ApplyReport& report, const std::vector<NodeName>& nodes, const ApplyArguments& o) {
  std::string text;
  for (const Fired& f : report.fired) {
    if (!fits(f.site, o) && !fits(f.rule, o)) continue;
    const std::string gain =
        f.gain ? fmt::format(", {} to be {:.2f} times as fast", f.guessed ? "guessed" : "expected", *f.gain) : "";
    text += fmt::format("{}: would be rewritten by {}{}\n", f.site, f.rule, gain);
  }
  std::vector<const Refused*> misses;
  for (const Refused& r : report.refused) {
    if (fits(r.site, o) || fits(r.pattern, o) || (!r.rule.empty() && fits(r.rule, o))) misses.push_back(&r);
  }
  std::stable_sort(misses.begin(), misses.end(),
                   [&](const Refused* a, const Refused* b) { return isNearer(*a, *b, o.minGain); });
  if (misses.empty()) return text.empty() ? silenceText(report, nodes, o) : text;
  text += (text.empty() ? "" : "\n") + missesText(misses, o);
  auto commands = commandsFor(*misses[0], o);
  if (commands.empty() && misses[0]->reason.kind > ReasonKind::kNotTuned) commands = searchOf(report, o);
  return text + nextText(commands);
}

}  // namespace pet::tool
