#include "tools/apply/report_file.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/text.h"
#include "tools/apply/fired_rules.h"
#include "tools/apply/next_step.h"
#include "tools/apply/page/page.h"
#include "tools/apply/report.h"

namespace pet::tool {
namespace {

/// By name, without the proofs.
Expected<std::map<std::string, std::string>> statementsOf(const ApplyReport& report, Pack& pack) {
  auto rules = rulesThatFired(report, pack);
  if (!rules) return tl::unexpected(rules.error());
  std::map<std::string, std::string> statements;
  for (const Rule& rule : rules->rules)
    statements.emplace(rule.name, printStatement(rule));
  return statements;
}

std::string proofText(RecordsChecked records, bool dryRun) {
  const std::string proved = "proved for every shape of its class";
  switch (records) {
    case RecordsChecked::kNot:
      return fmt::format("{} ({}: the record was not checked again)", proved, dryRun ? "dry run" : "--trust-pack");
    case RecordsChecked::kNow:
      return proved + "; the record was checked";
    case RecordsChecked::kWithTool:
      return proved + "; the record was checked when the default pack was made";
  }
  return proved;
}

/// Files, device, what the rewritten model's metadata say, and the commands that would do more.
std::vector<std::pair<std::string, std::string>> aboutRun(const ApplyArguments& o, const ApplyReport& report) {
  std::vector<std::pair<std::string, std::string>> lines = {{"Model", o.model}, {"Device", o.device}};
  lines.emplace_back("Machine", report.machine.str() + (report.isMachineTimed  ? ""
                                                        : report.isDeviceTuned ? "; no timing is of this CPU"
                                                                               : "; the device is untuned"));
  lines.emplace_back("Pack", o.pack.empty() ? "the default pack" : o.pack);
  if (!o.dryRun) lines.emplace_back("Written", o.output);
  for (const auto& [key, values] : report.metadata) {
    if (!values.empty()) lines.emplace_back(key, fmt::format("{}", fmt::join(values, ", ")));
  }
  if (!report.fired.empty()) return lines;
  for (const std::string& command : nextStep(report, o).commands)
    lines.emplace_back("Next", command);
  return lines;
}

}  // namespace

Expected<std::string> reportFileText(const ApplyArguments& o,
                                     const Model& original,
                                     const Applied& applied,
                                     Pack& pack) {
  auto statements = statementsOf(applied.report, pack);
  if (!statements) return tl::unexpected(statements.error());
  const PageContent content{.title = std::filesystem::path(o.model).filename(),
                            .headline = headlineOf(applied.report, o),
                            .before = original.graph,
                            .after = applied.model.graph,
                            .report = applied.report,
                            .statements = std::move(*statements),
                            .proof = proofText(applied.report.records, o.dryRun),
                            .run = aboutRun(o, applied.report),
                            .freezeInputs = o.freezeInputs,
                            .minGain = o.minGain};
  const std::string extension = std::filesystem::path(o.report).extension();
  return extension == ".html" || extension == ".htm" ? pageOf(content) : pageData(content);
}

}  // namespace pet::tool
