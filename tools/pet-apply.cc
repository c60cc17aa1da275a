// pet-apply: rewrites an ONNX model with a pack of rules.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <malloc.h>

#include "applier/apply.h"
#include "applier/infer/infer.h"
#include "rules/pack/file.h"
#ifdef PET_APPLY_ENGINE
#include "runtime/onednn/float_engine.h"
#endif
#include "tools/apply/arguments.h"
#include "tools/apply/command.h"
#include "tools/apply/device.h"
#include "tools/apply/engine.h"
#include "tools/apply/error_limits.h"
#include "tools/apply/explain.h"
#include "tools/apply/node_names.h"
#include "tools/apply/records.h"
#include "tools/apply/report.h"
#include "tools/apply/report_file.h"
#include "tools/apply/sizes.h"
#include "tools/apply/tuned_rules.h"
#include "tools/apply/types.h"
#include "tools/common/runner.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"

namespace {

using namespace pet;
using tool::ApplyArguments;

/// The name of a file that stands for standard output.
constexpr const char* kStandardOutput = "-";
/// The name, if it is one of a file.
std::string fileOf(const std::string& name) {
  return name == kStandardOutput ? "" : name;
}

// --- Costs ---

/// Where the tool's data files are: $PET_SHARE, else ../share/pet beside the folder of the binary, else packs/ of the
/// source tree that the binary was built in (build/bin/pet-apply).
std::filesystem::path shareFolder() {
  if (const char* given = std::getenv("PET_SHARE"); given && *given) return given;
  std::error_code ignored;
  auto bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (auto folder : {bin / ".." / "share" / "pet", bin / ".." / ".." / "packs"}) {
    if (std::filesystem::is_directory(folder, ignored)) return folder.lexically_normal();
  }
  return {};
}

/// The timings that were asked for, or those that ship for the device; none is no error.
Expected<OpenTimings> findTimings(const ApplyArguments& o) {
  if (!o.timings.empty()) return OpenTimings::open(o.timings);
  std::error_code ignored;
  auto folder = shareFolder();
  for (const char* extension : {".timings.jsonl", ".timings"}) {
    auto path = folder / (o.device + extension);
    if (!folder.empty() && std::filesystem::exists(path, ignored)) return OpenTimings::open(path.string());
  }
  return OpenTimings();
}

// --- The pipeline ---

/// The model itself may be the output: it is replaced as a whole or not at all.
Expected<void> checkNames(const ApplyArguments& o) {
  const std::string json = fileOf(o.json), report = fileOf(o.report);
  if (auto ok = tool::distinctFiles({o.output, json, report}, {o.pack, o.timings}); !ok) return ok;
  return tool::distinctFiles({json, report}, {o.model});
}

/// What would make a check of minutes be in vain.
Expected<void> checkPlaces(const ApplyArguments& o) {
  for (const std::string& report : {fileOf(o.json), fileOf(o.report)}) {
    if (report.empty()) continue;
    if (auto ok = checkWritable(report); !ok) return ok;
  }
  return o.dryRun ? Expected<void>() : checkWritable(o.output);
}

/// Rules and nodes that are named, but not there.
Expected<void> checkChoices(const ApplyArguments& o, const std::vector<tool::NodeName>& nodes, Pack& pack) {
  std::vector<std::string> names, explained;
  for (const tool::NodeName& n : nodes)
    names.push_back(n.name);
  if (auto ok = tool::checkGlobs("--site", o.sites, names, "the model has no node"); !ok) return ok;
  if (o.only.empty() && o.skip.empty() && o.explain.empty()) return {};
  auto rules = pack.ruleNames();
  if (!rules) return tl::unexpected(rules.error());
  if (auto ok = tool::checkGlobs("--only", o.only, *rules, "the pack has no rule"); !ok) return ok;
  if (auto ok = tool::checkGlobs("--skip", o.skip, *rules, "the pack has no rule"); !ok) return ok;
  names.insert(names.end(), rules->begin(), rules->end());
  if (!o.explain.empty()) explained.push_back(o.explain);
  return tool::checkGlobs("--explain", explained, names, "there is no node in the model and no rule in the pack");
}

/// What a rewritten model says of how it was made.
Metadata metadataOf(const ApplyArguments& o, const Pack& pack) {
  Metadata said{{"pet.version", {std::string(tool::kVersion)}}, {"pet.pack", {pack.digest()}}};
  for (const std::string& option : tool::choicesOf(o))
    said["pet.options"].push_back(option);
  for (const std::string& promise : o.sizes.assume)
    said[kPromisesKey].push_back(promise.substr(promise.find_first_not_of(' ')));
  return said;
}

/// The engine that --measure asks; none without it.
Expected<std::optional<tool::Engine>> startEngine(const ApplyArguments& o) {
  if (!o.measure) return std::nullopt;
  auto command = tool::runnerCommand({o.device == "onednn-cpu" ? "onednn" : "ort", o.python, o.runner});
  if (!command) return tl::unexpected(command.error());
  auto engine = tool::Engine::start({.command = std::move(*command), .cache = o.cache, .threads = o.threads});
  if (!engine) return tl::unexpected(engine.error());
  return std::optional(std::move(*engine));
}

/// A pack's author can write what he likes into it: whatever fired is proved here, before anything is written.
Expected<void> checkFired(const ApplyArguments& o, Pack& pack, const ApplyReport& report, tool::StatusLine& status) {
  if (o.trustPack || o.dryRun) return {};
  std::set<std::string> names;
  for (const Fired& f : report.fired)
    names.insert(f.rule);
  auto rules = pack.proved(names);
  if (!rules) return tl::unexpected(rules.error());
  auto progress = [&](const std::string& what) { status.show(what); };
  auto ok = tool::checkRecords(*rules, {o.checker, o.pack, progress});
  status.clear();
  return ok;
}

/// Where new weights wait: beside the output, where there has to be room for them anyway.
std::string keepFolder(const ApplyArguments& o) {
  std::error_code ignored;
  const std::filesystem::path output(o.output);
  if (std::filesystem::is_other(output, ignored)) return std::filesystem::temp_directory_path(ignored).string();
  return output.has_parent_path() ? output.parent_path().string() : ".";
}

Expected<ApplyOptions> applyOptions(const ApplyArguments& o, const Graph& graph) {
  ApplyOptions options;
  options.policy.only = o.only;
  options.policy.skip = o.skip;
  options.policy.sites = o.sites;
  options.policy.all = o.all;
  options.policy.minGain = o.minGain;
  options.policy.unbounded = o.numerics == "any";
  options.policy.isMeasured = o.measure;
  options.policy.maxGrowth = o.maxGrowth.value_or(o.all ? std::numeric_limits<double>::infinity() : Policy().maxGrowth);
  options.normalise.freezeInputs = o.freezeInputs;
  options.check = o.dryRun           ? ApplyOptions::Check::kNone
                : o.check == "sites" ? ApplyOptions::Check::kSites
                                     : ApplyOptions::Check::kFull;
  options.seed = std::stoull(o.seed);
  options.clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
#ifdef PET_APPLY_ENGINE
  options.engine = oneDnnFloatEngine(o.threads);
#endif
  options.keep = keepInFolder(keepFolder(o));
  if (auto ok = tool::readSizes(o.sizes, graph, options.normalise); !ok) return tl::unexpected(ok.error());
  auto limits = tool::errorLimits(o.maxRelativeError);
  if (!limits) return tl::unexpected(limits.error());
  options.policy.maxRelativeError = std::move(*limits);
  return options;
}

/// Writes a model beside its place and reads it again, for the check; it stays there in `staged`.
Expected<Model> stage(const ApplyArguments& o, const Model& rewritten, std::optional<StagedModel>& staged) {
  auto written = StagedModel::write(rewritten, o.output);
  if (!written) return tl::unexpected(written.error());
  staged = std::move(*written);
  auto again = staged->read();
  if (!again) return fail(ErrorKind::kInternal, again.error().message(), "", "please report this");
  return again;
}

/// The reports that are to be written, by file.
Expected<std::map<std::string, std::string>> reportTexts(const ApplyArguments& o,
                                                         const Model& original,
                                                         const Applied& applied,
                                                         Pack& pack) {
  std::map<std::string, std::string> texts;
  if (!o.json.empty()) texts.emplace(o.json, tool::jsonOf(applied.report, o));
  if (o.report.empty()) return texts;
  auto text = tool::reportFileText(o, original, applied, pack);
  if (!text) return tl::unexpected(text.error());
  texts.emplace(o.report, std::move(*text));
  return texts;
}

/// The reports and the model; reports of a model that could not be written are removed. `staged`: the model, if it was
/// checked.
Expected<void> store(const ApplyArguments& o,
                     const std::map<std::string, std::string>& reports,
                     const Applied& applied,
                     std::optional<StagedModel> staged) {
  Expected<void> ok;
  std::vector<std::string> written;
  for (const auto& [path, text] : reports) {
    if (path == kStandardOutput) continue;
    if (ok) ok = writeFile(path, text);
    if (ok) written.push_back(path);
  }
  if (ok && !o.dryRun) ok = staged ? staged->commit() : writeModel(applied.model, o.output);
  std::error_code ignored;
  for (const std::string& path : written) {
    if (!ok) std::filesystem::remove(path, ignored);
  }
  return ok;
}

/// The model, with the extents that are given.
Expected<Model> loadModel(const ApplyArguments& o) {
  auto extents = tool::openExtents(o.sizes);
  if (!extents) return tl::unexpected(extents.error());
  auto model = load(o.model);
  if (!model || (extents->byName.empty() && extents->byInput.empty())) return model;
  return bindExtents(*model, *extents, o.model);
}

/// kModel: a node that ONNX does not allow, whatever the inputs.
Expected<void> checkValid(const Model& model, const ApplyArguments& o) {
  if (o.keepInvalid) return {};
  std::vector<std::string> problems;
  for (const InferenceProblem& p : infer(model.graph, {.freezeInputs = o.freezeInputs}).problems) {
    if (p.kind == InferenceProblem::Kind::kNode) problems.push_back(p.text);
  }
  if (problems.empty()) return {};
  std::string more = problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : "";
  return fail(ErrorKind::kModel, "not a valid model: " + problems[0] + more, o.model,
              "--keep-invalid passes such nodes on as they are");
}

/// --types: what every value of the model is. Needs no pack, and writes no model.
Expected<void> showTypes(const ApplyArguments& o) {
  auto model = loadModel(o);
  if (!model) return tl::unexpected(model.error());
  return tool::print(tool::typesText(model->graph, o.freezeInputs));
}

/// What was done, on standard output: the report, an explanation or the summary.
Expected<void> say(const ApplyArguments& o,
                   const ApplyReport& report,
                   const std::map<std::string, std::string>& reports,
                   const std::vector<tool::NodeName>& nodes) {
  auto printed = reports.find(kStandardOutput);
  if (o.quiet && printed == reports.end()) return {};
  auto said = tool::print(printed != reports.end() ? printed->second
                          : o.explain.empty()      ? tool::textOf(report, o)
                                                   : tool::explanation(report, nodes, o));
  if (!said && !o.dryRun) said.error().advice = o.output + " was written";
  return said;
}

Expected<void> run(ApplyArguments o) {
  if (o.types) return showTypes(o);
  if (o.pack.empty()) return fail(ErrorKind::kUsage, "PACK is required (see pet-apply --help)");
  if (o.output.empty()) o.output = tool::defaultOutput(o.model);
  if (!o.explain.empty()) o.dryRun = true;
  if (auto ok = checkNames(o); !ok) return ok;
  tool::StatusLine status(o.quiet);
  status.show("reading the model");
  auto model = loadModel(o);
  if (!model) return tl::unexpected(model.error());
  if (auto ok = checkValid(*model, o); !ok) return ok;
  status.show("reading the rules");
  auto pack = Pack::open(o.pack);
  if (!pack) return tl::unexpected(pack.error());
  auto timings = findTimings(o);
  if (!timings) return tl::unexpected(timings.error());
  const auto nodes = tool::nodeNames(model->graph);
  if (auto ok = checkChoices(o, nodes, *pack); !ok) return ok;
  if (auto ok = tool::checkDevice(o.device, *timings); !ok) return ok;
  auto rules = tool::TunedRules::open(*pack, *timings, o.device, o.threads);
  if (!rules) return tl::unexpected(rules.error());
  if (auto ok = checkPlaces(o); !ok) return ok;

  auto options = applyOptions(o, model->graph);
  if (!options) return tl::unexpected(options.error());
  options->metadata = metadataOf(o, *pack);
  options->progress = [&](std::string_view what, double share) { status.show(what, share); };
  auto engine = startEngine(o);
  if (!engine) return tl::unexpected(engine.error());
  if (*engine) options->time = [&](const Turns& turns) { return (*engine)->time(turns); };
  const Costs costs{[&](const Rule& rule, const Bindings& shapes) { return rules->costs().at(rule, shapes); },
                    rules->costs().layoutSecondsPerByte()};
  std::optional<StagedModel> staged;
  options->writeAndRead = [&](const Model& rewritten) {
    status.show("writing the model");
    return stage(o, rewritten, staged);
  };
  auto applied = apply(*model, *rules, costs, *options);
  status.clear();
  if (!applied) return tl::unexpected(applied.error());

  const ApplyReport& report = applied->report;
  if (auto ok = checkFired(o, *pack, report, status); !ok) return ok;
  auto reports = reportTexts(o, *model, *applied, *pack);
  if (!reports) return tl::unexpected(reports.error());
  if (auto ok = store(o, *reports, *applied, std::move(staged)); !ok) return ok;
  return say(o, report, *reports, nodes);
}

/// The check makes and drops tensors of some megabytes all the time: memory that went back to the system each time
/// would be cleared again each time, a fifth of all that the check takes.
void keepMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

int main(int argc, char** argv) {
  keepMemory();
  CLI::App app("Rewrites an ONNX model with proved rules, checks the result by execution, and saves it.", "pet-apply");
  ApplyArguments o;
  declareArguments(app, o);
  return tool::run(app, argc, argv, [&] { return run(o); });
}
