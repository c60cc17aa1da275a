#include <gtest/gtest.h>

#include "applier/view/model_sizes.h"
#include "applier/view/sample_sizes.h"
#include "ir/text.h"
#include "rules/rewrite/bind.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_sizes_test {
namespace {

Constraint constraint(const std::string& text) {
  auto set =
      parseRules("pattern p {\n  shape batch seq H : " + text + "\n  x: [batch, seq, H]\n  y = Relu(x)\n}", "test");
  if (!set) throw std::runtime_error(set.error().message());
  return set->patterns[0].shapes.constraints.at(0);
}

const ModelSizes kPositive({{"batch", 1}, {"seq", 1}, {"H", 1}}, {});

TEST(ModelSizes, ImpliesWhatHoldsForAllSizes) {
  for (const char* text : {"1 <= batch", "2 <= batch + seq", "0 <= floor((H - 1)/2)", "floor((H + 1)/2) <= H",
                           "2floor(H/2) <= H", "3 <= 2seq + 4", "batch - 4floor(batch/4) <= 3"}) {
    EXPECT_TRUE(kPositive.implies(constraint(text))) << text;
  }
  for (const char* text :
       {"2 <= batch", "batch <= 64", "batch <= seq", "batch - 2floor(batch/2) = 0", "1 <= floor(H/2)"}) {
    EXPECT_FALSE(kPositive.implies(constraint(text))) << text;
  }
  EXPECT_FALSE(ModelSizes().implies(constraint("1 <= batch"))) << "of which nothing is known";
}

/// What is implied holds at every size of a grid.
TEST(ModelSizes, IsRightAboutSmallSizes) {
  size_t implied = 0;
  for (int64_t a : {-2, -1, 0, 1, 2}) {
    for (int64_t b : {-2, -1, 0, 1, 2}) {
      for (int64_t d : {1, 2, 3}) {
        for (int64_t k : {-3, -1, 0, 1, 3}) {
          Expr batch = Expr::variable("batch"), seq = Expr::variable("seq");
          Constraint c = Constraint::le(0, a * batch + b * floorDiv(2 * seq + k, d) + k);
          if (!kPositive.implies(c)) continue;
          ++implied;
          for (int64_t n = 1; n < 7; ++n) {
            for (int64_t s = 1; s < 7; ++s)
              EXPECT_EQ(c.evaluate({{"batch", n}, {"seq", s}}), true) << c.str() << " at " << n << ", " << s;
          }
        }
      }
    }
  }
  EXPECT_GT(implied, 50U);
}

TEST(ModelSizes, UsesWhatIsPromised) {
  ModelSizes sizes({{"batch", 1}, {"seq", 1}, {"H", 1}},
                   {constraint("seq <= 512"), constraint("H = 4floor(H/4)"), constraint("8 <= batch")});
  for (const char* text : {"seq <= 512", "seq <= 600", "2seq <= 1024", "H = 4floor(H/4)", "3 <= batch", "8 <= batch"})
    EXPECT_TRUE(sizes.implies(constraint(text))) << text;
  for (const char* text : {"seq <= 511", "3seq <= 1535", "9 <= batch", "H = 8floor(H/8)"})
    EXPECT_FALSE(sizes.implies(constraint(text))) << text;
  EXPECT_TRUE(sizes.isAdmissible({{"batch", 8}, {"seq", 512}, {"H", 4}}));
  EXPECT_FALSE(sizes.isAdmissible({{"batch", 8}, {"seq", 513}, {"H", 4}}));
  EXPECT_FALSE(sizes.isAdmissible({{"batch", 7}, {"seq", 5}, {"H", 4}}));
}

TEST(ModelSizes, SpreadsFromTheLeastToTheLargestSample) {
  auto of = [](std::initializer_list<int64_t> sizes) {
    std::vector<Bindings> all;
    for (int64_t size : sizes)
      all.push_back({{"batch", size}});
    return all;
  };
  ModelSizes sizes = kPositive;
  for (const auto& [samples, spread] : {std::pair{of({1, 2, 8, 16, 32}), of({1, 8, 32})},
                                        {of({1, 8}), of({1, 8})},
                                        {of({4}), of({4})},
                                        {of({}), of({})}}) {
    sizes.setSamples(samples);
    EXPECT_EQ(sizes.spread(), spread);
  }
  sizes.setParts({{"seq_per_16", {"seq", 16}}});
  EXPECT_EQ(sizes.inModel({{"batch", 2}, {"seq_per_16", 3}}), (Bindings{{"batch", 2}, {"seq", 48}}));
}

TEST(ModelSizes, ImpliesWhatIsAtLeastWhatIsPromised) {
  const Expr half = floorDiv(Expr::variable("seq"), 2);
  const ModelSizes sizes({{"seq", 1}}, {Constraint::le(3, half)});
  EXPECT_TRUE(sizes.implies(Constraint::le(3, half)));
  EXPECT_TRUE(sizes.implies(Constraint::le(1, half)));
  EXPECT_TRUE(sizes.implies(Constraint::le(3, half + Expr::variable("seq"))));
  EXPECT_FALSE(sizes.implies(Constraint::le(4, half)));
  EXPECT_FALSE(sizes.isAdmissible({{"seq", 5}}));
}

/// d1 is 3 seq, d2 half of it, if seq is even.
TEST(ModelSizes, EvaluatesWhatSymbolsStandFor) {
  ModelSizes sizes;
  sizes.setParts({{"seq_per_2", {"seq", 2}}, {"d1_per_6", {"d1", 6}}});
  sizes.setOperations({
      {"d1", [](const Bindings& of) { return std::optional(3 * of.at("seq")); }},
      {"d2", [](const Bindings& of) { return of.at("d1") % 2 ? std::nullopt : std::optional(of.at("d1") / 2); }},
  });
  Bindings even{{"seq_per_2", 4}, {"d1_per_6", 1}, {"d2", 1}};
  sizes.evaluateOperations({"seq_per_2", "d1_per_6", "d2"}, even);
  EXPECT_EQ(even, (Bindings{{"seq_per_2", 4}, {"d1_per_6", 4}, {"d2", 12}}));
  sizes.setParts({});
  Bindings odd{{"seq", 3}, {"d2", 7}};
  sizes.evaluateOperations({"seq", "d2"}, odd);
  EXPECT_EQ(odd, (Bindings{{"seq", 3}, {"d2", 7}})) << "d1 is no symbol of the view, d2 has no value";
}

View viewOf(const std::string& text) {
  return testing_support::newView(testing_support::parsed(text));
}

TEST(SampleSizes, AreThoseAtWhichTheModelRuns) {
  View view = viewOf("x: [batch, 3, H, W]  y = MaxPool(x) kernel_shape=[40, 40]");
  ModelSizes sizes({{"batch", 1}, {"H", 1}, {"W", 1}}, {});
  auto samples = sampleSizes(view, sizes, {});
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0], (Bindings{{"H", 128}, {"W", 128}, {"batch", 1}})) << "an image";
  EXPECT_EQ(samples[2], (Bindings{{"H", 640}, {"W", 640}, {"batch", 16}}));
  auto expected = sampleSizes(view, sizes, {{"batch", {2, 8}}, {"H", {100}}});
  ASSERT_EQ(expected.size(), 6U) << "W is small, typical or large";
  EXPECT_EQ(expected[0], (Bindings{{"H", 100}, {"W", 128}, {"batch", 2}}));
  EXPECT_EQ(expected[5], (Bindings{{"H", 100}, {"W", 640}, {"batch", 8}}));
  const View maps = viewOf("x: [batch, 8, H, W]  y = MaxPool(x) kernel_shape=[40, 40]");
  EXPECT_EQ(sampleSizes(maps, sizes, {}).at(0), (Bindings{{"H", 64}, {"W", 64}, {"batch", 1}}))
      << "a window has to fit";
  const View last = viewOf("x: [batch, H, W, 3]  y = Relu(x)");
  EXPECT_EQ(sampleSizes(last, sizes, {}).at(1), (Bindings{{"H", 256}, {"W", 256}, {"batch", 8}}));
  EXPECT_TRUE(sampleSizes(view, sizes, {{"H", {8}}}).empty()) << "too small";
  auto checks = checkSizes(view, sizes);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[1].at("H") % 2, 1);
  EXPECT_NE(checks[1].at("H"), checks[1].at("W"));
  ModelSizes large({{"batch", 1}, {"H", 5000}, {"W", 1}}, {});
  large.setSamples({{{"batch", 1}, {"H", 6000}, {"W", 60}}});
  const int64_t first = checkSizes(view, large).at(0).at("H");
  EXPECT_TRUE(5000 <= first && first <= 5300) << first << " is far from the least";
  EXPECT_EQ(sampleSizes(viewOf("x: [2, 3]  y = Relu(x)"), ModelSizes(), {}), std::vector<Bindings>(1));
}

/// What is expected of each symbol is crossed, the smallest first.
TEST(SampleSizes, AreAllCombinations) {
  View view = viewOf("x: [batch, seq, 8]  y = Relu(x)");
  ModelSizes sizes({{"batch", 1}, {"seq", 1}}, {});
  EXPECT_EQ(sampleSizes(view, sizes, {{"batch", {1, 8}}, {"seq", {128, 256, 512}}}),
            (std::vector<Bindings>{{{"batch", 1}, {"seq", 128}},
                                   {{"batch", 1}, {"seq", 256}},
                                   {{"batch", 1}, {"seq", 512}},
                                   {{"batch", 8}, {"seq", 128}},
                                   {{"batch", 8}, {"seq", 256}},
                                   {{"batch", 8}, {"seq", 512}}}));
}

struct PromiseCase {
  std::string promise;
  std::vector<Bindings> samples, checks;
};

/// A promise moves the sizes at which gains count and at which the check runs.
TEST(SampleSizes, KeepToWhatIsPromised) {
  View view = viewOf("x: [2, seq, 8]  y = Relu(x)");
  auto of = [](std::initializer_list<int64_t> sizes) {
    std::vector<Bindings> all;
    for (int64_t size : sizes)
      all.push_back({{"seq", size}});
    return all;
  };
  for (const PromiseCase& c : std::vector<PromiseCase>{{"1 <= seq", of({16, 64, 256}), of({1, 3})},
                                                       {"300 <= seq", of({300, 600, 1200}), of({300, 301})},
                                                       {"5000 <= seq", of({5000, 10000, 20000}), of({5000, 5001})},
                                                       {"seq <= 40", of({16, 40}), of({1, 3})},
                                                       {"2seq <= 5", of({2}), of({1, 2})},
                                                       {"seq = 17", of({17}), of({17})}}) {
    ModelSizes sizes({{"seq", 1}}, {constraint(c.promise)});
    EXPECT_EQ(sampleSizes(view, sizes, {}), c.samples) << c.promise;
    EXPECT_EQ(checkSizes(view, sizes), c.checks) << c.promise;
  }
}

TEST(BindRule, BindsSymbolsOfAModel) {
  auto set = parseRules(R"(
pattern p { shape N C : 1 <= N
  x: [N, C]
  y = Relu(x) }
rule r of p {
  where N = 2M
  class M C : 1 <= M
  replacement {
    y = Relu(x)
  }
})",
                        "test");
  ASSERT_TRUE(set) << set.error().message();
  const Rule& rule = set->rules[0];
  auto implied = [](const Constraint& c) { return kPositive.implies(c); };
  Expr batch = Expr::variable("batch"), seq = Expr::variable("seq");
  auto even = rewrite::bindRule(rule, {{"N", batch * 2}, {"C", 7}}, implied);
  ASSERT_TRUE(even) << even.error().message();
  EXPECT_EQ(*even, (rewrite::Symbols{{"M", batch}, {"C", 7}}));
  EXPECT_EQ(rewrite::bindRule(rule, {{"N", batch}, {"C", 7}}, implied).error().what, "N is batch, not 2M");
  EXPECT_EQ(rewrite::bindRule(rule, {{"N", batch * 2 - 2}, {"C", 7}}, implied).error().what,
            "1 <= M is not known to hold for all sizes");
  auto program = rewrite::instantiate(set->patterns[0].program, {{"N", Dim::product({batch, seq})}, {"C", 7}});
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(str(program->shape(program->outputs()[0])), "[(batch seq), 7]");
}

}  // namespace
}  // namespace pet::applier_sizes_test
