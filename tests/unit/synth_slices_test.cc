// Programs that only move values, as Slices of what they read.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_slices_test {
namespace {

using ::testing::IsEmpty;
using testing_support::pattern;

/// The operators, without inputs; "" where there is no template.
std::string operatorsOf(const std::string& nameOrText, std::vector<Template> (*make)(const Pattern&) = sliceTemplates) {
  std::string names;
  for (const Template& t : make(pattern(nameOrText))) {
    for (const Node& n : t.program.nodes()) {
      if (!n.is(ops::kInput)) names += (names.empty() ? "" : " ") + std::string(n.op->name);
    }
  }
  return names;
}

TEST(Slices, AreWhatTablesThatCountRead) {
  EXPECT_EQ(operatorsOf("gather-columns"), "Slice");
  EXPECT_EQ(operatorsOf("gather-rows"), "Slice");
}

TEST(Slices, AreJoinedWhereTheResultIsCut) {
  EXPECT_EQ(operatorsOf("inside-replaced"), "Slice Slice Slice Concat Slice Concat");
  std::string nine;
  for (int i = 0; i < 9; ++i)
    nine += "Slice Layout ";
  EXPECT_EQ(operatorsOf("unfold-3"), nine + "Concat Layout");
}

TEST(Slices, AreNoneOfOtherPrograms) {
  EXPECT_EQ(operatorsOf("pattern p { shape A B\n x: [A, B]\n y = Relu(x) }"), "");
  EXPECT_EQ(operatorsOf("pattern p { shape A B\n x: [A, B]\n y = Transpose(x) perm=[1, 0] }"), "") << "nothing is cut";
  EXPECT_EQ(operatorsOf("pattern p { shape A B\n x: [A]\n y = IndexMap(x) [a:A, b:B] -> [a] }"), "") << "repeated";
  EXPECT_EQ(operatorsOf("pattern p { shape A\n x: [A, A]\n y = IndexMap(x) [a:A] -> [a, a] }"), "") << "a diagonal";
  EXPECT_EQ(operatorsOf("pattern p { shape A\n x: [A]\n y = IndexMap(x) [a:A] -> [A - 1 - a] }"), "") << "backwards";
  EXPECT_EQ(operatorsOf("pattern p { shape A B\n x: [A + B - 1]\n y = IndexMap(x) [a:A, b:B] -> [a + b] }"), "")
      << "windows of any number";
  EXPECT_EQ(operatorsOf("pattern p { shape A\n x: [A]\n y = IndexMap(x) [a:{A + 1}] -> [a] }"), "") << "and a zero";
  EXPECT_EQ(operatorsOf("merged-patches"), "") << "Slices already";
  EXPECT_EQ(operatorsOf("pattern p { shape A\n x: const [A + 1]\n y = IndexMap(x) [a:A] -> [a] }"), "") << "of weights";
}

TEST(Windows, AreBlocksAsLongAsTheyAreApart) {
  auto blocks = [](const std::string& text) { return operatorsOf(text, windowTemplates); };
  const std::string both = "Slice Layout IndexMap Layout Slice Pad Slice Layout IndexMap Layout Slice";
  EXPECT_EQ(blocks("windows-160"), both);
  auto of = [](const std::string& map) {
    return "pattern p { shape N L K F W : 3F + W <= L + 3, 4 <= W\n x: [N, L, K]\n y = IndexMap(x) " + map + " }";
  };
  EXPECT_EQ(blocks(of("[n:N, f:F, w:W, k:K] -> [n, 3f + w, k]")), both);
  EXPECT_EQ(blocks(of("[n:N, f:F, w:W, k:K] -> [n, f + w, k]")), "") << "one apart";
  EXPECT_EQ(blocks(of("[n:N, f:F, w:W, k:K] -> [n, 3f + w + 1, k]")), "") << "not from the first on";
  EXPECT_EQ(blocks(of("[n:N, f:F, w:{floor((W)/2)}, k:K] -> [n, 3f + 2w, k]")), "") << "with gaps";
  EXPECT_EQ(blocks(of("[n:N, w:W, f:F, k:K] -> [n, 3f + w, k]")), "") << "in another order";
  EXPECT_EQ(blocks("gather-rows"), "");
}

TEST(Steps, ArePartsOfTheInnerDigit) {
  auto parts = [](const std::string& text) { return operatorsOf(text, stepTemplates); };
  EXPECT_EQ(parts("every-other"), "Layout Split Squeeze Squeeze");
  const std::string third = "pattern p { shape A B\n x: [A, 3B]\n y = Slice(x) axes=[1] ";
  EXPECT_EQ(parts(third + "starts=[2] ends=[3B] steps=[3] }"), "Layout Split Squeeze");
  EXPECT_EQ(parts(third + "starts=[3] ends=[3B] steps=[3] }"), "") << "one less";
  EXPECT_EQ(parts(third + "starts=[0] ends=[3B] steps=[2] }"), "") << "no divisor";
  EXPECT_EQ(parts(third + "starts=[0] ends=[3B - 3] steps=[3] }"), "") << "not to the end";
  EXPECT_EQ(parts(third + "starts=[0] ends=[3B] steps=[1] }"), "") << "all";
}

TEST(Phases, ThatAreJoinedAreRegrouped) {
  auto regrouped = [](const std::string& text) { return operatorsOf(text, phaseTemplates); };
  EXPECT_EQ(regrouped("merged-patches"), "Layout");
  const std::string head = "pattern p { shape A B C\n x: [A, 2B, 3C]\n";
  auto slice = [](const std::string& name, int along, int phase, int step, const std::string& end) {
    return " " + name + " = Slice(x) axes=[" + std::to_string(along) + "] starts=[" + std::to_string(phase) +
           "] ends=[" + end + "] steps=[" + std::to_string(step) + "]\n";
  };
  const std::string thirds = slice("a", 2, 0, 3, "3C") + slice("b", 2, 1, 3, "3C") + slice("c", 2, 2, 3, "3C");
  EXPECT_EQ(regrouped(head + thirds + " y = Concat(a, b, c) axis=0 }"), "Layout");
  EXPECT_EQ(regrouped(head + thirds + " y = Concat(a, c, b) axis=0 }"), "") << "in another order";
  EXPECT_EQ(regrouped(head + thirds + " y = Concat(a, b) axis=0 }"), "") << "one is missing";
  EXPECT_EQ(regrouped(head + thirds + " y = Concat(a, b, c) axis=2 }"), "") << "along the same dimension";
  const std::string fewer =
      slice("a", 2, 0, 3, "3C - 3") + slice("b", 2, 1, 3, "3C - 3") + slice("c", 2, 2, 3, "3C - 3");
  EXPECT_EQ(regrouped(head + fewer + " y = Concat(a, b, c) axis=0 }"), "") << "not to the end";
  EXPECT_EQ(regrouped("pattern p { shape A B\n x: [A, 2B]\n z: [A, 2B]\n"
                      " a = Slice(x) axes=[1] starts=[0] ends=[2B] steps=[2]\n"
                      " b = Slice(z) axes=[1] starts=[1] ends=[2B] steps=[2]\n y = Concat(a, b) axis=0 }"),
            "")
      << "of two inputs";
  EXPECT_EQ(regrouped("pattern p { shape A B\n x: [A, B]\n y = Relu(x) }"), "");
}

TEST(Slices, HaveSteps) {
  const auto templates = sliceTemplates(pattern("pattern p { shape A\n x: [2A]\n y = IndexMap(x) [a:A] -> [2a + 1] }"));
  ASSERT_EQ(templates.size(), 1U);
  const Node& slice = templates[0].program.node(templates[0].program.outputs()[0]);
  EXPECT_EQ(slice.list("starts"), std::vector<Expr>{1});
  EXPECT_EQ(slice.list("steps"), std::vector<Expr>{2});
}

}  // namespace
}  // namespace pet::synth_slices_test
