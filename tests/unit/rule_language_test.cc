// docs/rule-language.md: what it shows is read, printed and proved, and its table is the operator table.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "rules/check/check.h"
#include "rules/exhaustive.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

namespace pet::rule_language_test {
namespace {

std::string page() {
  return testing_support::textOf(std::string(PET_SOURCE_DIR) + "/docs/rule-language.md");
}

/// The blocks between ```pet and ```.
std::vector<std::string> examples() {
  std::vector<std::string> blocks;
  const std::string text = page(), open = "\n```pet\n", close = "\n```\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    size_t end = text.find(close, at);
    blocks.push_back(text.substr(at, end - at + 1));
  }
  return blocks;
}

TEST(RuleLanguagePage, ExamplesAreReadAndProved) {
  EXPECT_GE(examples().size(), 2U);
  for (const std::string& text : examples()) {
    auto set = parseRules(text, "docs/rule-language.md");
    ASSERT_TRUE(set) << set.error().message() << "\n" << text;
    for (const Rule& rule : set->rules) {
      const Pattern& pattern = *set->findPattern(rule.pattern);
      CheckReport report = checkRule(pattern, rule);
      EXPECT_TRUE(report.proved()) << rule.name << ": " << report.reason();
      Evaluation evaluation = evaluateRule(pattern, rule);
      EXPECT_TRUE(evaluation.holds()) << rule.name << ": " << evaluation.str();
      auto again = parseRules(print(pattern) + print(rule), "printed");
      ASSERT_TRUE(again) << again.error().message();
      EXPECT_EQ(print(again->rules[0]), print(rule));
    }
  }
}

std::string meaningText(const OpRow& row) {
  if (row.lower) return "composite";
  if (row.meaning == Meaning::kFunction) return "function";
  return row.meaning == Meaning::kMaximum ? "maximum" : "sum";
}

std::string rowText(const OpRow& row) {
  static constexpr const char* kForms[] = {"expression", "list", "number", "word", "layout", "index map"};
  std::string attributes;
  for (const AttributeSpec& s : row.attributes) {
    attributes += fmt::format("{}{}: {}", attributes.empty() ? "" : "; ", s.name, kForms[static_cast<int>(s.kind)]);
    if (!s.fallback.empty()) attributes += fmt::format(" = {}", s.fallback);
  }
  std::string operands = fmt::format("{}", row.minOperands);
  if (row.maxOperands < 0) operands += "+";
  if (row.maxOperands > row.minOperands) operands += fmt::format("-{}", row.maxOperands);
  return fmt::format("| {} | {} | {} | {} |", row.name, operands, attributes, meaningText(row));
}

TEST(RuleLanguagePage, HasEveryOperator) {
  std::istringstream in(page());
  std::vector<std::string> rows, expected;
  bool inTable = false;
  for (std::string line; std::getline(in, line);) {
    if (inTable && line.rfind("| ", 0) != 0) break;
    if (inTable) rows.push_back(line);
    inTable = inTable || line == "|---|---|---|---|";
  }
  for (const OpRow* row : operatorTable()) {
    if (row->name != "Input") expected.push_back(rowText(*row));
  }
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace pet::rule_language_test
