// pet-tune: times the rules of a pack, each in its context, at a grid of shapes, on an engine.

#include <algorithm>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/pack/file.h"
#include "rules/pack/machine_text.h"
#include "rules/pack/pack.h"
#include "tools/common/cuda_device.h"
#include "tools/common/points.h"
#include "tools/common/runner.h"
#include "tools/common/share.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"
#include "tools/machine/calibration_cache.h"
#include "tools/machine/named_machine.h"
#include "tools/tune/calibrate.h"
#include "tools/tune/cliffs/cliffs.h"
#include "tools/tune/derive.h"
#include "tools/tune/jobs.h"
#include "tools/tune/report.h"
#include "tools/tune/rounds.h"

namespace {

using namespace pet;
using namespace pet::tune;
namespace fs = std::filesystem;

// --- Where things are ---

Expected<Grid> readGrid(const Options& o) {
  auto path = o.shapes.empty() ? tool::shareFile("ort/grid.json") : Expected<std::string>(o.shapes);
  if (!path) return tl::unexpected(path.error());
  auto words = readFile(*path, ErrorKind::kUsage);
  if (!words) return tl::unexpected(words.error());
  return Grid::parse(*words, *path);
}

Expected<Timings> resume(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? readTimings(path) : Timings();
}

// --- The pipeline ---

tl::unexpected<Error> runnerFailed(const std::string& message) {
  return fail(ErrorKind::kRunner, message, "", "check --python and --runner; samples so far are kept");
}

/// The pack that was asked for, else the default pack.
Expected<std::string> packOf(const Options& o) {
  return o.pack.empty() ? tool::shareFile(tool::kDefaultPack) : Expected<std::string>(o.pack);
}

/// The sites of the models that --shapes-from names.
Expected<std::vector<PointsOf>> sitesOf(const RuleSet& rules, const Options& o) {
  tool::StatusLine status(o.quiet);
  return sitesIn(o.models, rules.patterns, [&](std::string_view what, double share) { status.show(what, share); });
}

/// What a file of timings says, without timing anything.
Expected<void> show(const Options& o) {
  if (!o.json.empty() && o.json != "-") {
    PET_TRY(tool::distinctFiles({o.json}, {o.show}));
    PET_TRY(checkWritable(o.json));
  }
  auto rules = readPack(o.pack);
  if (!rules) return tl::unexpected(rules.error());
  auto timings = readTimings(o.show);
  if (!timings) return tl::unexpected(timings.error());
  PET_TRY(checkRules(*rules, o));
  auto machine = tool::namedMachine(o.machine, o.device, timings->machines());
  if (!machine) return tl::unexpected(machine.error());
  auto models = sitesOf(*rules, o);
  if (!models) return tl::unexpected(models.error());
  const Worth worth = worthOf(*rules, *timings, *machine, *models, o);
  if (o.json == "-") return tool::print(json(worth));
  PET_TRY(tool::print(wherePays(*rules, *timings, *machine, o) + "\n" + text(worth)));
  return o.json.empty() ? Expected<void>() : writeFile(o.json, json(worth));
}

/// --derive-rates: of machines that cannot be asked any more.
Expected<void> derive(const Options& o) {
  auto rules = readPack(o.pack);
  if (!rules) return tl::unexpected(rules.error());
  auto timings = readTimings(o.output);
  if (!timings) return tl::unexpected(timings.error());
  const size_t added = deriveRates(*rules, o, *timings);
  if (auto ok = writeTimings(*timings, o.output); !ok) return ok;
  return tool::print(fmt::format("rates of {} machines derived from their samples\n", added));
}

/// What is said besides --show's report.
Expected<void> say(const Options& o, const std::string& text) {
  return o.quiet ? Expected<void>() : tool::print(text);
}

tl::unexpected<Error> noOutput() {
  return fail(ErrorKind::kUsage, "no file to store the timings in", "", "give -o FILE");
}

/// --add: timings of another run or machine, or of another form.
Expected<void> add(const Options& o) {
  if (auto known = tool::deviceNamed(o.device); !known) return tl::unexpected(known.error());
  if (o.output.empty()) return noOutput();
  PET_TRY(checkWritable(o.output));
  auto timings = resume(o.output);
  if (!timings) return tl::unexpected(timings.error());
  for (const std::string& file : o.add) {
    auto added = readTimings(file);
    if (!added) return tl::unexpected(added.error());
    timings->merge(*added);
  }
  PET_TRY(writeTimings(*timings, o.output));
  return say(o, fmt::format("{} samples, {} machines\n", timings->size(), timings->machines().size()));
}

/// The machine of the engine with its rates: those of the timings or of the user's cache, else a calibration.
Expected<Machine> ratedMachine(RunnerKeeper& runner,
                               const RunnerHello& engine,
                               const Machines& known,
                               const Options& o) {
  Machine machine = tool::calibratedMachine(engine.machine);
  if (auto at = known.find(machine.name()); at != known.end()) {
    for (const EngineRates& r : at->second.rates)
      machine.add(r);
  }
  const auto isKnown = [&](const EngineRates& r) {
    return r.device == o.device && r.engine == engine.engine && r.version == engine.version && r.threads == o.threads &&
           !r.derived;
  };
  if (o.noCalibrate || std::any_of(machine.rates.begin(), machine.rates.end(), isKnown)) return machine;
  auto rates = calibrate(runner, engine, o);
  if (!rates) return tl::unexpected(rates.error());
  tool::keepCalibration(engine.machine, *rates);
  machine.add(std::move(*rates));
  return machine;
}

std::string ratesText(const Machine& machine, const Options& o) {
  const Rates rates = machine.ratesOn(o.device, o.threads);
  return fmt::format("{}: products at {:.0f} GFLOP/s, Convs at {:.0f} GFLOP/s, memory at {:.1f} GB/s\n", machine.name(),
                     1e-9 * rates.gemm, 1e-9 * rates.conv, 1e-9 * rates.copy);
}

/// The engine, and in the options the kind of GPU that it runs on, where they left that open.
Expected<RunnerHello> greeted(RunnerKeeper& runner, Options& o) {
  auto engine = runner.hello();
  if (!engine) return runnerFailed(engine.error().message);
  if (!engine->device.empty()) o.device = engine->device;
  return std::move(*engine);
}

/// --calibrate: the machine, as --machine reads it.
Expected<void> showMachine(std::vector<std::string> command, Options o) {
  RunnerKeeper runner(std::move(command), o.timeout);
  auto engine = greeted(runner, o);
  if (!engine) return tl::unexpected(engine.error());
  auto machine = ratedMachine(runner, *engine, {}, o);
  return machine ? tool::print(print(*machine) + "\n") : tl::unexpected(machine.error());
}

/// What is to be timed, and the rules that it is of.
struct Plan {
  RuleSet rules;
  std::vector<Job> jobs;  ///< none yet, where the engine has to say which machine they are of
  Timings timings;        ///< what is known already
  Timings shipped;        ///< what comes with the tool
};

/// What is to be timed are samples of the file.
bool takesUnsure(const Options& o) {
  return o.retake && o.models.empty() && o.shapes.empty() && o.points.empty();
}

Expected<std::vector<Job>> jobsOf(const RuleSet& rules,
                                  const Grid& grid,
                                  const Options& o,
                                  const ReportProgress& show) {
  if (o.points.empty()) return tune::plan(rules, grid, o, show);
  auto text = readFile(o.points, ErrorKind::kUsage);
  if (!text) return tl::unexpected(text.error());
  auto points = tool::parsePoints(*text, o.points);
  if (!points) return tl::unexpected(points.error());
  return tune::planned(rules, *points, grid, o);
}

/// A place that cannot be written is found before anything is timed.
Expected<Plan> planned(const Options& o) {
  tool::StatusLine status(o.quiet);
  status.show("reading the rules");
  PET_TRY(checkWritable(o.output));
  Plan plan;
  auto rules = readPack(o.pack);
  if (!rules) return tl::unexpected(rules.error());
  plan.rules = std::move(*rules);
  auto grid = readGrid(o);
  if (!grid) return tl::unexpected(grid.error());
  auto timings = resume(o.output);
  if (!timings) return tl::unexpected(timings.error());
  plan.timings = std::move(*timings);
  for (const auto& shipped : tool::allShippedTimings()) {
    auto known = readTimings(shipped.string());
    if (!known) return tl::unexpected(known.error());
    plan.shipped.merge(*known);
  }
  if (takesUnsure(o)) return plan;
  auto jobs = jobsOf(plan.rules, *grid, o, [&](std::string_view what, double share) { status.show(what, share); });
  if (!jobs) return tl::unexpected(jobs.error());
  plan.jobs = std::move(*jobs);
  return plan;
}

/// Times what the plan says, and stores it.
Expected<void> timeRules(std::vector<std::string> command, Options o) {
  auto plan = planned(o);
  if (!plan) return tl::unexpected(plan.error());
  auto& [rules, jobs, timings, shipped] = *plan;
  RunnerKeeper runner(std::move(command), o.timeout);
  auto engine = greeted(runner, o);
  if (!engine) return tl::unexpected(engine.error());
  if (takesUnsure(o)) {
    auto unsure = tune::retaken(rules, timings, *engine, o);
    if (!unsure) return tl::unexpected(unsure.error());
    jobs = std::move(*unsure);
  }
  PET_TRY(say(o, fmt::format("{} {} on {} ({}), {} thread(s); {} points\n", engine->engine, engine->version,
                             engine->machine.cpu, engine->machine.isa, o.threads, jobs.size())));
  auto machine = ratedMachine(runner, *engine, timings.machines(), o);
  if (!machine) return tl::unexpected(machine.error());
  timings.add(*machine);
  PET_TRY(say(o, ratesText(*machine, o)));
  const auto inexact = std::count_if(rules.rules.begin(), rules.rules.end(),
                                     [&](const Rule& rule) { return tune::roundsTooMuch(rule, o); });
  if (inexact > 0)
    PET_TRY(say(o, fmt::format("{} rules are left out: they may round too much on {}\n", inexact, o.device)));
  engine->machine = std::move(*machine);
  Tuner tuner(o, *engine, runner, fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))));
  auto rows = timeAll(rules, jobs, tuner, runner, timings, shipped, o);
  if (!rows) return tl::unexpected(rows.error());

  if (!o.quiet) {  // judging the predictions takes its time
    PET_TRY(tool::print("\n" + report(jobs, *rows) + "\n" + wherePays(rules, timings, engine->machine, o) + "\n" +
                        text(worthOf(rules, timings, engine->machine, {}, o)) + "\n" + counts(*rows)));
  }
  if (runner.isFailing()) return runnerFailed(runner.lastFailure());
  if (!tuner.foundDifference()) return {};
  return fail(ErrorKind::kCheck, "a replacement computes something different from its pattern", o.pack,
              "see the table");
}

Expected<void> run(Options o) {
  if (!o.json.empty() && o.cliffs.empty() && o.show.empty())
    return fail(ErrorKind::kUsage, "--json is for --cliffs and --show");
  if (!o.add.empty()) return add(o);
  auto device = tool::settledDevice(o.device);
  if (!device) return tl::unexpected(device.error());
  o.device = std::move(*device);
  auto command = tool::runnerCommand({o.device, o.python, o.runner});
  if (!command) return tl::unexpected(command.error());
  if (!o.cliffs.empty()) return findCliffs(o, std::move(*command));
  if (o.calibrate) return showMachine(std::move(*command), o);
  auto pack = packOf(o);
  if (!pack) return tl::unexpected(pack.error());
  o.pack = std::move(*pack);
  if (!o.show.empty()) return show(o);
  if (o.output.empty()) return noOutput();
  return o.deriveRates ? derive(o) : timeRules(std::move(*command), o);
}

void declareCliffs(CLI::App& app, Options& o) {
  auto* cliffs = app.add_option("--cliffs", o.cliffs,
                                "instead of timing rules, time the operators of these models against the roofline")
                     ->check(tool::isNamed());
  app.add_option("--write", o.write, "write each of the worst to this folder, as a model for pet-synth --from")
      ->check(tool::isNamed())
      ->needs(cliffs);
  app.add_option("--most", o.most, "how many of the worst are listed")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000))
      ->needs(cliffs);
  app.add_option("--size", o.size, "the largest number of operators that are timed as one")
      ->capture_default_str()
      ->check(CLI::Range(1, 5))
      ->needs(cliffs);
  app.add_option("--min-times", o.minTimes, "the least multiple of the roofline that is listed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(cliffs);
}

int runTool(int argc, char** argv) {
  CLI::App app(
      "Times the rules of a pack on an engine, each between neighbours, and stores their gains; or, with "
      "--cliffs, finds what an engine does far slower than the machine can.",
      "pet-tune");
  app.footer(
      "A run that was interrupted goes on where it stopped: samples that the file has are not taken again.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model, 4 bad pack or timings, 5 a replacement is wrong, 6 "
      "the runner\n"
      "failed.");
  Options o;
  using tool::isNamed;
  app.add_option("PACK", o.pack, "a pack of rules, from pet-synth; by default the one that comes with the tool")
      ->check(isNamed());
  app.add_option("-o,--output", o.output, "the file of timings to create or extend (text if it ends in .jsonl)")
      ->check(isNamed());
  app.add_option("--add", o.add, "only add the samples and machines of this file of timings to the output")
      ->allow_extra_args(false)
      ->check(isNamed());
  app.add_option("--show", o.show, "only print where rules pay, according to this file of timings; nothing is timed")
      ->check(isNamed());
  app.add_option("--machine", o.machine,
                 "for --show: the machine to predict for, one of the timings, an ISA or a file; by default "
                 "$PET_MACHINE, else this one")
      ->check(isNamed());
  app.add_flag("--calibrate", o.calibrate, "only print this machine and the engine's rates on it, for --machine");
  app.add_flag("--no-calibrate", o.noCalibrate, "do not measure the engine's rates, where they are not known");
  app.add_flag("--derive-rates", o.deriveRates,
               "only add rates, derived from its samples, to each machine of the file that was not calibrated");
  app.add_option("--device", o.device,
                 fmt::format("the engine to time on: {}; {}", fmt::join(tool::devices(), ", "), tool::kGpuWords))
      ->capture_default_str();
  app.add_option("--rules", o.rules, "only these rules (names or globs, separated by commas)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--budget", o.budget, "seconds after which nothing more is timed; 0: no limit")->capture_default_str();
  app.add_option("--min-gain", o.minGain, "the least ratio that counts as a gain: near it, more points are timed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--shapes", o.shapes, "a grid of shapes, instead of the one that comes with the tool")
      ->check(isNamed());
  app.add_option("--shapes-from", o.models,
                 "time at the shapes of this model's sites; with --shapes, at both; with --show, say what predictions "
                 "for this model are worth")
      ->allow_extra_args(false)
      ->check(isNamed());
  app.add_option(
         "--points", o.points,
         "time at the points of this file alone, a line of JSON each: {\"rule\": NAME, \"shapes\": {\"N\": 1, ...}}, "
         "and, if need be, \"place\" and \"opset\" as timings have them")
      ->check(isNamed());
  app.add_option("--runs", o.runs, "the largest number of timed runs of each side")
      ->capture_default_str()
      ->check(CLI::Range(3, 10000));
  app.add_option("--seconds", o.secondsPerPoint, "the largest time for the runs of one point")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", o.threads, "the engine's threads")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--max-work", o.maxWork, "leave out points whose pattern has more multiply-adds")
      ->capture_default_str();
  app.add_flag("--exhaustive", o.exhaustive,
               fmt::format("go on timing rules that stayed below {} at their first {} points, or {} at {}",
                           kHopeless[0].ratio, kHopeless[0].points, kHopeless[1].ratio, kHopeless[1].points));
  app.add_flag(
      "--retake", o.retake,
      "only time those of the output's samples of this machine again whose gain is not beyond their noise; with "
      "--shapes or --shapes-from, all samples there");
  app.add_flag("--warm", o.warm, "leave the caches as they are between runs");
  app.add_flag("--processor-time", o.processorTime,
               "time the engine's one thread on its processor: what other processes take does not count");
  app.add_flag("--no-bare", o.noBare, "do not time the rule without neighbours as well");
  app.add_option("--python", o.python, "the Python interpreter that has the engine")->check(isNamed());
  app.add_option("--runner", o.runner,
                 "the program that measures (a Python script, but for our own engine), instead of the one that comes "
                 "with the tool")
      ->check(isNamed());
  app.add_option("--timeout", o.timeout, "seconds to wait for an answer, besides the time it takes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--json", o.json,
                 "of --cliffs what was found, of --show what predictions are worth: write it to this file; - for "
                 "standard output, instead of the tables")
      ->check(isNamed());
  declareCliffs(app, o);
  app.add_flag("-q,--quiet", o.quiet, "neither progress nor tables; what --show, --calibrate and --json print stays");
  app.add_option("--keep", o.keep, "leave the subgraphs that were timed in this folder")->check(isNamed());
  return tool::run(app, argc, argv, [&] { return run(o); });
}

}  // namespace

int main(int argc, char** argv) {
  return tool::guard("pet-tune", [&] { return runTool(argc, argv); });
}
