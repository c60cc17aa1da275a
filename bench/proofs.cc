// How long proofs and their checks take: pet-proofs FILE… (a pack, or rules as text). Verdicts, and median, 99th
// percentile and maximum in milliseconds, of the prover over all rules of each file, and of the checker over what it
// proved.
//
// A stopwatch, not a test: run it on a quiet machine.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "rules/check/check.h"
#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "synth/prove/prove.h"

namespace {

using namespace pet;

/// Calls `work` and appends the milliseconds it took.
template <class F>
auto timed(std::vector<double>& into, F work) {
  auto start = std::chrono::steady_clock::now();
  auto result = work();
  into.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return result;
}

double percentile(std::vector<double> times, double share) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
}

void report(const char* what, const std::vector<double>& times) {
  double total = 0;
  for (double t : times)
    total += t;
  std::printf("  %-8s %5zu  median %8.2f  p99 %8.2f  max %8.2f ms  total %.2f s\n", what, times.size(),
              percentile(times, 0.5), percentile(times, 0.99), percentile(times, 1), total / 1000);
}

Expected<RuleSet> rulesOf(const std::string& path) {
  auto bytes = readFile(path, ErrorKind::kText);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->rfind("SQLite format 3", 0) == 0) return readPack(path);
  return parseRules(*bytes, path);
}

void measure(const std::string& path, const RuleSet& set) {
  std::map<std::string, size_t> verdicts, reasons;
  std::vector<double> proving, checking;
  for (const Rule& rule : set.rules) {
    const Pattern& pattern = *set.findPattern(rule.pattern);
    auto source = instantiate(pattern, rule);
    if (!source) continue;
    Equality verdict = timed(proving, [&]() -> Equality {
      poly::Context context(rule.shapes, 4'000'000);
      if (failedObligation(context, rule.replacement)) return Unknown{"an obligation"};
      return proveEqual(context, *source, rule.replacement);
    });
    if (auto* unknown = std::get_if<Unknown>(&verdict)) {
      ++verdicts["unknown"];
      ++reasons[unknown->reason];
    } else if (auto* proved = std::get_if<Proved>(&verdict)) {
      ++verdicts["proved"];
      Rule withRecord = rule;
      withRecord.proofs = std::move(proved->proofs);
      bool holds = timed(checking, [&] { return checkRule(pattern, withRecord).proved(); });
      if (!holds) ++verdicts["proved, but not checked"];
    } else {
      ++verdicts["outside"];
    }
  }
  std::printf("%s:", path.c_str());
  for (const auto& [verdict, count] : verdicts)
    std::printf(" %zu %s;", count, verdict.c_str());
  std::printf("\n");
  report("prover", proving);
  report("checker", checking);
  for (const auto& [reason, count] : reasons)
    std::printf("  unknown %zu: %s\n", count, reason.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::string path = arguments[i];
    if (std::filesystem::is_directory(path)) {
      RuleSet cases;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
        if (!entry.is_regular_file()) continue;
        auto set = rulesOf(entry.path());  // each file has a scope of its own; those that are errors are no proofs
        if (!set || set->rules.empty()) continue;
        for (Pattern& p : set->patterns)
          p.name += " of " + entry.path().filename().string();
        for (Rule& r : set->rules)
          r.pattern += " of " + entry.path().filename().string();
        std::move(set->patterns.begin(), set->patterns.end(), std::back_inserter(cases.patterns));
        std::move(set->rules.begin(), set->rules.end(), std::back_inserter(cases.rules));
      }
      std::sort(cases.patterns.begin(), cases.patterns.end(), [](auto& a, auto& b) { return a.name < b.name; });
      measure(path, cases);
      continue;
    }
    auto set = rulesOf(path);
    if (!set) {
      std::fprintf(stderr, "pet-proofs: %s\n", set.error().message().c_str());
      return 4;
    }
    measure(path, *set);
  }
  return 0;
}
