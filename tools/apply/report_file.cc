#include "tools/apply/report_file.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "rules/text.h"
#include "tools/apply/page/page.h"
#include "tools/apply/report.h"

namespace pet::tool {
namespace {

/// By name, without the proofs.
Expected<std::map<std::string, std::string>> statementsOf(const ApplyReport& report, Pack& pack) {
  std::set<std::string> names;
  for (const Fired& f : report.fired)
    names.insert(f.rule);
  auto rules = pack.proved(names);
  if (!rules) return tl::unexpected(rules.error());
  std::map<std::string, std::string> statements;
  for (const Rule& rule : rules->rules)
    statements.emplace(rule.name, printStatement(rule));
  return statements;
}

std::string proofText(const ApplyArguments& o) {
  const std::string proved = "proved for every shape of its class";
  if (o.dryRun) return proved + " (dry run: the record was not checked again)";
  return proved + (o.trustPack ? " (--trust-pack: the record was not checked again)" : "; the record was checked");
}

}  // namespace

Expected<std::string> reportFileText(const ApplyArguments& o,
                                     const Model& original,
                                     const Applied& applied,
                                     Pack& pack) {
  const std::string extension = std::filesystem::path(o.report).extension();
  if (extension != ".html" && extension != ".htm") return jsonOf(applied.report, o);
  auto statements = statementsOf(applied.report, pack);
  if (!statements) return tl::unexpected(statements.error());
  return pageOf(
      {.title = std::filesystem::path(o.model).filename(),
       .headline = fmt::format("{} sites {} rewritten.", applied.report.fired.size(), o.dryRun ? "would be" : "are"),
       .before = original.graph,
       .after = applied.model.graph,
       .report = applied.report,
       .statements = std::move(*statements),
       .proof = proofText(o),
       .run = {{"Model", o.model}, {"Pack", o.pack}, {"Device", o.device}},
       .freezeInputs = o.freezeInputs});
}

}  // namespace pet::tool
