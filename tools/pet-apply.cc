// pet-apply: rewrites an ONNX model with a pack of rules.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include "applier/apply.h"
#include "applier/infer/infer.h"
#include "rules/pack/file.h"
#ifdef PET_APPLY_ENGINE
#include "runtime/onednn/float_engine.h"
#endif
#include "tools/apply/engine.h"
#include "tools/apply/error_limits.h"
#include "tools/apply/records.h"
#include "tools/apply/sizes.h"
#include "tools/apply/tuned_rules.h"
#include "tools/apply/types.h"
#include "tools/common/runner.h"
#include "tools/common/status_line.h"
#include "tools/common/table.h"
#include "tools/common/tool.h"

namespace {

using namespace pet;
using Json = nlohmann::ordered_json;

struct Options {
  std::string model, pack, output, timings, json;
  std::string device = "ort-cpu", check = "full", numerics = "bounded";
  std::vector<std::string> only, skip, sites;
  std::string python, runner, cache, checker;
  bool trustPack = false, types = false, keepInvalid = false;
  tool::SizeTexts sizes;
  bool all = false, dryRun = false, freezeInputs = false, verbose = false, quiet = false, measure = false;
  int threads = 1;
  double minGain = Policy().minGain;
  std::optional<double> maxGrowth;
  uint64_t seed = 0;
  std::vector<std::string> maxRelativeError;
};

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
Expected<OpenTimings> findTimings(const Options& o) {
  if (!o.timings.empty()) return OpenTimings::open(o.timings);
  std::error_code ignored;
  auto folder = shareFolder();
  for (const char* extension : {".timings.jsonl", ".timings"}) {
    auto path = folder / (o.device + extension);
    if (!folder.empty() && std::filesystem::exists(path, ignored)) return OpenTimings::open(path.string());
  }
  return OpenTimings();
}

// --- What is said ---

std::string firedText(const ApplyReport& report) {
  if (report.fired.empty()) return "No rule fired.\n";
  std::vector<std::vector<std::string>> rows{{"SITE", "RULE", "GAIN", "SHAPES"}};
  for (const Fired& f : report.fired) {
    rows.push_back({f.site, f.rule, f.gain ? fmt::format("{:.2f}", *f.gain) : "-", rewrite::str(f.shapes)});
  }
  return tool::table(rows);
}

/// Refusals by reason, the most frequent first; each with --verbose.
std::string refusedText(const ApplyReport& report, bool verbose) {
  if (report.refused.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  if (verbose) {
    rows.push_back({"SITE", "RULE", "REFUSED BECAUSE"});
    for (const Refused& r : report.refused)
      rows.push_back({r.site, r.rule.empty() ? r.pattern + ", any rule" : r.rule, r.reason});
    return "\n" + tool::table(rows);
  }
  std::map<std::string, std::pair<int, std::set<std::string>>> byReason;
  for (const Refused& r : report.refused) {
    auto& [count, rules] = byReason[r.reason];
    ++count;
    rules.insert(r.rule.empty() ? r.pattern : r.rule);
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [reason, entry] : byReason)
    order.emplace_back(-entry.first, reason);
  std::sort(order.begin(), order.end());
  rows.push_back({"REFUSED", "RULES", "BECAUSE"});
  constexpr size_t kShown = 12;
  for (size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    const auto& rules = byReason[order[i].second].second;
    rows.push_back({std::to_string(-order[i].first), rules.size() == 1 ? *rules.begin() : std::to_string(rules.size()),
                    order[i].second});
  }
  std::string more =
      order.size() > kShown ? fmt::format("and {} more reasons (--verbose)\n", order.size() - kShown) : "";
  return "\n" + tool::table(rows) + more;
}

/// Nodes that were not looked into, by operator, the most frequent first; each, and why, with --verbose.
std::string untouchedText(const ApplyReport& report, bool verbose) {
  if (report.untouched.empty()) return "";
  if (verbose) {
    std::vector<std::vector<std::string>> rows{{"UNTOUCHED", "OPERATOR", "BECAUSE"}};
    for (const Untouched& u : report.untouched)
      rows.push_back({u.node, u.type, u.reason});
    return "\n" + tool::table(rows);
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
  constexpr size_t kShown = 6;
  if (parts.size() > kShown) {
    parts.resize(kShown);
    parts.push_back("...");
  }
  return fmt::format("\nNot looked into, and left as they are: {} of the nodes, {} (--verbose says why)\n",
                     report.untouched.size(), fmt::join(parts, ", "));
}

/// What was timed here, with --measure.
std::string measuredText(const ApplyReport& report) {
  if (report.measured.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"TIMED HERE", "RATIO", "P10 - P90", ""}};
  for (const Measured& m : report.measured)
    rows.push_back({m.what, fmt::format("{:.2f}", m.ratio), fmt::format("{:.2f} - {:.2f}", m.p10, m.p90),
                    m.pays ? "pays" : "does not pay"});
  return "\n" + tool::table(rows);
}

std::string checkText(const ApplyReport& report) {
  if (report.checks.empty()) return "";
  size_t done = 0;
  double worst = 0;
  std::string text;
  for (const CheckLine& c : report.checks) {
    done += c.possible;
    worst = std::max(worst, c.worst);
    if (!c.possible) text += fmt::format("Not compared: {}: {}\n", c.where, c.reason);
  }
  for (const UncheckedSite& site : report.unchecked)
    text += fmt::format("Checked only as part of the whole model: {}\n", site.label);
  return fmt::format("\n{}Checks: {} passed; the largest difference is {:.2f} of the allowed one.\n", text, done,
                     worst);
}

std::string summary(const ApplyReport& r, const Options& o) {
  std::string text = "\n";
  if (r.overridable > 0) {
    text += fmt::format(
        "{} initializers are also graph inputs, so a caller may replace them: they count as constants only with "
        "--freeze-inputs\n",
        r.overridable);
  }
  if (!r.sizes.empty() && !r.fired.empty()) {
    std::vector<std::string> sizes;
    for (const Bindings& b : r.sizes)
      sizes.push_back(tool::shapesText(b));
    text += fmt::format("The model leaves sizes open: the rules hold for all, gains were judged at {}\n",
                        fmt::join(sizes, "; "));
  }
  return text + fmt::format("{} sites rewritten, {} nodes to {}, constants {:+d} bytes{}\n", r.fired.size(),
                            r.nodesBefore, r.nodesAfter, r.constantsAfter - r.constantsBefore,
                            o.dryRun ? " (dry run, nothing written, no record checked)" : "; written to " + o.output);
}

Json jsonOf(const ApplyReport& r) {
  Json fired = Json::array(), refused = Json::array(), checks = Json::array(), measured = Json::array(),
       untouched = Json::array();
  for (const Fired& f : r.fired) {
    Json shapes = Json::object();
    for (const auto& [symbol, value] : f.shapes)
      shapes[symbol] = value.asConstant() ? Json(*value.asConstant()) : Json(value.str());
    fired.push_back({{"site", f.site},
                     {"rule", f.rule},
                     {"shapes", shapes},
                     {"numerics", f.numerics.str()},
                     {"boxes", f.boxes},
                     {"gain", f.gain ? Json(*f.gain) : Json()}});
  }
  for (const Refused& x : r.refused)
    refused.push_back({{"site", x.site}, {"pattern", x.pattern}, {"rule", x.rule}, {"reason", x.reason}});
  for (const Untouched& u : r.untouched)
    untouched.push_back({{"node", u.node}, {"operator", u.type}, {"reason", u.reason}});
  for (const CheckLine& c : r.checks) {
    checks.push_back(
        {{"where", c.where}, {"scope", c.scope}, {"possible", c.possible}, {"reason", c.reason}, {"worst", c.worst}});
  }
  for (const Measured& m : r.measured)
    measured.push_back({{"what", m.what}, {"ratio", m.ratio}, {"p10", m.p10}, {"p90", m.p90}, {"pays", m.pays}});
  return {{"fired", fired},
          {"refused", refused},
          {"untouched", untouched},
          {"checks", checks},
          {"measured", measured},
          {"sizes", r.sizes},
          {"rounds", r.rounds},
          {"seconds", {{"rewrite", r.rewriteSeconds}, {"check", r.checkSeconds}}},
          {"nodes", {r.nodesBefore, r.nodesAfter}},
          {"constant_bytes", {r.constantsBefore, r.constantsAfter}}};
}

// --- The pipeline ---

/// model.onnx -> model.pet.onnx
std::string defaultOutput(const std::string& model) {
  std::filesystem::path path(model);
  return path.replace_extension(".pet.onnx").string();
}

/// The model itself may be the output: it is replaced as a whole or not at all.
Expected<void> checkNames(const Options& o) {
  if (auto ok = tool::distinctFiles({o.output, o.json}, {o.pack, o.timings}); !ok) return ok;
  return tool::distinctFiles({o.json}, {o.model});
}

/// What would make a check of minutes be in vain.
Expected<void> checkPlaces(const Options& o) {
  if (!o.json.empty()) {
    if (auto ok = checkWritable(o.json); !ok) return ok;
  }
  return o.dryRun ? Expected<void>() : checkWritable(o.output, ErrorKind::kModel);
}

/// The engine that --measure asks; none without it.
Expected<std::optional<tool::Engine>> startEngine(const Options& o) {
  if (!o.measure) return std::nullopt;
  auto command = tool::runnerCommand({o.device == "onednn-cpu" ? "onednn" : "ort", o.python, o.runner});
  if (!command) return tl::unexpected(command.error());
  auto engine = tool::Engine::start({.command = std::move(*command), .cache = o.cache, .threads = o.threads});
  if (!engine) return tl::unexpected(engine.error());
  return std::optional(std::move(*engine));
}

/// A pack's author can write what he likes into it: whatever fired is proved here, before anything is written.
Expected<void> checkFired(const Options& o, Pack& pack, const ApplyReport& report, tool::StatusLine& status) {
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

ApplyOptions applyOptions(const Options& o) {
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
  options.seed = o.seed;
  options.clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  return options;
}

/// Where new weights wait: beside the output, where there has to be room for them anyway.
std::string keepFolder(const Options& o) {
  std::error_code ignored;
  const std::filesystem::path output(o.output);
  if (std::filesystem::is_other(output, ignored)) return std::filesystem::temp_directory_path(ignored).string();
  return output.has_parent_path() ? output.parent_path().string() : ".";
}

/// Writes a model beside its place and reads it again, for the check; it stays there in `staged`.
Expected<Model> stage(const Options& o, const Model& rewritten, std::optional<StagedModel>& staged) {
  auto written = StagedModel::write(rewritten, o.output);
  if (!written) return tl::unexpected(written.error());
  staged = std::move(*written);
  auto again = staged->read();
  if (!again) return fail(ErrorKind::kInternal, again.error().message(), "", "please report this");
  return again;
}

/// The report and the model; a report of a model that could not be written is removed. `staged`: the model, if it was
/// checked.
Expected<void> store(const Options& o, const Applied& applied, std::optional<StagedModel> staged) {
  if (!o.json.empty()) {
    if (auto ok = writeFile(o.json, jsonOf(applied.report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
        !ok)
      return ok;
  }
  if (o.dryRun) return {};
  auto ok = staged ? staged->commit() : writeModel(applied.model, o.output);
  std::error_code ignored;
  if (!ok && !o.json.empty()) std::filesystem::remove(o.json, ignored);
  return ok;
}

/// The model, with the extents that are given.
Expected<Model> loadModel(const Options& o) {
  auto extents = tool::openExtents(o.sizes);
  if (!extents) return tl::unexpected(extents.error());
  auto model = load(o.model);
  if (!model || (extents->byName.empty() && extents->byInput.empty())) return model;
  return bindExtents(*model, *extents, o.model);
}

/// kModel: a node that ONNX does not allow, whatever the inputs.
Expected<void> checkValid(const Model& model, const Options& o) {
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
Expected<void> showTypes(const Options& o) {
  auto model = loadModel(o);
  if (!model) return tl::unexpected(model.error());
  return tool::print(tool::typesText(model->graph, o.freezeInputs));
}

Expected<void> run(Options o) {
  if (o.types) return showTypes(o);
  if (o.pack.empty()) return fail(ErrorKind::kUsage, "PACK is required (see pet-apply --help)");
  if (o.output.empty()) o.output = defaultOutput(o.model);
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
  auto rules = tool::TunedRules::open(*pack, *timings, o.device, o.threads);
  if (!rules) return tl::unexpected(rules.error());
  if (auto ok = checkPlaces(o); !ok) return ok;

  ApplyOptions options = applyOptions(o);
  if (auto ok = tool::readSizes(o.sizes, model->graph, options.normalise); !ok) return ok;
  for (const std::string& promise : o.sizes.assume)
    options.promises.push_back(promise.substr(promise.find_first_not_of(' ')));
  options.progress = [&](std::string_view what, double share) { status.show(what, share); };
#ifdef PET_APPLY_ENGINE
  options.engine = oneDnnFloatEngine(o.threads);
#endif
  auto limits = tool::errorLimits(o.maxRelativeError);
  if (!limits) return tl::unexpected(limits.error());
  options.policy.maxRelativeError = std::move(*limits);
  auto engine = startEngine(o);
  if (!engine) return tl::unexpected(engine.error());
  if (*engine) options.time = [&](const Turns& turns) { return (*engine)->time(turns); };
  const Costs costs{[&](const Rule& rule, const Bindings& shapes) { return rules->costs().at(rule, shapes); },
                    rules->costs().layoutSecondsPerByte()};
  std::optional<StagedModel> staged;
  options.keep = keepInFolder(keepFolder(o));
  options.writeAndRead = [&](const Model& rewritten) {
    status.show("writing the model");
    return stage(o, rewritten, staged);
  };
  auto applied = apply(*model, *rules, costs, options);
  status.clear();
  if (!applied) return tl::unexpected(applied.error());

  const ApplyReport& report = applied->report;
  if (auto ok = checkFired(o, *pack, report, status); !ok) return ok;
  if (auto ok = store(o, *applied, std::move(staged)); !ok) return ok;
  if (o.quiet) return {};
  auto said = tool::print(firedText(report) + refusedText(report, o.verbose) + untouchedText(report, o.verbose) +
                          measuredText(report) + checkText(report) + summary(report, o));
  if (!said && !o.dryRun) said.error().advice = o.output + " was written";
  return said;
}

/// What is rewritten, with which rules.
void declareChoice(CLI::App& app, Options& o) {
  app.add_option("MODEL", o.model, "an ONNX model")->required();
  app.add_option("PACK", o.pack, "a pack of rules, from pet-synth");
  app.add_option("-o,--output", o.output, "the model to write; by default MODEL with the extension .pet.onnx");
  app.add_option("--only", o.only, "only these rules (names or globs, separated by commas)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--skip", o.skip, "all but these rules")->delimiter(',')->allow_extra_args(false);
  app.add_option("--site", o.sites, "only these sites (names of ONNX nodes, or globs)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--all", o.all, "rewrite a maximal set of sites, whatever the gain");
  app.add_option("--min-gain", o.minGain, "the least expected ratio, original / rewritten, for which a rule fires")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  app.add_option("--max-growth", o.maxGrowth,
                 "the factor by which the weights of a site may grow, plus 1 MiB (default 4, which admits Winograd's "
                 "F(4,3) of a 3 x 3 kernel; no bound with --all)")
      ->check(CLI::Range(1.0, 1e6));
}

void declareSizes(CLI::App& app, Options& o) {
  app.add_option("--bind", o.sizes.bind, "makes a size that the model leaves open a number, for good: batch=8")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--shape", o.sizes.shapes, "the same for all extents of an input: x=1x3x224x224")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--assume", o.sizes.assume,
                 "what you promise of sizes that stay open: 'seq <= 4096, seq % 16 == 0'; else all sizes from 1 on")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--expect", o.sizes.expect,
                 "sizes at which rules have to gain: batch=1,8 or seq=128..512; by default at small, typical and large "
                 "ones")
      ->allow_extra_args(false);
}

void declareMeasuring(CLI::App& app, Options& o) {
  app.add_flag(
      "--measure", o.measure,
      "also time the chosen rewrites on the installed engine, at the sites and in the whole model, and leave out "
      "those that do not pay: never slower. Results are kept in a cache");
  app.add_option("--cache", o.cache, "where --measure keeps results (default ~/.cache/pet/measured.db)");
  app.add_option("--python", o.python, "the Python that has ONNX Runtime, for --measure");
  app.add_option("--runner", o.runner,
                 "the program that measures for --measure, instead of the one that comes with the tool");
  app.add_option(
         "--threads", o.threads,
         "the engine's threads, for --measure, for the check of the whole model and for the timings that decide")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void declareChecks(CLI::App& app, Options& o) {
  app.add_flag("--trust-pack", o.trustPack, "do not check the proof records of the rules that fire");
  app.add_option("--checker", o.checker, "the pet-rules that checks records, instead of the one beside pet-apply");
  app.add_flag("--dry-run", o.dryRun, "only report what would fire; nothing is checked or written");
  app.add_option("--device", o.device, "the device whose timings decide")->capture_default_str();
  app.add_option("--timings", o.timings, "a file of timings, instead of those that come with the tool");
  app.add_flag("--freeze-inputs", o.freezeInputs, "initializers that are also graph inputs are constants");
  app.add_option("--json", o.json, "also write the report to this file");
  app.add_option(
         "--check", o.check,
         "full: every site and the whole model; sites: the whole model only where a site cannot be checked by itself")
      ->check(CLI::IsMember({"full", "sites"}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "the seed of the check's random inputs")->capture_default_str();
  app.add_option(
         "--max-rel-error", o.maxRelativeError,
         "the error that the check allows for an output, relative to its largest value, if a rule fired that "
         "rounds differently (Winograd; F(4,3) was measured to 3e-5); rules with a larger error bound do not fire. "
         "float16=E for a type; default 1e-4, float16 0.01, bfloat16 0.05")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--numerics", o.numerics,
                 "bounded: only rules fire whose intermediate values the model's data bound; any: all rules may fire")
      ->check(CLI::IsMember({"bounded", "any"}))
      ->capture_default_str();
  app.add_flag("--keep-invalid", o.keepInvalid, "passes on nodes that ONNX does not allow, as they are");
  app.add_flag("--verbose", o.verbose, "list every refusal");
  app.add_flag("-q,--quiet", o.quiet, "neither progress nor the report; --json still writes it");
  app.add_flag("--types", o.types,
               "print the element type and the extents of every value, as JSON, and do nothing else");
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
  app.footer(
      "Without --all, a rule fires only if it is known to pay on the device at shapes close to the model's.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model, 4 bad pack, 5 check failed or a rule not proved "
      "(nothing written).");
  Options o;
  declareChoice(app, o);
  declareSizes(app, o);
  declareMeasuring(app, o);
  declareChecks(app, o);
  return tool::run(app, argc, argv, [&] { return run(o); });
}
