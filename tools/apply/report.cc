#include "tools/apply/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/shell.h"
#include "tools/apply/command.h"
#include "tools/apply/next_step.h"
#include "tools/apply/reasons.h"
#include "tools/common/display.h"
#include "tools/common/runner.h"
#include "tools/common/table.h"

namespace pet::tool {
namespace {

/// Sites, or rules, that a screen holds.
constexpr size_t kShown = 8;
/// Of what is said besides.
constexpr size_t kFew = 4;

// --- What was done ---

size_t guesses(const ApplyReport& r) {
  return static_cast<size_t>(std::count_if(r.fired.begin(), r.fired.end(), [](const Fired& f) { return f.guessed; }));
}

/// What gains are said of: "ort-cpu 1.31.1 with 1 thread", with the versions that something was timed on; of a GPU,
/// only the device.
std::string whereOf(const ApplyReport& r, const ApplyArguments& o) {
  if (!isProcessor(o.device)) return o.device;
  const std::string versions = r.versions.empty() ? "" : fmt::format(" {}", fmt::join(r.versions, " and "));
  return fmt::format("{}{} with {}", o.device, versions, counted(static_cast<size_t>(o.threads), "thread"));
}

/// "expected to be 1.19 times as fast on ort-cpu 1.31.1 with 1 thread: saves 2.1 ms of some 13 ms a run".
/// With a guess among the gains: "guessed to be …".
std::string expectation(const ApplyReport& r, const ApplyArguments& o) {
  const std::string where = whereOf(r, o);
  auto whole = std::find_if(r.measured.begin(), r.measured.end(), [](const auto& m) { return m.what == "the model"; });
  if (whole != r.measured.end()) return fmt::format("timed here to be {:.2f} times as fast on {}", whole->ratio, where);
  if (r.savedSeconds <= 0) return o.all ? "whatever the gain" : "expected to gain where their layouts meet";
  const char* how = guesses(r) > 0 ? "guessed" : "expected";
  if (!r.runSeconds) return fmt::format("{} to save {} a run on {}", how, duration(r.savedSeconds), where);
  return fmt::format("{} to be {:.2f} times as fast on {}: saves {} of some {} a run", how,
                     *r.runSeconds / (*r.runSeconds - r.savedSeconds), where, duration(r.savedSeconds),
                     duration(*r.runSeconds));
}

std::string gainText(const Fired& f) {
  return f.gain ? fmt::format("{:.2f}{}", *f.gain, f.guessed ? ", a guess" : "") : "-";
}

std::string sitesTable(const ApplyReport& report, bool verbose) {
  std::vector<std::vector<std::string>> rows{{"SITE", "RULE", "GAIN"}};
  if (verbose) rows[0].emplace_back("SHAPES");
  for (const Fired& f : report.fired) {
    rows.push_back({f.site, f.rule, gainText(f)});
    if (verbose) rows.back().push_back(rewrite::str(f.shapes));
  }
  return table(rows);
}

/// Where there are too many sites for a screen.
std::string rulesTable(const ApplyReport& report) {
  std::map<std::string, std::vector<const Fired*>> byRule;
  for (const Fired& f : report.fired)
    byRule[f.rule].push_back(&f);
  std::vector<std::vector<std::string>> rows;
  for (const auto& [rule, fired] : byRule) {
    auto less = [](const Fired* a, const Fired* b) { return a->gain.value_or(0) < b->gain.value_or(0); };
    const auto [least, most] = std::minmax_element(fired.begin(), fired.end(), less);
    const std::string gain =
        (*most)->gain ? fmt::format("{:.2f} - {:.2f}", (*least)->gain.value_or(0), *(*most)->gain) : "-";
    rows.push_back({rule, std::to_string(fired.size()), gain, fired[0]->site});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return byRule[a[0]].size() > byRule[b[0]].size(); });
  const size_t all = rows.size();
  rows.resize(std::min(all, kShown));
  rows.insert(rows.begin(), {"RULE", "SITES", "GAIN", "FIRST SITE"});
  return table(rows) + (all > kShown ? fmt::format("and {} more rules (--verbose)\n", all - kShown) : "");
}

std::string firedText(const ApplyReport& r, const ApplyArguments& o) {
  const std::string text = bold(fmt::format("{}: {}", o.model, headlineOf(r, o))) + "\n\n";
  return text + (o.verbose || r.fired.size() <= kShown ? sitesTable(r, o.verbose) : rulesTable(r)) + "\n";
}

/// What is known of the whole model's gain where nothing fired.
std::string prospect(const ApplyReport& r, const NextStep& next) {
  const std::string run = r.runSeconds ? fmt::format("some {} a run", duration(*r.runSeconds)) : "";
  if (next.saves <= 0) {
    return run.empty() ? "The whole model: as fast as it was; the timings do not tell how long a run takes\n"
                       : fmt::format("The whole model: as fast as it was, {}\n", run);
  }
  if (!r.runSeconds || *r.runSeconds <= next.saves)
    return fmt::format("The whole model: expected to save up to {} a run\n", duration(next.saves));
  return fmt::format("The whole model: expected to be up to {:.2f} times as fast: saves {} of {}\n",
                     *r.runSeconds / (*r.runSeconds - next.saves), duration(next.saves), run);
}

std::string nothingText(const ApplyReport& r, const ApplyArguments& o) {
  const NextStep next = nextStep(r, o);
  return bold(fmt::format("{}: {}", o.model, headlineOf(r, o))) + "\n" + prospect(r, next) + nextText(next.commands);
}

// --- What was not ---

std::string refusedText(const ApplyReport& report, const ApplyArguments& o) {
  if (report.refused.empty() || !o.verbose) return "";
  std::vector<std::vector<std::string>> rows{{"SITE", "RULE", "NOT REWRITTEN BECAUSE", "DETAIL"}};
  for (const Refused& r : report.refused)
    rows.push_back({r.site, r.rule.empty() ? r.pattern + ", any rule" : r.rule, sentenceOf(r.reason), r.reason.detail});
  return table(rows) + "\n";
}

/// Nodes that were not looked into, by operator, the most frequent first; each, and why, with --verbose.
std::string untouchedText(const ApplyReport& report, bool verbose) {
  if (report.untouched.empty()) return "";
  if (verbose) {
    std::vector<std::vector<std::string>> rows{{"LEFT AS IT IS", "OPERATOR", "BECAUSE"}};
    for (const Untouched& u : report.untouched)
      rows.push_back({u.node, u.type, u.reason});
    return table(rows) + "\n";
  }
  std::map<std::string, int> byType;
  for (const Untouched& u : report.untouched)
    ++byType[u.type];
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [type, count] : byType)
    order.emplace_back(-count, type);
  std::sort(order.begin(), order.end());
  std::vector<std::string> parts;
  for (const auto& [count, type] : order)
    parts.push_back(fmt::format("{} x{}", type, -count));
  constexpr size_t kTypes = 6;
  if (parts.size() > kTypes) {
    parts.resize(kTypes);
    parts.emplace_back("...");
  }
  return fmt::format("Left as they are: {} of the nodes, {} (--verbose says why)\n", report.untouched.size(),
                     fmt::join(parts, ", "));
}

/// What was timed here, with --measure.
std::string measuredText(const ApplyReport& report, bool verbose) {
  if (report.measured.empty() || !verbose) return "";
  std::vector<std::vector<std::string>> rows{{"TIMED HERE", "RATIO", "P10 - P90", ""}};
  for (const Measured& m : report.measured)
    rows.push_back({m.what, fmt::format("{:.2f}", m.ratio), fmt::format("{:.2f} - {:.2f}", m.p10, m.p90),
                    m.pays ? "pays" : "does not pay"});
  return table(rows) + "\n";
}

/// What is odd about the file: the first few, all with --verbose.
std::string warningsText(const ApplyReport& report, bool verbose) {
  constexpr size_t kWarnings = 3;
  const size_t shown = verbose ? report.warnings.size() : std::min(report.warnings.size(), kWarnings);
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format("Warning: {}\n", report.warnings[i]);
  const size_t more = report.warnings.size() - shown;
  return more == 0 ? text : text + fmt::format("and {} (--verbose)\n", counted(more, "more warning"));
}

// --- What was checked, and written ---

std::string_view proofsText(RecordsChecked records) {
  switch (records) {
    case RecordsChecked::kNot:
      return "";
    case RecordsChecked::kNow:
      return "; the proof of every rule that fired";
    case RecordsChecked::kWithTool:
      return "; the proofs when the default pack was made";
  }
  return "";
}

/// So many lines, or the first of them and how many more there are.
std::string someOf(std::string_view what, const std::vector<std::string>& lines, bool verbose) {
  const size_t shown = verbose ? lines.size() : std::min(lines.size(), kFew);
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format("{}: {}\n", what, lines[i]);
  return shown < lines.size() ? text + fmt::format("  and {} more (--verbose)\n", lines.size() - shown) : text;
}

std::string checkText(const ApplyReport& report, bool verbose) {
  if (report.checks.empty()) return "";
  size_t done = 0;
  double worst = 0;
  std::vector<std::string> notCompared, inTheWhole;
  for (const CheckLine& c : report.checks) {
    done += c.possible;
    worst = std::max(worst, c.worst);
    if (!c.possible) notCompared.push_back(fmt::format("{}: {}", c.where, c.reason));
  }
  for (const UncheckedSite& site : report.unchecked)
    inTheWhole.push_back(site.label);
  return someOf("Not compared", notCompared, verbose) +
         someOf("Checked only as part of the whole model", inTheWhole, verbose) +
         fmt::format("Checked: {} by execution (the largest difference is {:.2f} of what is allowed){}\n",
                     counted(done, "comparison"), worst, proofsText(report.records));
}

/// Where gains are those of other CPUs: what was done about it, and what would make it certain.
std::string otherCpusText(const ApplyReport& r, const ApplyArguments& o) {
  const auto count = std::count_if(r.fired.begin(), r.fired.end(), [](const Fired& f) { return f.margin > 1; });
  if (count == 0 || o.measure) return "";
  return fmt::format(
      "Gains at {} were timed on other CPUs than {}: a rule fires there only if it gains more than such figures "
      "are off; --measure times it here\n",
      counted(static_cast<size_t>(count), "site"), r.machine.str());
}

/// Where gains are guesses: of what, and what would make them certain.
std::string guessesText(const ApplyReport& r, const ApplyArguments& o) {
  if (guesses(r) == 0 || o.measure) return "";
  return fmt::format(
      "Gains at {} are guesses, by the peak that is published of {}: {} there; pet-tune --device {} times rules on "
      "such a GPU, --measure these\n",
      counted(guesses(r), "site"), r.machine.cpu, r.isDeviceTuned ? "they were not timed" : "it is untuned", o.device);
}

/// What was left out without a rule.
std::string leftOutText(const ApplyReport& r) {
  if (r.leftOut.empty()) return "";
  return fmt::format("Left out: {} of rows of a Softmax that cannot be empty (--skip {} keeps them)\n",
                     counted(r.leftOut.size(), "guard"), kRowGuards);
}

/// Where results are less exact, and where rules hold for the values of this model's weights only.
std::string exactnessText(const ApplyReport& r) {
  std::map<std::string, std::string> rounding;  // of a rule
  std::set<std::string> sites, byValues;
  for (const Fired& f : r.fired) {
    if (f.numerics.kind == Numerics::Kind::kConditioned) {
      rounding.emplace(f.rule, f.numerics.str());
      sites.insert(f.site);
    }
    if (!f.values.empty()) byValues.insert(f.site);
  }
  std::string text;
  if (!rounding.empty()) {
    std::vector<std::string> each;
    for (const auto& [rule, numerics] : rounding)
      each.push_back(fmt::format("{} {}", rule, numerics));
    const size_t more = each.size() - std::min(each.size(), kFew);
    each.resize(each.size() - more);
    text += fmt::format("Rounding: at {} errors may grow by a factor: {}{} (--max-rel-error bounds it)\n",
                        counted(sites.size(), "site"), fmt::join(each, ", "),
                        more == 0 ? "" : fmt::format(" and {}", counted(more, "more rule")));
  }
  if (!byValues.empty())
    text += fmt::format("Values: at {} a rule holds because of what the constants are (--json says which)\n",
                        counted(byValues.size(), "site"));
  return text;
}

/// What --measure did about rules that were not tuned.
std::string untunedText(const ApplyReport& r, const ApplyArguments& o) {
  if (!r.untuned) return "";
  const UntunedTimed& u = *r.untuned;
  std::string text = fmt::format("Timed here: {} of {} at which rules were not tuned (--budget {})", u.timed,
                                 counted(u.points, "point"), o.budget);
  if (u.timed > 0) text += fmt::format(", kept in {} (--more-timings)", u.file);
  return text + (u.problem.empty() ? "\n" : fmt::format("; {}\n", u.problem));
}

std::string notes(const ApplyReport& r, const ApplyArguments& o) {
  std::string text = leftOutText(r) + otherCpusText(r, o) + guessesText(r, o) + untunedText(r, o) + exactnessText(r);
  if (r.overridable > 0) {
    text += fmt::format(
        "{} of the weights may be replaced by a caller, so they are not rearranged without "
        "--freeze-inputs\n",
        r.overridable);
  }
  if (r.sizes.empty() || r.fired.empty()) return text;
  std::vector<std::string> sizes;
  for (const Bindings& b : r.sizes)
    sizes.push_back(shapesText(b));
  const size_t shown = o.verbose ? sizes.size() : std::min(sizes.size(), kFew);
  const std::string more = shown < sizes.size() ? fmt::format(" and {} more (--verbose)", sizes.size() - shown) : "";
  sizes.resize(shown);
  return text + fmt::format("It runs at all sizes; gains were judged at {}{}\n", fmt::join(sizes, "; "), more);
}

std::string writtenText(const ApplyReport& r, const ApplyArguments& o) {
  const std::string time = duration(r.seconds);
  if (o.dryRun) return fmt::format("Dry run of {}: nothing was checked or written\n", time);
  const std::string files = fmt::format("{}", fmt::join(r.written, " with "));
  if (r.fired.empty() && r.leftOut.empty()) return fmt::format("Written: {}, a copy, in {}\n", files, time);
  const double megabytes = 1e-6 * static_cast<double>(r.constantsAfter - r.constantsBefore);
  const double tenths = std::round(10 * megabytes) / 10 + 0.0;  // -0 is 0
  const std::string text = fmt::format("Written: {} in {} ({} to {} nodes, weights {:+.1f} MB)\n", files, time,
                                       r.nodesBefore, r.nodesAfter, tenths);
  return text + nextText({fmt::format("pet-bench {} {}", shellWord(o.model), shellWord(o.output))});
}

}  // namespace

std::string headlineOf(const ApplyReport& report, const ApplyArguments& o) {
  const std::string less =
      report.leftOut.empty() ? "" : counted(report.leftOut.size(), "needless guard") + " left out, ";
  if (report.fired.empty())
    return less + (less.empty() ? "nothing rewritten: " : "no rule fires: ") + nextStep(report, o).why;
  return fmt::format("{}{} rewritten, {}", less, counted(report.fired.size(), "site"), expectation(report, o));
}

std::string textOf(const ApplyReport& report, const ApplyArguments& o) {
  return (report.fired.empty() ? nothingText(report, o) : firedText(report, o)) + refusedText(report, o) +
         measuredText(report, o.verbose) + untouchedText(report, o.verbose) + warningsText(report, o.verbose) +
         notes(report, o) + checkText(report, o.verbose) + writtenText(report, o);
}

}  // namespace pet::tool
