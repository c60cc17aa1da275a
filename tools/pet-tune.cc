// pet-tune: times the rules of a pack, each in its context, at a grid of shapes, on an engine.

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "tools/common/runner.h"
#include "tools/common/tool.h"
#include "tools/tune/report.h"

namespace {

using namespace pet;
using namespace pet::tune;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kHopelessAfter = 6;       ///< samples of a rule, none of which
constexpr double kHopelessRatio = 0.8;  ///< comes near to paying: the rest is left out

// --- Where things are ---

Expected<Grid> readGrid(const Options& o) {
  if (o.shapes.empty() && !o.models.empty()) return Grid();
  std::string path = o.shapes.empty() ? tool::runnerFile("grid.json") : o.shapes;
  auto words = readFile(path, ErrorKind::kUsage);
  if (!words) return tl::unexpected(words.error());
  return Grid::parse(*words, path);
}

Expected<Timings> resume(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? readTimings(path) : Timings();
}

// --- What need not be timed ---

/// The sample that an earlier run left for the same setting.
std::optional<TimingSample> earlier(const Timings& timings, const TimingSample& wanted) {
  for (const TimingSample& s : timings.samples(wanted.rule, wanted.device)) {
    bool same = s.shapes == wanted.shapes && s.engine == wanted.engine && s.version == wanted.version &&
                s.isa == wanted.isa && s.threads == wanted.threads;
    if (same) return s;
  }
  return std::nullopt;
}

/// The rule lost clearly at all of its first points, which are the most telling ones.
bool isHopeless(const Timings& timings, const TimingSample& wanted) {
  auto known = timings.samples(wanted.rule, wanted.device);
  std::erase_if(known, [&](const TimingSample& s) {
    return s.engine != wanted.engine || s.version != wanted.version || s.isa != wanted.isa;
  });
  return known.size() >= kHopelessAfter &&
         std::all_of(known.begin(), known.end(), [](const TimingSample& s) { return s.ratio() < kHopelessRatio; });
}

// --- The pipeline ---

tl::unexpected<Error> runnerFailed(const std::string& message, bool& failed) {
  failed = true;
  return fail(ErrorKind::kInternal, message, "", "check --python and --runner; samples so far are kept");
}

/// Times what the timings do not hold yet, until the budget is spent or the runner is beyond help; every sample is
/// stored at once. One row per job.
Expected<std::vector<Row>> timeAll(
    const std::vector<Job>& jobs, Tuner& tuner, const RunnerKeeper& runner, Timings& timings, const Options& o) {
  tool::Progress progress("timing", jobs.size());
  auto end = Clock::now() + std::chrono::duration<double>(o.budget > 0 ? o.budget : 1e9);
  bool controlled = false;
  std::vector<Row> rows;
  for (const Job& job : jobs) {
    progress.step(job.rule->name);
    TimingSample wanted = tuner.blank(job);
    if (auto known = earlier(timings, wanted)) {
      rows.push_back({Row::Kind::kKnown, known});
      continue;
    }
    if (!o.exhaustive && isHopeless(timings, wanted)) {
      rows.push_back({Row::Kind::kHopeless});
      continue;
    }
    if (Clock::now() >= end || runner.hasGivenUp()) {
      rows.push_back({Row::Kind::kNotTimed});
      continue;
    }
    if (!std::exchange(controlled, true)) {
      auto control = tuner.control(job);
      if (!control) return tl::unexpected(control.error());
      progress.clear();
      if (auto ok = tool::print("A/A control: " + *control + "\n"); !ok) return tl::unexpected(ok.error());
    }
    auto row = tuner.measure(job);
    if (!row) return tl::unexpected(row.error());
    rows.push_back(std::move(*row));
    if (!rows.back().sample) continue;
    timings.add(*rows.back().sample);
    if (auto ok = writeTimings(timings, o.output); !ok) return tl::unexpected(ok.error());
  }
  return rows;
}

/// `failed`: the runner did.
Expected<void> run(const Options& o, bool& failed) {
  if (o.device != kDevice) {
    return fail(ErrorKind::kUsage, "unknown device", o.device, fmt::format("known: {}", kDevice));
  }
  auto rules = readPack(o.pack);
  if (!rules) return tl::unexpected(rules.error());
  auto grid = readGrid(o);
  if (!grid) return tl::unexpected(grid.error());
  auto timings = resume(o.output);
  if (!timings) return tl::unexpected(timings.error());
  auto jobs = plan(*rules, *grid, o);
  if (!jobs) return tl::unexpected(jobs.error());

  auto command = tool::runnerCommand({.python = o.python, .path = o.runner});
  if (!command) return tl::unexpected(command.error());

  RunnerKeeper runner(std::move(*command), o.timeout);
  auto engine = runner.hello();
  if (!engine) return runnerFailed(engine.error().message, failed);
  auto said = tool::print(fmt::format("{} {} on {} ({}), {} thread(s); {} points\n", engine->engine, engine->version,
                                      engine->cpu, engine->isa, o.threads, jobs->size()));
  if (!said) return said;
  Tuner tuner(o, *engine, runner, fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))));
  auto rows = timeAll(*jobs, tuner, runner, *timings, o);
  if (!rows) return tl::unexpected(rows.error());

  said = tool::print("\n" + report(*jobs, *rows) + "\n" + summary(*timings) + "\n" + counts(*rows));
  if (!said) return said;
  if (runner.isFailing()) return runnerFailed(runner.lastFailure(), failed);
  if (!tuner.foundDifference()) return {};
  return fail(ErrorKind::kCheck, "a replacement computes something else than its pattern", o.pack, "see the table");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times the rules of a pack on an engine, each in its context, and stores what they gain.", "pet-tune");
  app.footer(
      "A run that was stopped goes on where it was: samples that the file has are not taken again.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model, 4 bad pack or timings, 5 a replacement is wrong, 6 "
      "the runner\n"
      "failed.");
  Options o;
  app.add_option("PACK", o.pack, "a pack of rules, from pet-synth")->required();
  app.add_option("-o,--output", o.output, "the file of timings: made, or added to (text if it ends in .jsonl)")
      ->required();
  app.add_option("--device", o.device, "the engine to time on")->capture_default_str();
  app.add_option("--rules", o.rules, "only these rules (names or globs, separated by commas)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--budget", o.budget, "seconds after which nothing more is timed; 0: no limit")->capture_default_str();
  app.add_option("--shapes", o.shapes, "a grid of shapes, instead of the one that comes with the tool");
  app.add_option("--shapes-from", o.models, "time at the shapes of this model's sites; with --shapes, also at those")
      ->allow_extra_args(false);
  app.add_option("--runs", o.runs, "timed runs of each side, at most")
      ->capture_default_str()
      ->check(CLI::Range(3, 10000));
  app.add_option("--seconds", o.secondsPerPoint, "for the runs of one point")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", o.threads, "of the engine")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--max-work", o.maxWork, "leave out points whose pattern has more multiply-adds")
      ->capture_default_str();
  app.add_flag(
      "--exhaustive", o.exhaustive,
      fmt::format("also time rules on that stayed below {} at their first {} points", kHopelessRatio, kHopelessAfter));
  app.add_flag("--warm", o.warm, "leave the caches as they are between runs");
  app.add_flag("--no-bare", o.noBare, "do not time the rule without neighbours as well");
  app.add_option("--python", o.python, "the Python interpreter that has the engine");
  app.add_option("--runner", o.runner, "the script that times, instead of the one that comes with the tool");
  app.add_option("--timeout", o.timeout, "seconds to wait for an answer, besides the time it takes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--keep", o.keep, "leave the subgraphs that were timed in this folder");
  bool failed = false;
  int code = tool::run(app, argc, argv, [&] { return run(o, failed); });
  return failed ? tool::kRunnerFailed : code;
}
