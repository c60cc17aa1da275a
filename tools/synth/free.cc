#include "tools/synth/free.h"

#include <charconv>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "synth/free/free_search.h"
#include "synth/scale/identity.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;
using namespace freemode;

constexpr uint32_t kMostParts = 4096;

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "512M", "3G", or bytes; none: no limit.
Expected<uint64_t> memoryOf(const std::string& text) {
  if (text.empty()) return 0;
  std::string_view digits = text;
  uint64_t unit = 1;
  for (auto [letter, shift] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}}) {
    if (digits.back() != letter) continue;
    unit = uint64_t{1} << shift;
    digits.remove_suffix(1);
    break;
  }
  auto value = number(digits);
  constexpr uint64_t kLeast = 1 << 20, kMost = uint64_t{1} << 44;
  if (value && *value <= kMost / unit && *value * unit >= kLeast) return *value * unit;
  return fail(ErrorKind::kUsage, fmt::format("'{}' is not an amount of memory", text), "--memory",
              "bytes, or a number with K, M or G; at least 1M");
}

/// "2/8": the second of eight parts.
Expected<Part> partOf(const std::string& text) {
  if (text.empty()) return Part{};
  size_t slash = text.find('/');
  auto index = number(std::string_view(text).substr(0, slash));
  auto count = slash == std::string::npos ? std::nullopt : number(std::string_view(text).substr(slash + 1));
  if (index && count && 1 <= *index && *index <= *count && *count <= kMostParts) {
    return Part{static_cast<uint32_t>(*index - 1), static_cast<uint32_t>(*count)};
  }
  return fail(ErrorKind::kUsage, fmt::format("'{}' is not a part", text), "--pass",
              fmt::format("K/N with 1 <= K <= N <= {}", kMostParts));
}

uint64_t peakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

uint64_t classesOf(const SearchResult& r) {
  uint64_t all = 0;
  for (const LevelCount& l : r.levels)
    all += l.classes;
  return all;
}

Json toJson(const EqualityCount& e) {
  return {{"raw", e.raw},
          {"distinct", e.distinct},
          {"dropped",
           {{"trivial", e.trivial}, {"instance", e.instances}, {"consequence", e.consequences}, {"chain", e.chains}}},
          {"proved", e.proved},
          {"refuted", e.refuted},
          {"unknown", e.unknown}};
}

Json toJson(const SearchResult& r, const FreeOptions& o, double seconds) {
  Json levels = Json::array(), open = Json::array();
  uint64_t graphs = 0;
  for (const LevelCount& l : r.levels) {
    graphs += l.graphs;
    levels.push_back(
        {{"operators", levels.size() + 1}, {"graphs", l.graphs}, {"evaluated", l.evaluated}, {"classes", l.classes}});
  }
  for (const OpenEquality& e : r.open)
    open.push_back({{"equality", e.text}, {"verdict", verdictName(e.verdict)}, {"reason", e.reason}});
  return {{"depth", o.depth},
          {"partial", !o.pass.empty()},
          {"passes", r.passes},
          {"graphs", {{"one_sink", graphs}, {"several_sinks_to_3_operators", r.severalSinks}}},
          {"classes", classesOf(r)},
          {"bytes_per_class", {{"inner", r.innerBytesPerClass()}, {"last", sizeof(freemode::Candidate)}}},
          {"levels", levels},
          {"equalities", toJson(r.equalities)},
          {"rules", r.rules.rules.size()},
          {"seconds",
           {{"enumerate", r.seconds.enumerate},
            {"compare", r.seconds.compare},
            {"prune", r.seconds.prune},
            {"prove", r.seconds.prove},
            {"all", seconds}}},
          {"peak_bytes", peakBytes()},
          {"kept", r.kept},
          {"open", open}};
}

std::string summary(const SearchResult& r, double seconds) {
  std::string text = fmt::format("{:>9} {:>12} {:>12} {:>12}\n", "operators", "graphs", "evaluated", "classes");
  for (size_t i = 0; i < r.levels.size(); ++i) {
    const LevelCount& l = r.levels[i];
    text += fmt::format("{:>9} {:>12} {:>12} {:>12}\n", i + 1, l.graphs, l.evaluated, l.classes);
  }
  const EqualityCount& e = r.equalities;
  text += fmt::format("{} equalities, {} distinct\n", e.raw, e.distinct);
  text += fmt::format("dropped: trivial {}, instance {}, consequence {}, chain {}\n", e.trivial, e.instances,
                      e.consequences, e.chains);
  text += fmt::format("{} proved, {} refuted, {} unknown\n", e.proved, e.refuted, e.unknown);
  return text +
         fmt::format("{} rules; {:.1f} s (enumerate {:.1f}, compare {:.1f}, prune {:.1f}, prove {:.1f}), {} MB\n",
                     r.rules.rules.size(), seconds, r.seconds.enumerate, r.seconds.compare, r.seconds.prune,
                     r.seconds.prove, peakBytes() >> 20);
}

/// What can be wrong before the search.
Expected<Vocabulary> prepare(const FreeOptions& o) {
  if (auto ok = distinctFiles({o.output, o.report, o.checkpoint}, {o.vocabulary}); !ok)
    return tl::unexpected(ok.error());
  for (const std::string& file : {o.output, o.report, o.checkpoint}) {
    if (file.empty()) continue;
    if (auto ok = checkWritable(file); !ok) return tl::unexpected(ok.error());
  }
  auto text = readFile(o.vocabulary, ErrorKind::kText);
  if (!text) return tl::unexpected(text.error());
  return parseVocabulary(*text, o.vocabulary);
}

/// One line that is another for any search whose passes are not the same.
std::string identityOf(const Vocabulary& v, const freemode::SearchOptions& options) {
  uint64_t digest = 0;
  for (char c : print(v))
    digest = mix(digest ^ static_cast<unsigned char>(c));
  return fmt::format("vocabulary {:016x} depth {} memory {} part {}/{} seed {} code {}", digest, options.depth,
                     options.memory, options.slice.index + 1, options.slice.count, options.seed, searchCode());
}

/// Each pass replaces the checkpoint; a search that is resumed begins with what it holds, if it is there.
Expected<void> useCheckpoint(const FreeOptions& o, const Vocabulary& v, freemode::SearchOptions& options) {
  if (o.checkpoint.empty()) return {};
  const std::string identity = identityOf(v, options);
  std::error_code ignored;
  if (std::filesystem::exists(o.checkpoint, ignored)) {
    if (!o.resume) {
      return fail(ErrorKind::kUsage, "exists", o.checkpoint, "--resume goes on with it; else name another checkpoint");
    }
    auto text = readFile(o.checkpoint, ErrorKind::kPack);
    if (!text) return tl::unexpected(text.error());
    auto passes = parsePasses(*text, identity, o.checkpoint);
    if (!passes) return tl::unexpected(passes.error());
    options.resume = std::move(*passes);
  }
  options.passDone = [identity, file = o.checkpoint](const Passes& p) { return writeFile(file, print(p, identity)); };
  return {};
}

Expected<void> store(const SearchResult& r, const FreeOptions& o, double seconds) {
  if (!o.report.empty()) {
    if (auto ok = writeFile(o.report, toJson(r, o, seconds).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
        !ok)
      return ok;
  }
  if (o.output.empty()) return {};
  PackNotes notes{.metadata = {{"mode", "free"}, {"depth", std::to_string(o.depth)}}, .evidence = {}};
  if (!o.pass.empty()) notes.metadata["partial"] = o.pass;
  for (const Rule& rule : r.rules.rules)
    notes.evidence[rule.name]["verdict"] = kChecked;
  return writePack(r.rules, o.output, notes);
}

}  // namespace

void declareFree(CLI::App& app, FreeOptions& o) {
  app.add_option("--vocab", o.vocabulary, "the vocabulary, a text file (docs/free-mode.md)")
      ->required()
      ->check(isNamed());
  app.add_option("--depth", o.depth, "the largest number of operators of a graph")
      ->check(CLI::Range(1, static_cast<int>(kMostInner + 1)))
      ->capture_default_str();
  app.add_option("-j,--threads", o.threads, "threads (default: all cores); the result does not depend on it")
      ->check(CLI::Range(1, 1024));
  app.add_option("-o,--output", o.output, "write the proved rules as a pack to FILE")->check(isNamed());
  app.add_option("--report", o.report, "write a JSON report of the run to FILE")->check(isNamed());
  app.add_option(
      "--memory", o.memory,
      "memory for the largest graphs, such as 512M or 3G: they are enumerated in as many passes as it takes");
  app.add_option("--pass", o.pass, "K/N: of the largest graphs, only those in the K-th of N ranges of fingerprints");
  auto* checkpoint = app.add_option("--checkpoint", o.checkpoint, "write the results so far to FILE after each pass")
                         ->check(isNamed());
  app.add_flag("--resume", o.resume, "begin with the checkpoint's results")->needs(checkpoint);
  app.add_flag("-q,--quiet", o.quiet, "no progress and no summary");
}

Expected<void> free(const FreeOptions& o) {
  auto memory = memoryOf(o.memory);
  if (!memory) return tl::unexpected(memory.error());
  auto part = partOf(o.pass);
  if (!part) return tl::unexpected(part.error());
  auto vocabulary = prepare(o);
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  auto begin = std::chrono::steady_clock::now();
  freemode::SearchOptions options{.depth = o.depth, .threads = o.threads, .memory = *memory, .slice = *part};
  StatusLine status(o.quiet);
  options.progress = [&](std::string_view stage, double share) { status.show(stage, share); };
  if (auto ok = useCheckpoint(o, *vocabulary, options); !ok) return ok;
  Expected<SearchResult> result = SearchResult();
  try {
    result = freemode::search(*vocabulary, options);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kUsage, kOutOfMemory, "",
                o.checkpoint.empty()
                    ? "give --memory LIMIT, a smaller --depth, or one part of the graphs with --pass K/N"
                    : "the results so far are in the checkpoint; give --memory LIMIT, or --pass K/N");
  }
  status.clear();
  if (!result) return tl::unexpected(result.error());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (auto ok = store(*result, o, seconds); !ok) return ok;
  if (!o.quiet) note(summary(*result, seconds));
  return {};
}

}  // namespace pet::tool
