#include "tools/apply/next_step.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/shell.h"
#include "tools/apply/command.h"
#include "tools/apply/device.h"
#include "tools/apply/reasons.h"
#include "tools/common/share.h"

namespace pet::tool {
namespace {

/// More names would not be read.
constexpr size_t kMostNamed = 4;

std::string besideModel(const std::string& model, const char* extension) {
  return std::filesystem::path(model).replace_extension(extension).string();
}

/// Times the rules that are not tuned at the model's sizes, and applies them: into the file that was named, or one that
/// counts besides those that ship.
std::vector<std::string> tune(const std::set<std::string>& rules, const ApplyArguments& o) {
  ApplyArguments tuned = o;
  std::string& file = o.timings.empty() ? tuned.moreTimings : tuned.timings;
  if (file.empty()) file = besideModel(o.model, ".timings.jsonl");
  std::string command = "pet-tune";
  if (!o.pack.empty()) command += " " + shellWord(o.pack);
  command += fmt::format(" -o {} --shapes-from {} --budget 600", shellWord(file), shellWord(o.model));
  if (o.device != ApplyArguments().device) command += " --device " + shellWord(o.device);
  if (!o.python.empty()) command += " --python " + shellWord(o.python);
  if (o.threads != 1) command += fmt::format(" --threads {}", o.threads);
  if (!rules.empty() && rules.size() <= kMostNamed)
    command += " --rules " + shellWord(fmt::format("{}", fmt::join(rules, ",")));
  return {command, againWith(tuned, "")};
}

/// Writes the model in a later opset, with ONNX's own converter, and applies the rules to that.
std::vector<std::string> convert(const std::string& opset, const ApplyArguments& o) {
  const std::string file = besideModel(o.model, fmt::format(".opset{}.onnx", opset).c_str());
  const std::string script = fmt::format(
      "import sys, onnx, onnx.version_converter as v; onnx.save(v.convert_version(onnx.load(sys.argv[1]), {}), "
      "sys.argv[2])",
      opset);
  ApplyArguments converted = o;
  converted.model = file;
  return {fmt::format("python3 -c {} {} {}", shellWord(script), shellWord(o.model), shellWord(file)),
          againWith(converted, "")};
}

std::string explain(const std::string& site, const ApplyArguments& o) {
  return againWith(o, "--explain " + shellWord(site));
}

/// The nearest refusal of each site.
std::map<std::string, const Refused*> nearestBySite(const ApplyReport& report, double minGain) {
  std::map<std::string, const Refused*> nearest;
  for (const Refused& r : report.refused) {
    auto [at, isNew] = nearest.emplace(r.site, &r);
    if (!isNew && isNearer(r, *at->second, minGain)) at->second = &r;
  }
  return nearest;
}

/// The pack of the rules that the model's own patterns give.
std::string ownRules(const ApplyArguments& o) {
  return besideModel(o.model, ".rules.db");
}

NextStep whereNothingFits(const ApplyReport& report, const ApplyArguments& o) {
  const std::string nodes = counted(report.nodesBefore, "node");
  if (!report.canBeMined && report.untouched.empty())
    return {fmt::format("its {} compute constants, or no sizes were found at which it runs", nodes),
            {againWith(o, "--types")}};
  if (!report.canBeMined) {
    NextStep next{fmt::format("pet cannot look into its {}", nodes), {}};
    if (!o.verbose) next.commands.push_back(againWith(o, "--verbose"));
    return next;
  }
  if (o.pack == ownRules(o))
    return {fmt::format("no rule fits any of its {}, and the search of its own patterns found none", nodes), {}};
  return {fmt::format("no rule fits any of its {}", nodes), searchOf(report, o)};
}

/// Rules fit in part, but no option of the run would make them fire.
NextStep whereNearestIs(const Refused& best, const ApplyReport& report, const ApplyArguments& o) {
  NextStep next{fmt::format("{} comes nearest, at {}, but {}", best.rule.empty() ? best.pattern : best.rule, best.site,
                            sentenceOf(best.reason)),
                commandsFor(best, o)};
  if (!next.commands.empty()) return next;
  next.commands = searchOf(report, o);
  next.commands.insert(next.commands.begin(), explain(best.site, o));
  return next;
}

NextStep whereAnOptionWouldDo(const RefusalGroup& group, const ApplyArguments& o) {
  const Refused& best = *group.members[0];
  return {fmt::format("{} of {} would be {:.2f} times as fast, but {}", best.rule, counted(group.sites, "site"),
                      *best.reason.ratio, sentenceOf(best.reason)),
          commandsFor(best, o), group.saves};
}

/// The share of a run below which what an option would save is no advice.
constexpr double kLeastShare = 0.01;

/// Where nothing is known of the seconds, it may be much.
bool isNegligible(const RefusalGroup& group, const ApplyReport& report) {
  return report.runSeconds && group.saves > 0 && group.saves < kLeastShare * *report.runSeconds;
}

/// Even the best of the options would not be noticed.
NextStep whereOptionsSaveLittle(const RefusalGroup& group, const ApplyReport& report) {
  const Refused& best = *group.members[0];
  return {
      fmt::format("rules fit, but would gain less than {:.0f} % of a run: {} of {} would save {} of some {}, but {}",
                  100 * kLeastShare, best.rule, counted(group.sites, "site"), duration(group.saves),
                  duration(*report.runSeconds), sentenceOf(best.reason)),
      {}};
}

}  // namespace

std::string duration(double seconds) {
  if (seconds >= 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 0.0995) return fmt::format("{:.2g} s", seconds);
  return seconds >= 99.5e-6 ? fmt::format("{:.2g} ms", 1e3 * seconds) : fmt::format("{:.2g} us", 1e6 * seconds);
}

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string nextText(const std::vector<std::string>& commands) {
  std::string text;
  std::set<std::string> missing;
  for (const std::string& command : commands) {
    const std::string program = command.substr(0, command.find(' '));
    const bool isOurs = program.starts_with("pet-");
    const auto found = isOurs ? commandNamed(program) : program;
    if (!found) missing.insert(program);
    text += (text.empty() ? "Next: " : "      ") + (found && isOurs ? shellWord(*found) : program) +
            command.substr(program.size()) + "\n";
  }
  for (const std::string& program : missing) {
    text += fmt::format("{} is not installed here: it comes with pet's component 'tools' (docs/install.md)\n", program);
  }
  return text;
}

std::vector<std::string> searchOf(const ApplyReport& report, const ApplyArguments& o) {
  ApplyArguments mined = o;
  mined.pack = ownRules(o);
  mined.only.clear();  // names of another pack's rules
  mined.skip.clear();
  if (!report.canBeMined || o.pack == mined.pack) return {};
  return {fmt::format("pet-synth --from {} -o {} --budget 10m", shellWord(o.model), shellWord(mined.pack)),
          againWith(mined, "")};
}

std::vector<std::string> commandsFor(const Refused& refused, const ApplyArguments& o) {
  const Reason& reason = refused.reason;
  if (reason.kind == ReasonKind::kOpset && reason.value) return convert(*reason.value, o);
  if (isUntuned(reason.kind)) return tune({refused.rule}, o);
  const std::string option = optionOf(reason);
  return option.empty() ? std::vector<std::string>() : std::vector{againWith(o, option)};
}

NextStep nextStep(const ApplyReport& report, const ApplyArguments& o) {
  if (report.refused.empty() && report.matched == 0) return whereNothingFits(report, o);
  const auto nearest = nearestBySite(report, o.minGain);
  if (nearest.empty()) return {"no rule is left to try", {}};
  const Refused *best = nearest.begin()->second, *fastest = nullptr;  // the latter of those that are known not to gain
  size_t slow = 0;
  std::set<std::string> untunedSites, untunedRules;
  for (const auto& [site, r] : nearest) {
    if (isNearer(*r, *best, o.minGain)) best = r;
    if (r->reason.kind == ReasonKind::kNoGain || r->reason.kind == ReasonKind::kTimedHere) {
      ++slow;
      if (r->reason.ratio && (!fastest || *r->reason.ratio > *fastest->reason.ratio)) fastest = r;
    }
    if (isUntuned(r->reason.kind)) untunedSites.insert(site);
  }
  for (const Refused& r : report.refused) {
    if (untunedSites.contains(r.site) && isUntuned(r.reason.kind)) untunedRules.insert(r.rule);
  }
  const bool anOptionWouldDo = wouldFire(best->reason, o.minGain);
  const auto groups = anOptionWouldDo ? grouped(report.refused, o.minGain) : std::vector<RefusalGroup>();
  if (anOptionWouldDo && !isNegligible(groups[0], report)) return whereAnOptionWouldDo(groups[0], o);
  if (untunedSites.size() > slow) {
    const std::string fits = fmt::format("rules fit at {}, but", counted(untunedSites.size(), "site"));
    NextStep next{fmt::format("{} were not tuned on {} at sizes like these", fits, o.device), tune(untunedRules, o)};
    if (!report.isDeviceTuned) next.why = fmt::format("{} {} is untuned: nothing was timed on it", fits, o.device);
    if (canGuess(o)) next.commands.push_back(againWith(o, "--guess"));
    return next;
  }
  if (anOptionWouldDo) return whereOptionsSaveLittle(groups[0], report);
  if (fastest) {
    return {
        fmt::format("rules fit at {}, but none is expected to gain enough: at best {:.2f} times as fast, at {}",
                    counted(report.matched > 0 ? nearest.size() : slow, "site"), *fastest->reason.ratio, fastest->site),
        {explain(fastest->site, o)}};
  }
  return whereNearestIs(*best, report, o);
}

}  // namespace pet::tool
