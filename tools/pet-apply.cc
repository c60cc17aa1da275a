// pet-apply: rewrites an ONNX model with a pack of rules.

#include <malloc.h>

#include "tools/apply/arguments.h"
#include "tools/apply/explain.h"
#include "tools/apply/report.h"
#include "tools/apply/rewrite.h"
#include "tools/apply/types.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"

namespace {

using namespace pet;
using tool::ApplyArguments;

/// --types: what every value of the model is. Needs no pack, and writes no model.
Expected<void> showTypes(const ApplyArguments& o) {
  auto model = tool::loadModel(o);
  if (!model) return tl::unexpected(model.error());
  return tool::print(tool::typesText(model->graph, o.freezeInputs));
}

/// For standard output: the report, an explanation or the summary.
std::string wordsOf(const ApplyArguments& o, const tool::Rewriting& done) {
  auto printed = done.reports.find(tool::kStandardOutput);
  if (printed != done.reports.end()) return printed->second;
  if (o.quiet) return "";
  return o.explain.empty() ? tool::textOf(done.report, o) : tool::explanation(done.report, done.nodes, o);
}

Expected<void> run(ApplyArguments o) {
  if (o.types) return showTypes(o);
  tool::StatusLine status(o.quiet);
  std::string words;
  auto done = tool::rewriteModel(
      o, [&](std::string_view what, double share) { status.show(what, share); },
      [&](const tool::Rewriting& rewriting) { words = wordsOf(o, rewriting); });
  status.clear();
  if (!done) return tl::unexpected(done.error());
  auto said = tool::print(words);
  if (!said && !o.dryRun) said.error().advice = o.output + " was written";
  return said;
}

/// The check makes and drops tensors of some megabytes all the time: memory that went back to the system each time
/// would be cleared again each time, a fifth of all that the check takes.
void keepMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int runTool(int argc, char** argv) {
  CLI::App app("Rewrites an ONNX model with proved rules, checks the result by execution, and saves it.", "pet-apply");
  ApplyArguments o;
  declareArguments(app, o);
  std::vector<std::string> words = tool::apartExpected(argc, argv);
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  return tool::run(app, static_cast<int>(pointers.size()), pointers.data(), [&] { return run(o); });
}

}  // namespace

int main(int argc, char** argv) {
  keepMemory();
  return tool::guard("pet-apply", [&] { return runTool(argc, argv); });
}
