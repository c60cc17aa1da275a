#include "tools/apply/untuned.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "rules/pack/file.h"
#include "rules/pack/timings.h"
#include "tools/apply/reasons.h"
#include "tools/common/cache_folder.h"
#include "tools/common/process.h"
#include "tools/common/runner.h"
#include "tools/common/scratch.h"
#include "tools/common/share.h"
#include "tools/common/ticker.h"

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

/// pet-tune with these points and the options of ours that it has.
std::vector<std::string> commandOf(const ApplyArguments& o, const fs::path& points, const fs::path& output) {
  std::vector<std::string> words{(binFolder() / "pet-tune").string()};
  if (!o.pack.empty()) words.push_back(o.pack);
  words.insert(words.end(), {"-q", "--no-bare", "-o", output.string(), "--points", points.string(), "--device",
                             o.device, "--budget", fmt::format("{}", o.budget), "--threads",
                             fmt::format("{}", o.threads), "--min-gain", fmt::format("{}", o.minGain)});
  if (o.threads == 1 && isProcessor(o.device)) words.emplace_back("--processor-time");
  for (const auto& [option, value] : {std::pair("--python", o.python), std::pair("--runner", o.runner)}) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  }
  return words;
}

/// What a child said last.
std::string lastLineOf(const fs::path& file) {
  std::string text = readFile(file.string(), ErrorKind::kRunner).value_or("");
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Expected<size_t> addTo(const std::string& own, const fs::path& found) {
  auto timings = readTimings(found.string());
  if (!timings) return tl::unexpected(timings.error());
  std::error_code ignored;
  Timings all;
  if (fs::exists(own, ignored)) {
    auto earlier = readTimings(own);
    if (!earlier) return tl::unexpected(earlier.error());
    all = std::move(*earlier);
  }
  all.merge(*timings);
  fs::create_directories(fs::path(own).parent_path(), ignored);
  return writeTimings(all, own).map([&] { return timings->size(); });
}

}  // namespace

std::string ownTimings(const ApplyArguments& o) {
  constexpr const char* kName = "own.timings.jsonl";
  if (!o.cache.empty()) return (fs::path(o.cache).parent_path() / kName).string();
  const auto folder = cacheFolder();
  return folder ? (*folder / kName).string() : "";
}

std::vector<RulePoint> refusedPoints(const std::vector<RulePoint>& points, const std::vector<Refused>& refused) {
  std::set<std::string, std::less<>> rules;
  for (const Refused& r : refused) {
    if (isUntuned(r.reason.kind)) rules.insert(r.rule);
  }
  std::vector<RulePoint> result;
  std::copy_if(points.begin(), points.end(), std::back_inserter(result),
               [&](const RulePoint& p) { return rules.contains(p.rule); });
  return result;
}

UntunedTimed timeUntuned(const ApplyArguments& o, const std::vector<RulePoint>& points, const ReportProgress& show) {
  UntunedTimed result{.points = points.size(), .file = ownTimings(o)};
  std::error_code ignored;
  if (!fs::exists(binFolder() / "pet-tune", ignored)) {
    result.problem = "pet-tune is not installed (component 'tools')";
    return result;
  }
  Scratch folder("pet-apply");
  const fs::path wanted = folder.path() / "points.jsonl", found = folder.path() / "found.timings.jsonl",
                 said = folder.path() / "said";
  if (auto ok = writeFile(wanted.string(), print(points)); !ok) {
    result.problem = ok.error().message();
    return result;
  }
  const Ticker ticker(o.budget, [&](double share) { show("timing rules that were not tuned at such sizes", share); });
  const auto status = runChild(commandOf(o, wanted, found), {.error = said.string()});
  if (!status) {
    result.problem = "pet-tune " + status.error();
  } else if (*status != 0) {
    result.problem = lastLineOf(said);
  }
  if (!fs::exists(found, ignored)) return result;
  auto timed = addTo(result.file, found);
  if (timed) result.timed = *timed;
  if (!timed) result.problem = timed.error().message();
  return result;
}

}  // namespace pet::tool
