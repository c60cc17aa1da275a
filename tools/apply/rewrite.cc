#include "tools/apply/rewrite.h"

#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "applier/infer/infer.h"
#include "applier/measure/whole_model.h"
#include "rules/pack/file.h"
#ifdef PET_APPLY_ENGINE
#include "runtime/onednn/float_engine.h"
#endif
#include "tools/apply/command.h"
#include "tools/apply/default_pack.h"
#include "tools/apply/device.h"
#include "tools/apply/engine.h"
#include "tools/apply/error_limits.h"
#include "tools/apply/fired_rules.h"
#include "tools/apply/node_names.h"
#include "tools/apply/records.h"
#include "tools/apply/report.h"
#include "tools/apply/report_file.h"
#include "tools/apply/sizes.h"
#include "tools/apply/tuned_rules.h"
#include "tools/apply/untuned.h"
#include "tools/common/cuda_device.h"
#include "tools/common/runner.h"
#include "tools/common/share.h"
#include "tools/common/ticker.h"
#include "tools/common/tool.h"
#include "tools/machine/named_machine.h"

namespace pet::tool {
namespace {

/// The name, if it is one of a file.
std::string fileOf(const std::string& name) {
  return name == kStandardOutput ? "" : name;
}

/// Since some moment.
double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// --- Costs ---

/// The timings that were asked for, or those that ship for the device, with --more-timings, and `own`; none is no
/// error. With --all none are needed.
Expected<OpenTimings> findTimings(const ApplyArguments& o, const std::string& own = "") {
  auto path = o.timings.empty() ? shippedTimings(o.device) : Expected<std::string>(o.timings);
  if (!path && !o.all) return tl::unexpected(path.error());
  std::vector<std::string> files{path.value_or(""), o.moreTimings, own};
  std::erase(files, "");
  return OpenTimings::openAll(files);
}

/// What rules cost by timings on a machine.
struct Prices {
  const OpenTimings& timings;
  const Machine& machine;
  const std::optional<Ceiling>& ceiling;
};

/// apply() by these prices. `untuned`, where it is not null, gets what had none.
Expected<Applied> applyAt(const ApplyArguments& o,
                          const Model& model,
                          Pack& pack,
                          const Prices& prices,
                          const ApplyOptions& options,
                          std::vector<RulePoint>* untuned) {
  const Setting setting{o.device, o.threads, prices.machine, "between", model.graph.opset};
  auto rules = TunedRules::open(pack, prices.timings, setting, prices.ceiling);
  if (!rules) return tl::unexpected(rules.error());
  Costs costs{[&](const Rule& rule, const Bindings& shapes) { return rules->costAt(rule, shapes); },
              rules->layoutSecondsPerByte()};
  if (o.device.ends_with("-cpu")) costs.rates = prices.machine.ratesOn(o.device, o.threads);
  costs.beside = [&](const Rule& rule, const Bindings& shapes, const Surroundings& beside) {
    return rules->costBeside(rule, shapes, beside);
  };
  auto applied = apply(model, *rules, costs, options);
  if (!applied) return applied;
  applied->report.machine = prices.machine;
  applied->report.isMachineTimed = rules->isOfThisCpu();
  if (untuned) *untuned = refusedPoints(rules->untuned(), applied->report.refused);
  return applied;
}

/// --measure goes by the user's own timings as well. With a --budget what would fire is looked at first, and what of
/// that was not tuned is timed, and added to them. Nullopt: nothing was.
Expected<std::optional<UntunedTimed>> learn(const ApplyArguments& o,
                                            const Model& model,
                                            Pack& pack,
                                            const Machine& machine,
                                            const std::optional<Ceiling>& ceiling,
                                            ApplyOptions options,
                                            OpenTimings& timings) {
  const std::string own = ownTimings(o);
  const auto withOwn = [&]() -> Expected<void> {
    std::error_code ignored;
    if (!std::filesystem::exists(own, ignored)) return {};
    return findTimings(o, own).map([&](OpenTimings&& all) { timings = std::move(all); });
  };
  PET_TRY(withOwn());
  if (o.budget <= 0) return std::nullopt;
  options.check = ApplyOptions::Check::kNone;
  std::vector<RulePoint> untuned;
  auto look = applyAt(o, model, pack, {timings, machine, ceiling}, options, &untuned);
  if (!look) return tl::unexpected(look.error());
  if (untuned.empty()) return std::nullopt;
  auto timed = timeUntuned(o, untuned, options.progress);
  if (timed.timed > 0) PET_TRY(withOwn());
  return timed;
}

/// The pack that was asked for, else the default pack.
Expected<Pack> openPack(const ApplyArguments& o) {
  auto path = o.pack.empty() ? shareFile(kDefaultPack) : Expected<std::string>(o.pack);
  return path ? Pack::open(*path) : tl::unexpected(path.error());
}

// --- The pipeline ---

/// The model itself may be the output: it is replaced as a whole or not at all.
Expected<void> checkNames(const ApplyArguments& o) {
  const std::string json = fileOf(o.json), report = fileOf(o.report);
  if (auto ok = distinctFiles({o.output, json, report}, {o.pack, o.timings, o.moreTimings}); !ok) return ok;
  return distinctFiles({json, report}, {o.model});
}

/// The same with an output in the folder for temporary files, where anybody may write.
ApplyArguments elsewhere(ApplyArguments o) {
  std::error_code ignored;
  const auto folder = std::filesystem::temp_directory_path(ignored);
  o.output = (folder / std::filesystem::path(defaultOutput(o.model)).filename()).string();
  return o;
}

/// What would make a check of minutes be in vain.
Expected<void> checkPlaces(const ApplyArguments& o) {
  for (const std::string& report : {fileOf(o.json), fileOf(o.report)}) {
    if (report.empty()) continue;
    if (auto ok = checkWritable(report); !ok) return ok;
  }
  if (o.dryRun) return {};
  auto ok = checkWritable(o.output);
  if (!ok) ok.error().advice = "nothing was written; elsewhere: " + againWith(elsewhere(o), "");
  return ok;
}

/// Rules and nodes that are named, but not there.
Expected<void> checkChoices(const ApplyArguments& o, const std::vector<NodeName>& nodes, Pack& pack) {
  std::vector<std::string> names, explained;
  for (const NodeName& n : nodes)
    names.push_back(n.name);
  if (auto ok = checkGlobs(o, "--site", o.sites, names, "the model has no node"); !ok) return ok;
  if (o.only.empty() && o.skip.empty() && o.explain.empty()) return {};
  auto rules = pack.ruleNames();
  if (!rules) return tl::unexpected(rules.error());
  if (auto ok = checkGlobs(o, "--only", o.only, *rules, "the pack has no rule"); !ok) return ok;
  std::vector<std::string> skippable = *rules;
  skippable.emplace_back(kRowGuards);
  if (auto ok = checkGlobs(o, "--skip", o.skip, skippable, "the pack has no rule"); !ok) return ok;
  names.insert(names.end(), rules->begin(), rules->end());
  if (!o.explain.empty()) explained.push_back(o.explain);
  return checkGlobs(o, "--explain", explained, names, "there is no node in the model and no rule in the pack");
}

/// What a rewritten model says of how it was made.
Metadata metadataOf(const ApplyArguments& o, const Pack& pack) {
  Metadata said{{"pet.version", {std::string(kVersion)}}, {"pet.pack", {pack.digest()}}};
  for (const std::string& option : choicesOf(o))
    said["pet.options"].push_back(option);
  if (!o.all) said[kDeviceKey].push_back(o.device);
  for (const std::string& promise : o.sizes.assume)
    said[kPromisesKey].push_back(promise.substr(promise.find_first_not_of(' ')));
  return said;
}

/// The same without --measure and what it needs.
ApplyArguments unmeasured(ApplyArguments o) {
  o.measure = false;
  o.python = o.runner = o.cache = "";
  o.budget = ApplyArguments().budget;
  return o;
}

/// The engine that --measure asks; none without it.
Expected<std::optional<Engine>> startEngine(const ApplyArguments& o) {
  if (!o.measure) return std::nullopt;
  auto command = runnerCommand({o.device, o.python, o.runner});
  if (!command) return tl::unexpected(command.error());
  auto engine = Engine::start(
      {.command = std::move(*command),
       .cache = o.cache,
       .advice = "--python names a Python that has the engine; or without --measure: " + againWith(unmeasured(o), ""),
       .threads = o.threads,
       .inProcessorTime = o.threads == 1 && isProcessor(o.device)});
  if (!engine) return tl::unexpected(engine.error());
  return std::optional(std::move(*engine));
}

/// The sites are many, and are counted; the whole model takes its time.
Expected<std::vector<std::vector<double>>> timeTurns(Engine& engine, const Turns& turns, const ReportProgress& show) {
  std::optional<Ticker> ticker;
  if (!turns.cold) ticker.emplace(turns.seconds, [&](double share) { show(kTimingWhole, share); });
  return engine.time(turns);
}

/// A pack's author can write what he likes into it: whatever fired is proved here, before anything is written. The
/// default pack is part of the tool.
Expected<RecordsChecked> checkFired(const ApplyArguments& o,
                                    Pack& pack,
                                    const ApplyReport& report,
                                    const ReportProgress& show) {
  if (report.fired.empty()) return RecordsChecked::kNot;
  if (isDefaultPack(pack)) return RecordsChecked::kWithTool;
  if (o.trustPack || o.dryRun) return RecordsChecked::kNot;
  auto rules = rulesThatFired(report, pack);
  if (!rules) return tl::unexpected(rules.error());
  return checkRecords(*rules, {o.checker, o.pack, show}).map([] { return RecordsChecked::kNow; });
}

/// Where new weights wait: beside the output, where there has to be room for them anyway.
std::string keepFolder(const ApplyArguments& o) {
  std::error_code ignored;
  const std::filesystem::path output(o.output);
  if (std::filesystem::is_other(output, ignored)) return std::filesystem::temp_directory_path(ignored).string();
  return output.has_parent_path() ? output.parent_path().string() : ".";
}

Expected<ApplyOptions> applyOptions(const ApplyArguments& o, const Graph& graph, const ReportProgress& show) {
  ApplyOptions options;
  options.progress = show;
  options.policy.only = o.only;
  options.policy.skip = o.skip;
  options.policy.sites = o.sites;
  options.policy.all = o.all;
  options.policy.minGain = o.minGain;
  options.policy.unbounded = o.numerics == "any";
  options.policy.isMeasured = o.measure;
  if (const auto gpu = tool::cudaDevice(o.device); gpu && *gpu)
    options.policy.computedIn = computedAt((*gpu)->precision);
  options.policy.maxGrowth = o.maxGrowth.value_or(o.all ? std::numeric_limits<double>::infinity() : Policy().maxGrowth);
  options.normalise.freezeInputs = o.freezeInputs;
  options.check = o.dryRun           ? ApplyOptions::Check::kNone
                : o.check == "sites" ? ApplyOptions::Check::kSites
                                     : ApplyOptions::Check::kFull;
  options.seed = std::stoull(o.seed);
  options.clock = seconds;
#ifdef PET_APPLY_ENGINE
  options.engine = oneDnnFloatEngine(o.threads);
#endif
  options.keep = keepInFolder(keepFolder(o));
  if (auto ok = readSizes(o.sizes, graph, options.normalise); !ok) return tl::unexpected(ok.error());
  auto limits = errorLimits(o.maxRelativeError);
  if (!limits) return tl::unexpected(limits.error());
  options.policy.maxRelativeError = std::move(*limits);
  return options;
}

/// Writes a model beside its place, where it stays in `staged`.
Expected<void> stage(const ApplyArguments& o, const Model& rewritten, std::optional<StagedModel>& staged) {
  auto written = StagedModel::write(rewritten, o.output);
  if (!written) return tl::unexpected(written.error());
  staged = std::move(*written);
  return {};
}

/// The same, and reads it again, for the check.
Expected<Model> stageAndRead(const ApplyArguments& o, const Model& rewritten, std::optional<StagedModel>& staged) {
  PET_TRY(stage(o, rewritten, staged));
  auto again = staged->read();
  if (!again) return fail(ErrorKind::kInternal, again.error().message(), "", "please report this");
  return again;
}

/// The result beside its place, where the check has not left it there; the report names its files.
Expected<void> stageResult(const ApplyArguments& o, Applied& applied, std::optional<StagedModel>& staged) {
  if (!o.dryRun && !applied.isWritten) PET_TRY(stage(o, applied.model, staged));
  if (staged) applied.report.written = staged->files();
  return {};
}

/// The reports that are to be written, by file.
Expected<std::map<std::string, std::string>> reportTexts(const ApplyArguments& o,
                                                         const Model& original,
                                                         const Applied& applied,
                                                         Pack& pack) {
  std::map<std::string, std::string> texts;
  if (!o.json.empty()) texts.emplace(o.json, jsonOf(applied.report, o));
  if (o.report.empty()) return texts;
  auto text = reportFileText(o, original, applied, pack);
  if (!text) return tl::unexpected(text.error());
  texts.emplace(o.report, std::move(*text));
  return texts;
}

/// The reports and the model, if there is one; reports of a model that could not be written are removed.
Expected<void> store(const std::map<std::string, std::string>& reports, std::optional<StagedModel> staged) {
  Expected<void> ok;
  std::vector<std::string> written;
  for (const auto& [path, text] : reports) {
    if (path == kStandardOutput) continue;
    if (ok) ok = writeFile(path, text);
    if (ok) written.push_back(path);
  }
  if (ok && staged) ok = staged->commit();
  std::error_code ignored;
  for (const std::string& path : written) {
    if (!ok) std::filesystem::remove(path, ignored);
  }
  return ok;
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
              "to pass such nodes on as they are: " + againWith(o, "--keep-invalid"));
}

}  // namespace

Expected<Model> loadModel(const ApplyArguments& o) {
  auto extents = openExtents(o.sizes);
  if (!extents) return tl::unexpected(extents.error());
  auto model = load(o.model);
  if (!model || (extents->byName.empty() && extents->byInput.empty())) return model;
  return bindExtents(*model, *extents, o.model);
}

Expected<Rewriting> rewriteModel(ApplyArguments& o,
                                 const ReportProgress& show,
                                 const std::function<void(const Rewriting&)>& prepare) {
  const double start = seconds();
  if (o.output.empty()) o.output = defaultOutput(o.model);
  if (!o.explain.empty()) o.dryRun = true;
  auto device = settledDevice(o.device);
  if (!device) return tl::unexpected(device.error());
  o.device = std::move(*device);
  PET_TRY(checkNames(o));
  show("reading the model", kUnknownShare);
  auto model = loadModel(o);
  if (!model) return tl::unexpected(model.error());
  PET_TRY(checkValid(*model, o));
  show("reading the rules", kUnknownShare);
  auto pack = openPack(o);
  if (!pack) return tl::unexpected(pack.error());
  auto timings = findTimings(o);
  if (!timings) return tl::unexpected(timings.error());
  auto nodes = nodeNames(model->graph);
  PET_TRY(checkChoices(o, nodes, *pack));
  PET_TRY(checkDevice(o, *timings));
  auto warnings = timingsWarnings(o);
  if (!warnings) return tl::unexpected(warnings.error());
  auto versions = timedVersions(o, *timings);
  if (!versions) return tl::unexpected(versions.error());
  auto machine = namedMachine(o.machine, o.device, timings->machines());
  if (!machine) return tl::unexpected(machine.error());
  auto ceiling = ceilingOf(o);
  if (!ceiling) return tl::unexpected(ceiling.error());
  PET_TRY(checkPlaces(o));
  auto options = applyOptions(o, model->graph, show);
  if (!options) return tl::unexpected(options.error());
  options->metadata = metadataOf(o, *pack);
  auto engine = startEngine(o);
  if (!engine) return tl::unexpected(engine.error());
  if (*engine) warnings->push_back(versionWarning(*versions, (*engine)->hello()));
  std::erase(*warnings, "");
  std::optional<UntunedTimed> learnt;
  if (o.measure && !o.all) {
    auto found = learn(o, *model, *pack, *machine, *ceiling, *options, *timings);
    if (!found) return tl::unexpected(found.error());
    learnt = std::move(*found);
  }
  if (*engine) options->time = [&](const Turns& turns) { return timeTurns(**engine, turns, show); };
  std::optional<StagedModel> staged;
  options->writeAndRead = [&](const Model& rewritten) {
    show("writing the model", kUnknownShare);
    return stageAndRead(o, rewritten, staged);
  };
  auto applied = applyAt(o, *model, *pack, {*timings, *machine, *ceiling}, *options, nullptr);
  if (!applied) return tl::unexpected(applied.error());
  auto records = checkFired(o, *pack, applied->report, show);
  if (!records) return tl::unexpected(records.error());
  applied->report.records = *records;
  applied->report.warnings.insert(applied->report.warnings.begin(), warnings->begin(), warnings->end());
  applied->report.seconds = seconds() - start;
  applied->report.isDeviceTuned = !versions->empty();
  applied->report.versions = std::move(*versions);
  applied->report.untuned = std::move(learnt);
  PET_TRY(stageResult(o, *applied, staged));
  auto reports = reportTexts(o, *model, *applied, *pack);
  if (!reports) return tl::unexpected(reports.error());
  Rewriting done{std::move(applied->report), std::move(*reports), std::move(nodes)};
  done.report.seconds = seconds() - start;
  if (prepare) prepare(done);
  PET_TRY(store(done.reports, std::move(staged)));
  return done;
}

}  // namespace pet::tool
