#include "rules/check/check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/check/subject.h"

namespace pet {

using check::Subject;
using check::Verdict;

bool CheckReport::proved() const {
  return std::all_of(steps.begin(), steps.end(), [](const CheckStep& s) { return s.verdict == Verdict::kProved; });
}

std::string CheckReport::reason() const {
  for (const CheckStep& s : steps) {
    if (s.verdict != Verdict::kProved) return s.reason.empty() ? s.what : s.what + ": " + s.reason;
  }
  return "";
}

namespace {

/// The steps in order; a part is skipped when an earlier one is not proved.
void checkAll(Subject& subject, const Pattern& pattern) {
  const Rule& rule = subject.rule();
  auto source = instantiate(pattern, rule);
  if (!source)
    return subject.record("the pattern over the rule's symbols", Verdict::kUnknown, source.error().message());
  checkClass(subject, pattern, *source);
  checkShapes(subject, *source);
  if (!subject.proved()) return;

  NameSource names;
  auto from = check::sumOf(*source, names);
  if (!from) return subject.record("the pattern as a sum of products", Verdict::kUnknown, from.error().message());
  auto to = check::sumOf(rule.replacement, names);
  if (!to) return subject.record("the replacement as a sum of products", Verdict::kUnknown, to.error().message());
  checkRecord(subject, *source, *from, *to);
  if (rule.boxes.empty() || !subject.proved()) return;

  auto mutant = check::sumOf(rule.mutant, names);
  if (!mutant) return subject.record("the mutant as a sum of products", Verdict::kUnknown, mutant.error().message());
  checkBoxes(subject, *source, *to, *mutant);
}

}  // namespace

CheckReport checkRule(const Pattern& pattern, const Rule& rule, const CheckOptions& options) {
  CheckReport report;
  try {
    Subject subject(rule, options, report);
    checkAll(subject, pattern);
    subject.finish();
  } catch (const std::exception& e) {  // an overflow in the affine arithmetic, or the solver's own
    report.steps.push_back({"the check", Verdict::kUnknown, e.what()});
  }
  return report;
}

}  // namespace pet
