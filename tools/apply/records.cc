#include "tools/apply/records.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "rules/pack/digest.h"
#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "tools/common/cache_folder.h"
#include "tools/common/process.h"
#include "tools/common/scratch.h"
#include "tools/common/share.h"

namespace pet::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAdvice = "nothing was written; do not use this pack";
/// Rules that one process of the checker is asked about, so that it can be said how far the check is.
constexpr size_t kAtATime = 8;

/// The program that checks, and what tells it from another build of it.
struct Checker {
  std::string path, identity;
};

Expected<Checker> findChecker(const std::string& given) {
  Checker checker{given, ""};
  std::error_code ignored;
  const char* named = std::getenv("PET_CHECKER");
  if (checker.path.empty() && named) checker.path = named;
  if (checker.path.empty()) checker.path = (binFolder() / "pet-rules").string();
  struct stat info {};
  if (::stat(checker.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || ::access(checker.path.c_str(), X_OK) != 0) {
    return fail(ErrorKind::kUsage, "there is no checker of proof records; nothing was written", checker.path,
                "name pet-rules with --checker, or trust the pack with --trust-pack");
  }
  checker.identity = fmt::format("{} {} {}.{}", fs::canonical(checker.path, ignored).string(), info.st_size,
                                 info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  return checker;
}

// --- What was proved before ---

/// One file for each rule that was found proved; its name is a digest of all that the verdict depends on.
class ProvedRules {
 public:
  explicit ProvedRules(const Checker& checker) : checker_(checker) {
    if (auto folder = cacheFolder()) folder_ = *folder / "proved";
  }

  bool contains(const Pattern& pattern, const Rule& rule) const {
    std::error_code ignored;
    return !folder_.empty() && fs::is_regular_file(fileOf(pattern, rule), ignored);
  }

  /// A cache that cannot be written to is as good as none.
  void add(const Pattern& pattern, const Rule& rule) const {
    if (folder_.empty()) return;
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    auto lost = writeFile(fileOf(pattern, rule), rule.name + "\n");
    static_cast<void>(lost);
  }

 private:
  std::string fileOf(const Pattern& pattern, const Rule& rule) const {
    Digest digest;
    digest.add("pet proved 1").add(checker_.identity).add(print(pattern)).add(print(rule));
    return (folder_ / digest.hex()).string();
  }

  const Checker& checker_;
  fs::path folder_;
};

// --- The process ---

/// What the checker says of each rule. Throws Json's exceptions where that is not what it should be.
Expected<nlohmann::json> ask(const Checker& checker, const RuleSet& rules) {
  Scratch folder("pet-apply");
  std::string in = (folder.path() / "rules.pet").string(), out = (folder.path() / "verdicts.json").string();
  if (auto ok = writeFile(in, print(rules)); !ok) return tl::unexpected(ok.error());
  auto status = runChild({checker.path, "verify", "--json", "-"}, {.in = in, .out = out});
  if (!status) return fail(ErrorKind::kCheck, "the checker " + status.error(), checker.path, "nothing was written");
  auto answer = readFile(out, ErrorKind::kCheck);
  if (!answer) return tl::unexpected(answer.error());
  auto verdicts = nlohmann::json::parse(*answer, nullptr, false);
  if (!verdicts.is_array()) {
    return fail(ErrorKind::kCheck, fmt::format("the checker gave no verdicts (exit code {})", *status), checker.path,
                "nothing was written");
  }
  return verdicts;
}

/// What a verdict says against a rule; empty if it is proved.
std::string objection(const nlohmann::json& verdicts, const std::string& name, const std::string& hash) {
  for (const auto& v : verdicts) {
    if (v.value("name", "") != name || v.value("hash", "") != hash) continue;
    std::string verdict = v.value("verdict", "unknown");
    return verdict == "proved" ? "" : fmt::format("{}: {}", verdict, v.value("reason", ""));
  }
  return "the checker says nothing about it";
}

/// Some rules of a set, with their patterns.
RuleSet subset(const RuleSet& all, std::span<const Rule* const> rules) {
  RuleSet some;
  std::set<std::string> patterns;
  for (const Rule* rule : rules) {
    some.rules.push_back(*rule);
    patterns.insert(rule->pattern);
  }
  for (const std::string& name : patterns)
    some.patterns.push_back(*all.findPattern(name));
  return some;
}

/// One question to the checker. What is proved is kept.
Expected<void> checkSome(const Checker& checker,
                         const RuleSet& rules,
                         const std::string& pack,
                         const ProvedRules& proved) {
  auto verdicts = ask(checker, rules);
  if (!verdicts) return tl::unexpected(verdicts.error());
  try {
    for (const Rule& rule : rules.rules) {
      const Pattern& pattern = *rules.findPattern(rule.pattern);
      std::string why = objection(*verdicts, rule.name, ruleHash(pattern, rule));
      if (!why.empty()) {
        return fail(ErrorKind::kCheck, fmt::format("rule {} is not proved by its record: {}", rule.name, why), pack,
                    kAdvice);
      }
      proved.add(pattern, rule);
    }
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorKind::kCheck, "the checker gave malformed verdicts", checker.path, "nothing was written");
  }
  return {};
}

}  // namespace

Expected<void> checkRecords(const RuleSet& rules, const RecordCheck& check) {
  if (rules.rules.empty()) return {};
  auto checker = findChecker(check.checker);
  if (!checker) return tl::unexpected(checker.error());
  const ProvedRules proved(*checker);
  std::vector<const Rule*> open;
  for (const Rule& rule : rules.rules) {
    if (!proved.contains(*rules.findPattern(rule.pattern), rule)) open.push_back(&rule);
  }
  const std::string what = fmt::format("checking the proof records of {} rules", open.size());
  for (size_t begin = 0; begin < open.size(); begin += kAtATime) {
    check.progress(what, static_cast<double>(begin) / static_cast<double>(open.size()));
    const auto some = std::span(open).subspan(begin, std::min(kAtATime, open.size() - begin));
    PET_TRY(checkSome(*checker, subset(rules, some), check.pack, proved));
  }
  return {};
}

}  // namespace pet::tool
