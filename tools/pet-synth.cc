// pet-synth: enumerate, prove, correct, store.

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "synth/synthesize.h"
#include "tools/common/tool.h"
#include "tools/synth/prove.h"

namespace {

using namespace pet;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> patterns;
  std::string patternFolder, output, report, explain;
  int depth = 4, threads = 0;
  bool quiet = false;
};

constexpr int kDeepest = 5;

// --- Patterns ---

/// The canonical patterns: next to the binary when installed, in the source tree during development.
std::string defaultPatternFolder() {
  std::error_code ignored;
  auto binary = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& folder : {binary / "../share/pet/patterns", binary / "../../rules/patterns"}) {
    if (std::filesystem::is_directory(folder, ignored)) return folder.lexically_normal().string();
  }
  return "rules/patterns";
}

Expected<std::vector<Pattern>> readPatterns(const Options& o) {
  std::vector<std::string> files = o.patterns;
  std::string folder = o.patternFolder.empty() ? defaultPatternFolder() : o.patternFolder;
  if (files.empty()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".pet") files.push_back(entry.path().string());
    }
    if (error)
      return fail(ErrorKind::kUsage, "cannot read the patterns: " + error.message(), folder,
                  "name a folder with --patterns");
    std::sort(files.begin(), files.end());
  }
  std::vector<Pattern> patterns;
  for (const std::string& file : files) {
    auto text = readFile(file, ErrorKind::kText);
    if (!text) return tl::unexpected(text.error());
    auto parsed = parseRules(*text, file);
    if (!parsed) return tl::unexpected(tool::badText(parsed.error()));
    std::move(parsed->patterns.begin(), parsed->patterns.end(), std::back_inserter(patterns));
  }
  if (patterns.empty()) {
    return fail(ErrorKind::kUsage, "no patterns", o.patterns.empty() ? folder : o.patterns.front(),
                "name pattern files or a folder with --patterns");
  }
  std::sort(patterns.begin(), patterns.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 1; i < patterns.size(); ++i) {
    if (patterns[i].name == patterns[i - 1].name)
      return fail(ErrorKind::kUsage, "two patterns are named " + patterns[i].name);
  }
  return patterns;
}

// --- Progress and reports, on standard error ---

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO)) {}
  ~ProgressLine() {
    if (shown_) tool::note("\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void operator()(size_t done, size_t total) {
    size_t percent = 1000 * done / total;
    if (!shown_ || last_.exchange(percent) == percent) return;
    std::lock_guard lock(mutex_);
    tool::note(fmt::format("\r\033[K{:5.1f} %  {} of {} candidates", static_cast<double>(percent) / 10, done, total));
  }

 private:
  bool shown_;
  std::atomic<size_t> last_ = 0;
  std::mutex mutex_;
};

std::map<Fate, size_t> countFates(const PatternReport& report) {
  std::map<Fate, size_t> count;
  for (const PlanOutcome& p : report.plans)
    ++count[p.fate];
  return count;
}

/// One line of the summary: space, survivors of each filter, verdicts, rules.
std::string summaryLine(std::string_view name, size_t plans, std::map<Fate, size_t>& n) {
  size_t built = plans - n[Fate::kNotApplicable] - n[Fate::kNoVote] - n[Fate::kShape] - n[Fate::kEmptyClass];
  size_t filtered = built - n[Fate::kTooDeep] - n[Fate::kIdentity] - n[Fate::kCost] - n[Fate::kFingerprint];
  size_t unknown = n[Fate::kUnknown] + n[Fate::kUnproved];
  size_t proved = filtered - unknown - n[Fate::kNoCorrection];
  return fmt::format("{:<18} {:>7} {:>7} {:>9} {:>7} {:>8} {:>6}\n", name, plans, built, filtered, proved, unknown,
                     n[Fate::kKept]);
}

/// A line per pattern, the sums, patterns without a space, what was dropped, time per stage.
std::string summary(const Synthesis& s, double seconds) {
  std::map<Fate, size_t> sum;
  StageTimes times;
  size_t space = 0;
  std::string text = fmt::format("{:<18} {:>7} {:>7} {:>9} {:>7} {:>8} {:>6}\n", "pattern", "space", "voted",
                                 "filtered", "proved", "unknown", "kept");
  for (const PatternReport& r : s.reports) {
    auto n = countFates(r);
    for (const auto& [fate, count] : n)
      sum[fate] += count;
    space += r.plans.size();
    times.build += r.seconds.build;
    times.filter += r.seconds.filter;
    times.prove += r.seconds.prove;
    times.correct += r.seconds.correct;
    text += summaryLine(r.pattern, r.plans.size(), n);
  }
  text += summaryLine("all", space, sum);
  for (const PatternReport& r : s.reports) {
    if (!r.noPlans.empty()) text += fmt::format("{}: no plans: {}\n", r.pattern, r.noPlans);
  }
  std::string dropped;
  for (const auto& [fate, count] : sum) {
    if (fate != Fate::kKept && count)
      dropped += fmt::format("{}{} {}", dropped.empty() ? "" : ", ", fateName(fate), count);
  }
  size_t boxes = 0;
  for (const Rule& r : s.rules.rules)
    boxes += !r.boxes.empty();
  return text + fmt::format(
                    "dropped: {}\n{} rules, {} with boxes; {:.1f} s (build {:.1f}, filter {:.1f}, prove {:.1f}, "
                    "correct {:.1f} s of thread time)\n",
                    dropped.empty() ? "nothing" : dropped, s.rules.rules.size(), boxes, seconds, times.build,
                    times.filter, times.prove, times.correct);
}

/// By stage, those that took at least a millisecond.
Json toMs(const StageTimes& t) {
  Json ms = Json::object();
  for (auto [stage, seconds] :
       {std::pair{"build", t.build}, {"filter", t.filter}, {"prove", t.prove}, {"correct", t.correct}}) {
    if (seconds >= 1e-3) ms[stage] = std::llround(seconds * 1e3);
  }
  return ms;
}

Json jsonReport(const Synthesis& s, double seconds) {
  Json patterns = Json::array();
  for (const PatternReport& r : s.reports) {
    Json fates = Json::object(), plans = Json::array();
    for (const auto& [fate, count] : countFates(r))
      fates[std::string(fateName(fate))] = count;
    for (const PlanOutcome& p : r.plans) {
      plans.push_back({{"name", p.name}, {"fate", fateName(p.fate)}, {"detail", p.detail}, {"ms", toMs(p.seconds)}});
    }
    patterns.push_back({{"pattern", r.pattern},
                        {"space", r.plans.size()},
                        {"fates", fates},
                        {"seconds",
                         {{"build", r.seconds.build},
                          {"filter", r.seconds.filter},
                          {"prove", r.seconds.prove},
                          {"correct", r.seconds.correct}}},
                        {"no_plans", r.noPlans},
                        {"plans", plans}});
  }
  return {{"rules", s.rules.rules.size()}, {"seconds", seconds}, {"patterns", patterns}};
}

/// What became of the candidates of one pattern.
std::string explanation(const Synthesis& s, const std::string& pattern) {
  std::string text;
  for (const PatternReport& r : s.reports) {
    if (r.pattern != pattern) continue;
    if (!r.noPlans.empty()) text += fmt::format("{}: no plans: {}\n", pattern, r.noPlans);
    for (const PlanOutcome& p : r.plans) {
      text += fmt::format("{}/{}: {}{}{}\n", pattern, p.name, fateName(p.fate), p.detail.empty() ? "" : ": ", p.detail);
    }
  }
  return text;
}

// --- The command ---

/// What would make a search of minutes be in vain.
Expected<void> check(const Options& o, const std::vector<Pattern>& patterns) {
  if (o.output.empty() && isatty(STDOUT_FILENO)) {
    return fail(ErrorKind::kUsage, "a pack is binary and standard output is a terminal", "",
                "redirect it, or give -o FILE");
  }
  bool known = std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& p) { return p.name == o.explain; });
  if (!o.explain.empty() && !known) return fail(ErrorKind::kUsage, "no pattern '" + o.explain + "'", "--explain");
  if (auto ok = tool::distinctFiles({o.output, o.report}, o.patterns); !ok) return ok;
  for (const std::string& file : {o.output, o.report}) {
    if (file.empty()) continue;
    if (auto ok = checkWritable(file); !ok) return ok;
  }
  return {};
}

Expected<void> store(const Synthesis& s, const Options& o) {
  PackNotes notes{.metadata = {{"mode", "pattern"}, {"depth", std::to_string(o.depth)}}, .evidence = {}};
  if (!o.output.empty()) return writePack(s.rules, o.output, notes);
  auto bytes = packBytes(s.rules, notes);
  if (!bytes) return tl::unexpected(bytes.error());
  return tool::print(*bytes);
}

Expected<void> run(const Options& o) {
  auto patterns = readPatterns(o);
  if (!patterns) return tl::unexpected(patterns.error());
  if (auto ok = check(o, *patterns); !ok) return ok;
  auto begin = std::chrono::steady_clock::now();
  auto result = [&] {
    ProgressLine progress(o.quiet);
    return synthesize(*patterns, {.depth = o.depth, .threads = o.threads, .progress = std::ref(progress)});
  }();
  if (!result) return tl::unexpected(result.error());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!o.report.empty()) {
    if (auto ok = writeFile(o.report, jsonReport(*result, seconds).dump(1) + "\n"); !ok) return ok;
  }
  if (auto ok = store(*result, o); !ok) {
    std::error_code ignored;
    if (!o.report.empty()) std::filesystem::remove(o.report, ignored);
    return ok;
  }
  if (!o.quiet) tool::note(summary(*result, seconds));
  tool::note(explanation(*result, o.explain));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  return tool::guard([&] {
    Options o;
    tool::ProveOptions proveOptions;
    CLI::App app(
        "Enumerates mutants of canonical patterns, proves them for every shape, and writes the rules as a pack.\n\n"
        "    pet-synth --depth 4 > rules.db\n"
        "    pet-synth prove pair.pet\n",
        "pet-synth");
    app.footer("Exit codes: 0 ok, 1 internal error, 2 usage, 4 bad pattern or rule text, 5 a candidate is not proved.");
    auto* files = app.add_option("PATTERN", o.patterns, "pattern files (default: all canonical patterns)");
    app.add_option("--patterns", o.patternFolder, "folder of pattern files (*.pet)")->excludes(files);
    app.add_option("--depth", o.depth, "most operators of a mutant on activations; a chain of layouts counts one")
        ->check(CLI::Range(1, kDeepest))
        ->capture_default_str();
    app.add_option("-o,--output", o.output, "write the pack to FILE instead of standard output");
    app.add_option("-j,--threads", o.threads, "threads (default: all cores); the pack does not depend on it")
        ->check(CLI::Range(1, 1024));
    app.add_option("--report", o.report, "write a JSON report of the run to FILE");
    app.add_option("--explain", o.explain, "list what became of every candidate of a pattern");
    app.add_flag("-q,--quiet", o.quiet, "no progress and no summary");
    CLI::App* prove = app.add_subcommand("prove", "decide candidates in text files; exit code 5 unless all are proved");
    tool::declareProve(*prove, proveOptions);
    return tool::run(app, argc, argv, [&]() -> Expected<void> {
      if (!prove->parsed()) return run(o);
      if (app.count_all() > prove->count_all() + 1)
        return fail(ErrorKind::kUsage, "options and patterns before 'prove'", "", "they belong behind it");
      return tool::prove(proveOptions);
    });
  });
}
