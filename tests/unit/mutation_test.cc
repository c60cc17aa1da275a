// Proved rules, damaged in one place: class, boxes, programs, record. What the checker still proves must still be true,
// which evaluation at small shapes decides: it shares nothing with the proof.

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rules/check/check.h"
#include "rules/exhaustive.h"
#include "rules/text.h"
#include "synth/numerics/numerics.h"
#include "synth/prove/prove.h"
#include "tests/unit/mutation_damages.h"
#include "tests/unit/part.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/text_file.h"

namespace pet::mutation_test {
namespace {

using testing_support::Damage;
using testing_support::Damages;
using testing_support::textOf;

struct Subject {
  std::string file, pattern, rule;  ///< as text
};

/// A rule with a record: its own, or the prover's; with the numerics that are derived.
std::optional<Subject> subjectOf(const std::string& path) {
  std::string text = textOf(path);
  auto set = parseRules(text, path);
  if (!set || set->rules.size() != 1) return std::nullopt;
  Rule& rule = set->rules[0];
  const Pattern& pattern = *set->findPattern(rule.pattern);
  bool hasRecord = !rule.proofs[0].forward.empty();
  if (!hasRecord && text.find("# expect: proved") == std::string::npos) return std::nullopt;
  auto source = instantiate(pattern, rule);
  poly::Context context(rule.shapes, 4'000'000);
  if (!hasRecord) {
    Equality equality = proveEqual(context, *source, rule.replacement);
    if (!std::holds_alternative<Proved>(equality)) return std::nullopt;
    rule.proofs = std::get<Proved>(equality).proofs;
  }
  rule.numerics = numericsOf(context, pattern, rule);
  return Subject{std::filesystem::path(path).filename(), print(pattern), print(rule)};
}

struct Tally {
  int caught = 0;     ///< not proved
  int stillTrue = 0;  ///< proved, and equal at small shapes
  int noRule = 0;     ///< no rule at all, says the reader
  int sameRule = 0;   ///< another proof of the same rule
};

/// All damages are of few kinds: of each kind, every rule gives the same number, evenly spread.
std::vector<Damage> chosen(std::vector<Damage> all, size_t ofEachKind) {
  std::map<std::string, std::vector<Damage>> byKind;
  for (Damage& d : all)
    byKind[d.kind].push_back(std::move(d));
  std::vector<Damage> result;
  for (auto& [kind, damages] : byKind) {
    size_t n = std::min(ofEachKind, damages.size());
    for (size_t i = 0; i < n; ++i)
      result.push_back(damages[i * damages.size() / n]);
  }
  return result;
}

void judge(const Subject& subject, const Damage& damage, std::map<std::string, Tally>& tally) {
  auto set = parseRules(subject.pattern + damage.text, "damaged");
  Tally& t = tally[damage.kind];
  if (!set) {
    ++t.noRule;
    return;
  }
  CheckReport report = checkRule(set->patterns[0], set->rules[0], {.steps = 1'000'000});
  if (!report.proved()) {
    ++t.caught;
    return;
  }
  EXPECT_FALSE(damage.kind.starts_with("numerics")) << subject.file << ": " << damage.line;
  fmt::print("survives: {}, {}: {}\n", subject.file, damage.kind, damage.line);
  auto before = parseRules(subject.pattern + subject.rule, "as it was");
  if (printStatement(set->rules[0]) == printStatement(before->rules[0])) {
    ++t.sameRule;
    return;
  }
  ++t.stillTrue;
  const Evaluation evaluation = evaluateRule(set->patterns[0], set->rules[0]);
  EXPECT_TRUE(evaluation.holds()) << subject.file << ", " << damage.kind << ":\n"
                                  << damage.line << "\n"
                                  << evaluation.str();
}

std::string row(const std::string& kind, const Tally& t) {
  return fmt::format("{:<32} {:>4} caught, {:>3} still true, {:>3} another proof of the same, {:>3} no rule\n", kind,
                     t.caught, t.stillTrue, t.sameRule, t.noRule);
}

constexpr size_t kParts = 3;

/// A record that is longer takes as many seconds as all others together, to be damaged in the same ways.
constexpr size_t kLongestRule = 12'000;

TEST(Mutation, WhatChangesMeaningIsCaught) {
  std::map<std::string, Tally> tally;
  size_t number = 0, rules = 0;
  for (const std::string& file : testing_support::ruleFiles()) {
    bool isData = file.find("/tests/data/") != std::string::npos;
    if (!isData && ++number % 3 != 0) continue;  // a third of the prover's cases, against the time it takes
    if (!testing_support::isInPart(rules++, kParts)) continue;
    auto subject = subjectOf(file);
    if (!subject || subject->rule.size() > kLongestRule) continue;
    for (const Damage& d : chosen(Damages(subject->rule).all(), isData ? 12 : 1))
      judge(*subject, d, tally);
  }
  Tally total;
  std::string table;
  for (const auto& [kind, t] : tally) {
    table += row(kind, t);
    total.caught += t.caught;
    total.stillTrue += t.stillTrue;
    total.sameRule += t.sameRule;
    total.noRule += t.noRule;
  }
  fmt::print("{}{}", table, row("all", total));
  EXPECT_GE(static_cast<size_t>(total.caught), std::getenv("PET_TEST_PART") ? 600 / kParts : 600);
  EXPECT_GE(tally.size(), 20U) << "kinds of damage";
}

}  // namespace
}  // namespace pet::mutation_test
