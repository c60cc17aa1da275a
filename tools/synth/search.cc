#include "tools/synth/search.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "ir/suggest.h"
#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "synth/scale/checkpoint.h"
#include "synth/synthesize.h"
#include "tools/common/last_words.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"
#include "tools/synth/patterns.h"
#include "tools/synth/report.h"

namespace pet::tool {
namespace {

constexpr int kDeepest = 5;
constexpr int kLargest = 5;                  ///< operators of a pattern of a model
constexpr int64_t kLongest = 10'000 * 3600;  ///< seconds of a budget

using Clock = std::chrono::steady_clock;

/// "90s", "10m", "2h" as seconds; 0 for none.
Expected<int64_t> parseBudget(const std::string& text) {
  if (text.empty()) return 0;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [unit, error] = std::from_chars(text.data(), end, number);
  int64_t factor = unit + 1 != end ? 0 : *unit == 's' ? 1 : *unit == 'm' ? 60 : *unit == 'h' ? 3600 : 0;
  if ((error != std::errc() && error != std::errc::result_out_of_range) || factor == 0) {
    return fail(ErrorKind::kUsage, fmt::format("'{}' is not a time", text), "--budget", "say 90s, 10m or 2h");
  }
  if (error != std::errc() || number < 1 || number > kLongest / factor) {
    return fail(ErrorKind::kUsage, fmt::format("{} is out of range", text), "--budget", "1s to 10000h");
  }
  return number * factor;
}

/// What would make a search of minutes be in vain.
Expected<void> check(const SearchArguments& a, const std::vector<Pattern>& patterns) {
  if (a.output.empty() && isatty(STDOUT_FILENO)) {
    return fail(ErrorKind::kUsage, "a pack is binary and standard output is a terminal", "",
                "redirect it, or give -o FILE");
  }
  std::vector<std::string> names;
  for (const Pattern& p : patterns)
    names.push_back(p.name);
  const bool known = std::find(names.begin(), names.end(), a.explain) != names.end();
  if (!a.explain.empty() && !known)
    return fail(ErrorKind::kUsage, "no pattern '" + a.explain + "'", "--explain", suggestion(a.explain, names));
  auto inputs = a.patterns;
  inputs.insert(inputs.end(), a.from.models.begin(), a.from.models.end());
  if (auto ok = distinctFiles({a.output, a.report, a.checkpoint}, inputs); !ok) return ok;
  for (const std::string& file : {a.output, a.report, a.checkpoint}) {
    if (file.empty()) continue;
    if (auto ok = checkWritable(file); !ok) return ok;
  }
  return {};
}

/// Parses what CLI11 takes for text.
Expected<RunFacts> factsOf(const SearchArguments& a, const Search& search, const Processes& processes) {
  auto budget = parseBudget(a.budgetText);
  if (!budget) return tl::unexpected(budget.error());
  auto shard = parseShard(a.shardText);
  if (!shard) return tl::unexpected(shard.error());
  return RunFacts{.id = identify(search),
                  .shard = *shard,
                  .ranks = processes.ranks,
                  .threads = a.threads,
                  .budget = static_cast<double>(*budget),
                  .checkpoint = a.checkpoint,
                  .from = {}};
}

Expected<std::optional<Checkpoint>> openCheckpoint(const SearchArguments& a, const RunFacts& run) {
  if (a.checkpoint.empty()) return std::nullopt;
  auto opened = a.resume ? Checkpoint::resume(a.checkpoint, run.id, run.shard)
                         : Checkpoint::create(a.checkpoint, run.id, run.shard);
  if (!opened) return tl::unexpected(opened.error());
  return std::optional(std::move(*opened));
}

/// Where a run has ended before its time, what it has done stays.
Error withCheckpoint(Error e, const RunFacts& run, size_t done) {
  if (!run.checkpoint.empty() && e.advice.empty()) {
    e.advice = fmt::format("{} holds {} of {} units; --resume goes on with them", run.checkpoint, done, run.units);
  }
  return e;
}

/// The units of the shard without those that are done.
std::vector<size_t> unitsToDo(const Shard& shard, size_t units, const std::vector<UnitOutcome>& outcomes) {
  std::set<size_t> done;
  for (const UnitOutcome& o : outcomes)
    done.insert(o.unit);
  auto left = unitsOf(shard, units);
  std::erase_if(left, [&](size_t u) { return done.contains(u); });
  return left;
}

/// The outcomes of the units of the shard: those of the checkpoint, then all that there is time for.
Expected<std::vector<UnitOutcome>> runUnits(const SearchArguments& a,
                                            const Search& search,
                                            const Processes& processes,
                                            RunFacts& run) {
  auto begin = Clock::now();
  auto checkpoint = openCheckpoint(a, run);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  std::vector<UnitOutcome> outcomes;
  if (*checkpoint) outcomes = (*checkpoint)->takeDone();
  auto units = unitsToDo(run.shard, search.size(), outcomes);
  run.resumed = outcomes.size();
  run.units = outcomes.size() + units.size();

  Progress progress("searching", run.units, a.quiet);
  auto keep = [&](UnitOutcome outcome) -> Expected<void> {
    if (*checkpoint) {
      if (auto ok = (*checkpoint)->add(outcome); !ok) return ok;
    }
    outcomes.push_back(std::move(outcome));
    progress.reach(outcomes.size(), "units");
    return {};
  };
  RunOptions options{.threads = a.threads};
  if (run.budget > 0)
    options.stop = [&] { return std::chrono::duration<double>(Clock::now() - begin).count() >= run.budget; };
  const LastWords words("pet-synth", run.checkpoint.empty() ? "" : "--resume goes on with " + run.checkpoint);
  Expected<void> ran;
  try {
    ran = processes.run(search, units, options, keep);
  } catch (const std::bad_alloc&) {
    ran = fail(ErrorKind::kInternal, kOutOfMemory);
  }
  if (!ran) return tl::unexpected(withCheckpoint(std::move(ran.error()), run, outcomes.size()));
  run.missing = run.units - outcomes.size();
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcomes;
}

Expected<std::string> resultBytes(const Synthesis& s, const RunFacts& run, std::vector<UnitOutcome> outcomes) {
  if (run.shard.whole()) return packBytes(s.rules, searchNotes(run.id, run.missing, s.sources));
  return partBytes(run.id, run.shard, std::move(outcomes));
}

Expected<void> store(const SearchArguments& a, const Synthesis& s, const RunFacts& run, const std::string& bytes) {
  if (!a.report.empty()) {
    if (auto ok = writeFile(
            a.report, jsonReport(s, run).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
        !ok)
      return ok;
  }
  auto ok = a.output.empty() ? print(bytes) : writeFile(a.output, bytes);
  std::error_code ignored;
  if (!ok && !a.report.empty()) std::filesystem::remove(a.report, ignored);
  return ok;
}

}  // namespace

void declareSearch(CLI::App& app, SearchArguments& a) {
  auto* files =
      app.add_option("PATTERN", a.patterns, "pattern files (default: all canonical patterns)")->check(isNamed());
  app.add_option("--patterns", a.patternFolder, "folder of pattern files (*.pet)")->excludes(files)->check(isNamed());
  auto* models =
      app.add_option("--from", a.from.models, "an ONNX model, or a folder of them: search the patterns in it")
          ->allow_extra_args(false)
          ->check(isNamed());
  app.add_option("--from-size", a.from.size, "the largest number of operators of such a pattern")
      ->check(CLI::Range(1, kLargest))
      ->capture_default_str()
      ->needs(models);
  app.add_option("--from-most", a.from.most, "the largest number of such patterns; the most frequent ones stay")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str()
      ->needs(models);
  auto* writePatternsTo =
      app.add_option("--from-patterns", a.from.patternsTo, "write such patterns to a folder, and do not search")
          ->needs(models)
          ->check(isNamed());
  app.add_option("--depth", a.depth,
                 "the largest number of operators that compute in a replacement, or as many as the pattern has")
      ->check(CLI::Range(1, kDeepest))
      ->capture_default_str();
  app.add_flag("!--no-check", a.check, "do not have the independent checker confirm each proof; the pack says so");
  app.add_option("-o,--output", a.output, "write the pack to FILE instead of standard output")
      ->excludes(writePatternsTo)
      ->check(isNamed());
  app.add_option("-j,--threads", a.threads, "threads (default: all cores); the pack does not depend on it")
      ->check(CLI::Range(1, 1024));
  auto* checkpoint = app.add_option("--checkpoint", a.checkpoint, "append every outcome to FILE as soon as it is known")
                         ->check(isNamed());
  app.add_flag("--resume", a.resume, "skip the units that the checkpoint has")->needs(checkpoint);
  app.add_option("--shard", a.shardText, "run part I of N only, 1/N to N/N; pet-rules merge makes a pack of all parts")
      ->capture_default_str();
  app.add_option("--budget", a.budgetText, "start no unit after this time: 90s, 10m, 2h; the pack is marked partial");
  app.add_option("--report", a.report, "write a JSON report of the run to FILE")->check(isNamed());
  app.add_option("--explain", a.explain, "list the verdict on every candidate of a pattern");
  app.add_flag("-q,--quiet", a.quiet, "no progress and no summary");
  app.add_flag("--verbose", a.verbose, "in the summary all patterns, not those alone that have the most rules");
}

namespace {

/// Pattern files that are given besides models are searched as well; the canonical patterns are only known then.
Expected<FromModels> patternsFromModels(const SearchArguments& a) {
  auto known = readPatterns({}, "");
  if (!known) return tl::unexpected(known.error());
  std::vector<Pattern> given;
  if (!a.patterns.empty() || !a.patternFolder.empty()) {
    auto read = readPatterns(a.patterns, a.patternFolder);
    if (!read) return tl::unexpected(read.error());
    given = std::move(*read);
    known->insert(known->end(), given.begin(), given.end());
  }
  StatusLine status(a.quiet);
  auto mined = minePatterns(a.from, *known, {.depth = a.depth, .check = a.check}, a.verbose,
                            [&](std::string_view what, double share) { status.show(what, share); });
  if (mined) mined->patterns.insert(mined->patterns.end(), given.begin(), given.end());
  return mined;
}

Expected<void> writeMined(const SearchArguments& a) {
  auto mined = patternsFromModels(a);
  if (!mined) return tl::unexpected(mined.error());
  if (!a.quiet) note(mined->report);
  return writePatterns(mined->patterns, a.from.patternsTo);
}

}  // namespace

Expected<OpenedSearch> openSearch(const SearchArguments& a) {
  OpenedSearch opened;
  Expected<std::vector<Pattern>> patterns;
  if (a.from.models.empty()) {
    patterns = readPatterns(a.patterns, a.patternFolder);
    if (!patterns) return tl::unexpected(patterns.error());
  } else {
    auto mined = patternsFromModels(a);
    if (!mined) return tl::unexpected(mined.error());
    opened.mined = std::move(mined->report);
    opened.from = mined->counts;
    patterns = std::move(mined->patterns);
  }
  StatusLine status(a.quiet);
  auto search = Search::create(std::move(*patterns), {.depth = a.depth, .check = a.check},
                               [&](double share) { status.show("looking for candidates", share); });
  if (!search) return tl::unexpected(search.error());
  opened.search = std::move(*search);
  return opened;
}

Expected<void> search(const SearchArguments& a, const Processes& processes) {
  if (!a.from.patternsTo.empty()) return writeMined(a);
  auto opened = openSearch(a);
  if (!opened) return tl::unexpected(opened.error());
  const Search& search = opened->search;
  auto run = factsOf(a, search, processes);
  if (!run) return tl::unexpected(run.error());
  run->from = opened->from;
  if (auto ok = check(a, search.patterns()); !ok) return ok;
  if (!a.quiet) note(opened->mined);
  auto outcomes = runUnits(a, search, processes, *run);
  if (!outcomes) return tl::unexpected(outcomes.error());
  StatusLine status(a.quiet);
  auto result =
      reduceSearch(search, *outcomes, [&](double share) { status.show("dropping rules that others contain", share); });
  status.clear();
  if (!result) return tl::unexpected(result.error());
  auto bytes = resultBytes(*result, *run, std::move(*outcomes));
  if (!bytes) return tl::unexpected(bytes.error());
  if (auto ok = store(a, *result, *run, *bytes); !ok) return ok;
  if (!a.quiet) note(summary(*result, *run, a.verbose));
  if (run->missing > 0) {
    note(fmt::format("partial: {} of {} units are missing, the budget is spent\n", run->missing, run->units));
  }
  note(explanation(*result, a.explain));
  return {};
}

}  // namespace pet::tool
