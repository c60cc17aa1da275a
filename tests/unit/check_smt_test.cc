// The export as SMT-LIB 2: any solver finds what the checker finds. Here z3's own reader of such scripts, without any
// of our translation.

#include <gtest/gtest.h>

#include "rules/check/check.h"
#include "rules/check/smt.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

namespace pet::check_smt_test {
namespace {

using testing_support::dataText;
struct Answers {
  std::vector<std::string> expected, given;
};

/// The answers that a script says it expects, and those that a solver gives.
Answers solve(std::string script) {
  Answers answers;
  const std::string status = "(set-info :status ";
  for (size_t at = script.find(status); at != std::string::npos; at = script.find(status)) {
    size_t begin = at + status.size(), end = script.find(')', begin);
    answers.expected.push_back(script.substr(begin, end - begin));
    script.erase(at, end + 1 - at);  // z3 would complain of another answer, instead of giving it
  }
  answers.given = answersOfZ3(script);
  return answers;
}

RuleSet rulesOf(const std::string& text) {
  auto set = parseRules(text, "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return set ? std::move(*set) : RuleSet();
}

Answers answersOf(const std::string& text) {
  RuleSet set = rulesOf(text);
  auto script = smtScript(*set.findPattern(set.rules[0].pattern), set.rules[0]);
  EXPECT_TRUE(script);
  return solve(*script);
}

TEST(CheckSmt, IsUnsatForTrueRules) {
  for (const char* file :
       {"conv.pet", "pair.pet", "phases.pet", "pool.pet", "relu.pet", "row.pet", "square.pet", "branches.pet"}) {
    RuleSet set = rulesOf(dataText(file));
    CheckReport report = checkRule(*set.findPattern(set.rules[0].pattern), set.rules[0]);
    ASSERT_TRUE(report.proved()) << file;
    Answers answers = answersOf(dataText(file));
    EXPECT_EQ(answers.given, answers.expected) << file;
    EXPECT_EQ(answers.given.size(), report.steps.size()) << file << ": a query for every obligation";
  }
}

TEST(CheckSmt, IsSatForDamagedRules) {
  const std::tuple<const char*, const char*, const char*> kDamages[] = {
      {"conv.pet", "P <= R - 1, ", ""},                                  // an obligation
      {"conv.pet", "[f, c, R - 1 - r, S - 1 - s]", "[f, c, r, s]"},      // a factor
      {"conv.pet", "forward 0 -> 0 [c_1,", "forward 0 -> 0 [c_1 + 1,"},  // the image
      {"conv.pet", "forward 0 -> 0", "forward 0 -> 1"},                  // no piece
      {"pair.pet", "v3 < Q", "v3 <= Q"},
      {"pool.pet", "forward 0 -> 0 [r_4]", "forward 0 -> 0 [2 - r_4]"},      // a lemma
      {"relu.pet", "when v0 = W", "when W - 1 <= v0"},                       // a zero
      {"pair.pet", "W - Q:W]", "W - Q + 1:W]"},                              // a box
      {"branches.pet", "forward 0 -> 1 [c_1, r", "forward 0 -> 1 [c_1, s"},  // one output of two
      {"conv.pet", "1 <= N, ", "1 <= N, N <= 0, "},                          // no member
  };
  for (const auto& [file, from, to] : kDamages) {
    std::string text = dataText(file);
    size_t at = text.find(from, text.find("\nrule "));
    ASSERT_NE(at, std::string::npos) << from;
    Answers answers = answersOf(text.replace(at, std::string(from).size(), to));
    EXPECT_EQ(answers.given.size(), answers.expected.size());
    EXPECT_NE(answers.given, answers.expected) << from << " -> " << to;
  }
}

// Lemmas, quotients of divisions, names that SMT-LIB could take for its own.
TEST(CheckSmt, HasFunctionsDivisionsAndAnyNames) {
  const std::string maps = "forward 0 -> 0 []\n backward 0 -> 0 []\n";
  auto rule = [&](const std::string& when) {
    return "pattern p {\n shape let N' : 1 <= let, 1 <= N'\n x: [let, N']\n a = Slice(x) axes=[1] starts=[0] ends=[N'] "
           "steps=[2]\n y = Relu(a)\n}\nrule r of p {\n class let N' : 1 <= let, 1 <= N', N' % 3 = 0\n replacement {\n "
           "b = Relu(x)\n y = Slice(b) axes=[1] starts=[0] ends=[N'] steps=[2]\n }\n proof {\n equal sums 1 = 1 when " +
           when + " {\n " + maps + "}\n " + maps + "}\n}\n";
  };
  RuleSet set = rulesOf(rule("u_1 = u_3, u_2 = u_4"));
  CheckReport report = checkRule(set.patterns[0], set.rules[0]);
  EXPECT_TRUE(report.proved()) << report.reason();
  Answers right = answersOf(rule("u_1 = u_3, u_2 = u_4")), wrong = answersOf(rule("u_1 = u_3"));
  EXPECT_EQ(right.given, right.expected);
  EXPECT_NE(wrong.given, wrong.expected);
}

}  // namespace
}  // namespace pet::check_smt_test
