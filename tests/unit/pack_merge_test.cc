#include <gtest/gtest.h>

#include "rules/pack/merge.h"
#include "rules/text.h"

namespace pet::pack_merge_test {
namespace {

std::string patternText(const std::string& constraint = "1 <= N") {
  return "pattern p {\n  shape N : " + constraint + "\n  x: [N]\n  y = Relu(x)\n}\n";
}

std::string ruleText(const std::string& name, const std::string& statement, const std::string& proof = "") {
  return "rule " + name +
         " of p {\n  family test\n  depth 1\n  class N : 1 <= N\n  numerics same-terms\n  replacement {\n    " +
         statement + "\n  }\n  proof {\n" + proof + "  }\n}\n";
}

NamedPack packOf(const std::string& name, const std::string& text, PackNotes notes = {}) {
  auto set = parseRules(text, name);
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return {name, set ? std::move(*set) : RuleSet{}, std::move(notes)};
}

TEST(PackMerge, ARuleOfSeveralPacksComesOnce) {
  std::string p = patternText(), a = ruleText("p/a", "y = Relu(x)"), b = ruleText("p/b", "y = Sqrt(x)");
  for (bool swapped : {false, true}) {
    std::vector<NamedPack> packs{
        packOf("one", p + a, {{{"depth", "4"}, {"mode", "pattern"}}, {{"p/a", {{"k", "1"}}}}}),
        packOf("two", p + b + a, {{{"depth", "3"}, {"mode", "pattern"}}, {{"p/b", {{"k", "2"}}}}})};
    if (swapped) std::swap(packs[0], packs[1]);
    auto merged = mergePacks(packs);
    ASSERT_TRUE(merged) << merged.error().message();
    auto bytes = packBytes(merged->rules, merged->notes);
    ASSERT_TRUE(bytes);
    PackNotes notes{{{"mode", "pattern"}}, {{"p/a", {{"k", "1"}}}, {"p/b", {{"k", "2"}}}}};
    EXPECT_EQ(merged->notes, notes);
    EXPECT_EQ(*bytes, *packBytes(packOf("all", p + a + b).rules, notes));
  }
}

TEST(PackMerge, OfTwoProofsTheShorter) {
  std::string p = patternText(), shorter = ruleText("p/a", "y = Relu(x)"),
              longer = ruleText("p/a", "y = Relu(x)", "    forward 0 -> 0 []\n    backward 0 -> 0 []\n");
  auto set = parseRules(p + longer, "test");
  ASSERT_TRUE(set) << set.error().message();
  for (bool swapped : {false, true}) {
    std::vector<NamedPack> packs{packOf("one", p + shorter), packOf("two", p + longer)};
    if (swapped) std::swap(packs[0], packs[1]);
    auto merged = mergePacks(packs);
    ASSERT_TRUE(merged) << merged.error().message();
    EXPECT_EQ(print(merged->rules.rules.at(0)), print(packOf("x", p + shorter).rules.rules.at(0)));
  }
}

TEST(PackMerge, APartialPackMakesAPartialPack) {
  std::string p = patternText();
  PackNotes partial{{{"partial", "1 of 2 units are missing"}}, {}};
  auto merged = mergePacks({packOf("one", p), packOf("two", p, partial)});
  ASSERT_TRUE(merged);
  EXPECT_TRUE(merged->notes.metadata.contains("partial"));
}

TEST(PackMerge, WhatDoesNotAgreeIsRefusedByName) {
  std::string p = patternText();
  auto rule = mergePacks(
      {packOf("one", p + ruleText("p/a", "y = Relu(x)")), packOf("two", p + ruleText("p/a", "y = Sqrt(x)"))});
  ASSERT_FALSE(rule);
  EXPECT_EQ(rule.error().message(),
            "two: rule p/a is not the one of one (a name stands for one thing; merge packs that agree)");
  auto pattern = mergePacks({packOf("one", p), packOf("two", patternText("2 <= N"))});
  ASSERT_FALSE(pattern);
  EXPECT_NE(pattern.error().message().find("two: pattern p is not the one of one"), std::string::npos);
  std::string a = ruleText("p/a", "y = Relu(x)");
  auto evidence = mergePacks(
      {packOf("one", p + a, {{}, {{"p/a", {{"k", "1"}}}}}), packOf("two", p + a, {{}, {{"p/a", {{"k", "2"}}}}})});
  ASSERT_FALSE(evidence);
  EXPECT_NE(evidence.error().message().find("evidence k about rule p/a"), std::string::npos);
}

TEST(PackMerge, Differences) {
  std::string p = patternText(), a = ruleText("p/a", "y = Relu(x)");
  NamedPack one =
      packOf("one", p + a + ruleText("p/b", "y = Sqrt(x)") + ruleText("p/c", "y = Neg(x)"), {{{"depth", "4"}}, {}});
  NamedPack two =
      packOf("two", p + a + ruleText("p/b", "y = Neg(x)") + ruleText("p/d", "y = Neg(x)"), {{{"depth", "3"}}, {}});
  EXPECT_EQ(comparePacks(one, one), "");
  EXPECT_EQ(comparePacks(one, two), "~ metadata depth\n~ rule p/b\n- rule p/c\n+ rule p/d\n");
}

}  // namespace
}  // namespace pet::pack_merge_test
