// pet-bench: times a model, and what was made of it, in turns on an engine: end to end, and site by site.

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/shell.h"
#include "rules/pack/file.h"
#include "tools/bench/report.h"
#include "tools/common/cuda_device.h"
#include "tools/common/status_line.h"
#include "tools/common/ticker.h"
#include "tools/common/tool.h"

namespace {

using namespace pet;
using namespace pet::bench;
using Clock = std::chrono::steady_clock;

constexpr double kWholeShare = 0.4;  ///< of the budget, where sites are timed as well

struct Models {
  Model original;
  std::optional<Model> rewritten;
};

Expected<Models> loadAll(const Options& o) {
  auto original = load(o.model);
  if (!original) return tl::unexpected(original.error());
  if (o.rewritten.empty()) return Models{std::move(*original), {}};
  auto rewritten = load(o.rewritten);
  if (!rewritten) return tl::unexpected(rewritten.error());
  return Models{std::move(*original), std::move(*rewritten)};
}

Expected<void> checkOptions(const Options& o) {
  if (o.json.empty() || o.json == "-") return {};
  if (auto ok = tool::distinctFiles({o.json}, {o.model, o.rewritten}); !ok) return ok;
  return checkWritable(o.json);
}

/// Nothing while the report goes to standard output, or with --quiet.
Expected<void> say(const Options& o, const std::string& text) {
  return o.quiet || o.json == "-" ? Expected<void>() : tool::print(text);
}

tl::unexpected<Error> runnerFailed(const std::string& message) {
  return fail(ErrorKind::kRunner, message, "", "check --runner, --python and --runner-path");
}

/// Where the rewritten model was chosen for another device: what that means.
std::string chosenForAnother(const Models& models, const Options& o) {
  const std::string device = models.rewritten ? metadataEntry(*models.rewritten, kDeviceKey) : "";
  if (device.empty() || device == o.runner.device) return "";
  return fmt::format("The rules of {} were chosen by timings of {} and may lose on {}: pet-apply {} --device {}\n",
                     o.rewritten, device, o.runner.device, shellWord(o.model), o.runner.device);
}

/// One row for each site. What is left of the budget is shared by the sites that are left.
Expected<std::vector<SiteRow>> timeSites(
    const Models& models, Watch& watch, const RunnerKeeper& runner, Clock::time_point end, tool::StatusLine& status) {
  const Sites sites(models.original, *models.rewritten);
  const auto count = static_cast<double>(sites.changes().size());
  std::vector<SiteRow> rows;
  for (const Change& change : sites.changes()) {
    double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0 || runner.hasGivenUp()) {
      rows.push_back({.change = change, .name = sites.nameOf(change), .nodes = sites.nodesOf(change)});
      rows.back().note = left <= 0 ? "not timed: the budget is spent" : "not timed: the runner failed";
      continue;
    }
    const double done = static_cast<double>(rows.size()), seconds = left / (count - done);
    const tool::Ticker ticker(
        seconds, [&](double share) { status.show("timing the sites", (done + share) / count, sites.nameOf(change)); });
    auto row = watch.site(sites, change, seconds);
    if (!row) return tl::unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

RunnerExpected<Figures> timeWhole(const Options& o, Watch& watch, double seconds, tool::StatusLine& status) {
  auto figures = [&] {
    const tool::Ticker ticker(seconds, [&](double share) { status.show("timing the whole model", share); });
    return watch.files(o.model, o.rewritten, seconds);
  }();
  status.clear();
  return figures;
}

Expected<void> write(const Report& report, const Options& o) {
  if (o.json == "-") return tool::print(json(report, o));
  return o.json.empty() ? Expected<void>() : writeFile(o.json, json(report, o));
}

Expected<void> run(Options o) {
  auto device = tool::deviceNamed(o.runner.device);
  if (!device) return tl::unexpected(device.error());
  o.runner.device = std::move(*device);
  auto command = tool::runnerCommand(o.runner);
  if (!command) return tl::unexpected(command.error());
  if (auto ok = checkOptions(o); !ok) return ok;
  auto models = loadAll(o);
  if (!models) return tl::unexpected(models.error());
  bool perSite = o.perSite && models->rewritten;
  auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.budget));

  RunnerKeeper runner(std::move(*command), o.timeout);
  auto engine = runner.hello();
  if (!engine) return runnerFailed(engine.error().message);
  if (!engine->device.empty()) o.runner.device = engine->device;
  Report report{*engine, {}, {}};
  PET_TRY(say(o, headline(*engine, o) + chosenForAnother(*models, o) + "\n"));
  Watch watch(o, runner);
  tool::StatusLine status(o.quiet);
  auto whole = timeWhole(o, watch, perSite ? kWholeShare * o.budget : o.budget, status);
  if (!whole && whole.error().fatal()) return runnerFailed(whole.error().message);
  if (!whole) return fail(ErrorKind::kModel, whole.error().message);
  report.whole = std::move(*whole);
  PET_TRY(say(o, wholeTable(report.whole)));
  if (perSite) {
    auto rows = timeSites(*models, watch, runner, end, status);
    status.clear();
    if (!rows) return tl::unexpected(rows.error());
    report.sites = std::move(*rows);
    PET_TRY(say(o, "\n" + siteTable(report.sites)));
  }

  if (auto written = write(report, o); !written) return written;
  if (runner.isFailing()) return runnerFailed(runner.lastFailure());
  if (report.whole.difference <= tool::largestRounding(o.runner.device)) return {};
  return fail(ErrorKind::kCheck, fmt::format("its outputs differ by {:.1e} of the largest", report.whole.difference),
              o.rewritten, "it does not compute the same function as the model");
}

int runTool(int argc, char** argv) {
  CLI::App app("Times a model and its rewritten form on an engine, in turns, in one process.", "pet-bench");
  app.footer(
      "Ratios are original / rewritten: above 1, the rewritten model is faster.\n"
      "The A/A control is the original against itself.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model, 5 the models' outputs differ, 6 the runner failed.");
  Options o;
  using tool::isNamed;
  app.add_option("MODEL", o.model, "the original, an ONNX model")->required();
  app.add_option("REWRITTEN", o.rewritten, "its rewritten form, e.g. from pet-apply")->check(isNamed());
  app.add_option("--device,--runner", o.runner.device,
                 fmt::format("the engine: {}; {}; or a short name such as ort", fmt::join(tool::devices(), ", "),
                             tool::kGpuWords))
      ->capture_default_str();
  app.add_flag("--per-site,!--no-per-site", o.perSite, "also time the sites where the models differ (the default)");
  app.add_option("--runs", o.runs, "the largest number of rounds")->capture_default_str()->check(CLI::Range(3, 100000));
  app.add_option("--budget", o.budget, "seconds for everything; three rounds are run in any case")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", o.threads, "the engine's threads")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_flag("--cold", o.cold, "overwrite the caches before each run");
  app.add_option("--json", o.json, "write the report to this file; - for standard output, instead of the tables")
      ->check(isNamed());
  app.add_flag("-q,--quiet", o.quiet, "neither progress nor tables; --json still writes the report");
  app.add_option("--python", o.runner.python, "the Python interpreter that has the engine")->check(isNamed());
  app.add_option("--runner-path", o.runner.path,
                 "the script or program that measures, instead of the one that comes with the tool")
      ->check(isNamed());
  app.add_option("--timeout", o.timeout, "seconds to wait for an answer, besides the time it takes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--keep", o.keep, "leave the models of the sites in this folder")->check(isNamed());
  return tool::run(app, argc, argv, [&] { return run(o); });
}

}  // namespace

int main(int argc, char** argv) {
  return tool::guard("pet-bench", [&] { return runTool(argc, argv); });
}
