#include <gtest/gtest.h>

#include "applier/match/promise.h"
#include "ir/text.h"
#include "rules/rewrite/bind.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_promise_test {
namespace {

/// A rule of Relu with these conditions; of its symbols N, H and W the first two are the model's batch and seq, unless
/// it is said otherwise.
Rule ruleWith(const std::string& where, const std::string& symbols, const std::string& constraints) {
  Rule rule;
  rule.where = {{"N", parseExpr(where).value()}};
  const RuleSet set = testing_support::rulesOf("pattern p {\n  shape " + symbols + " : " + constraints +
                                               "\n  x: [M, H]\n  y = Relu(x)\n}");
  rule.shapes = set.patterns.at(0).shapes;
  return rule;
}

struct Case {
  const char *where, *constraints, *batch, *promise;
};

const Case kCases[] = {
    {"2M", "1 <= M, 1 <= H", "batch", "batch % 2 == 0"},
    {"6M", "1 <= M, 1 <= H", "4batch", "batch % 3 == 0"},
    {"2M", "1 <= M, 1 <= H", "2batch", ""},     // holds as it is
    {"2M + 1", "1 <= M, 1 <= H", "batch", ""},  // --assume has no odd numbers
    {"2M", "3 <= M, 1 <= H", "batch", "batch % 2 == 0, 6 <= batch"},
    {"M", "1 <= M, 4 <= H", "batch", "4 <= seq"},
    {"M", "1 <= M, H <= M", "batch", "seq <= batch"},
    {"2M", "1 <= M, H <= M", "batch", "batch % 2 == 0, 2seq <= batch"},
    {"2M", "1 <= M, 1 <= H", "7", ""},      // a number that is not even
    {"2M", "1 <= M, H <= 0", "batch", ""},  // which is never so
};

TEST(Promise, IsWhatTheClassLacks) {
  const ModelSizes sizes({{"batch", 1}, {"seq", 1}}, {});
  for (const Case& c : kCases) {
    const Rule rule = ruleWith(c.where, "M H", c.constraints);
    const rewrite::Symbols at{{"N", Dim(parseExpr(c.batch).value())}, {"H", Dim(Expr::variable("seq"))}};
    EXPECT_EQ(promiseFor(rule, at, sizes).value_or(""), c.promise) << c.where << ", " << c.constraints;
  }
}

TEST(Promise, IsOfTheModelsOwnSizes) {
  const Rule rule = ruleWith("2M", "M H", "1 <= M, 1 <= H");
  const rewrite::Symbols at{{"N", Dim(Expr::variable("batch_per_3"))}, {"H", Dim(4)}};
  ModelSizes sizes({{"batch", 1}, {"batch_per_3", 1}}, {});
  EXPECT_TRUE(promiseFor(rule, at, sizes));
  sizes.setParts({{"batch_per_3", {"batch", 3}}});
  EXPECT_FALSE(promiseFor(rule, at, sizes)) << "nobody knows that name";
  EXPECT_FALSE(promiseFor(rule, {{"N", Dim(Expr::variable("other"))}, {"H", Dim(4)}}, sizes));
}

}  // namespace
}  // namespace pet::applier_promise_test
