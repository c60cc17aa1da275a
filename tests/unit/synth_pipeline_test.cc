#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/denote.h"
#include "ir/text.h"
#include "synth/judge/pipeline.h"
#include "synth/judge/record.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_pipeline_test {
namespace {

using testing_support::convText;
using testing_support::mutantOf;
using testing_support::pattern;

/// The statements as a program with the pattern's inputs, over the pattern's class and what the program demands.
Proposal proposal(const Pattern& p, const std::string& statements) {
  std::string inputs;
  for (Value v : p.program.inputs()) {
    bool constant = p.program.node(v).scalar("constant") == Expr(1);
    inputs += fmt::format("{}: {}{}\n", p.program.name(v), constant ? "const " : "", str(p.program.shape(v)));
  }
  auto program = parseProgram(inputs + statements, "test");
  EXPECT_TRUE(program) << program.error().message();
  Proposal result{.name = "guess", .family = "test", .where = {}, .shapes = p.shapes, .program = *program};
  for (const Constraint& c : obligations(result.program))
    result.shapes.require(c);
  return result;
}

/// "kept", "kept with 2 boxes" or "cost: detail".
std::string textOf(const Judged& judged) {
  if (const auto* drop = std::get_if<Drop>(&judged.verdict))
    return fmt::format("{}{}{}", dropName(drop->reason), drop->detail.empty() ? "" : ": ", drop->detail);
  const auto boxes = std::get<Rule>(judged.verdict).boxes.size();
  return boxes == 0 ? "kept" : fmt::format("kept with {} boxes", boxes);
}

Judged judged(const Pattern& p, const Proposal& proposal, const JudgeOptions& options = {}) {
  return Pipeline(p, options).judge({proposal.name, proposal});
}

// --- Any proposal, whoever makes it, goes the same way ---

struct Case {
  std::string pattern, statements, verdict;
};

const std::string kRelus = "pattern p { shape N M : 1 <= N, 1 <= M\n x: [N, M]\n t = Relu(x)\n y = Relu(t) }";
const std::string kProduct =
    "pattern p { shape M K N : 1 <= M, 1 <= K, 1 <= N\n x: [M, K]\n w: const [K, N]\n y = MatMul(x, w) }";
const std::string kConv = convText("Conv(x, w)", "[F, C, 3, 3]");

const Case kCases[] = {
    {kRelus, "y = Relu(x)", "kept"},
    {kRelus, "u = Relu(x)\n y = Relu(u)", "identity"},  // other names
    {kConv, "y = Conv(x, w) pads=[0, 0, 0, 0]", "identity"},
    {kRelus, "y = Neg(x)", "fingerprint"},  // by doubles: F_p has no order
    {kProduct, "a = Neg(w)\n y = MatMul(x, a)", "fingerprint"},
    {kProduct,
     "a = Transpose(x) perm=[1, 0]\n b = Transpose(w) perm=[1, 0]\n c = MatMul(b, a)\n"
     " y = Transpose(c) perm=[1, 0]",
     "kept"},
    {kProduct,
     "a = MatMul(x, w)\n b = Tanh(a)\n c = Sub(b, b)\n d = Exp(c)\n e = Sub(d, d)\n f = Neg(e)\n y = Add(a, f)",
     "too deep"},
};

TEST(SynthPipeline, JudgesWhateverIsProposed) {
  for (const Case& c : kCases) {
    Pattern p = pattern(c.pattern);
    EXPECT_EQ(textOf(judged(p, proposal(p, c.statements))), c.verdict) << c.statements;
  }
}

TEST(SynthPipeline, AGeneratorMayDropItself) {
  const Candidate none{"guess", tl::unexpected(Drop{DropReason::kNoVote, "why"}), {2}};
  const Judged one = Pipeline(pattern(kRelus), {}).judge(none);
  EXPECT_EQ(textOf(one), fmt::format("{}: why", dropName(DropReason::kNoVote)));
  EXPECT_EQ(one.seconds.build, 2);
}

TEST(SynthPipeline, WhatMustSaveLacksAnOperatorOrComputesLess) {
  Pattern p = pattern(kProduct);
  Proposal moved = proposal(p, "a = Transpose(x) perm=[1, 0]\n b = Transpose(a) perm=[1, 0]\n y = MatMul(b, w)");
  EXPECT_EQ(textOf(judged(p, moved)), "kept");
  moved.mustSave = true;
  EXPECT_EQ(textOf(judged(p, moved)), "cost: computes more at all shapes");
  Pattern relus = pattern(kRelus);
  Proposal one = proposal(relus, "y = Relu(x)");
  one.mustSave = true;
  EXPECT_EQ(textOf(judged(relus, one)), "kept");
}

/// Not only plans: a proposal that does not say where its layouts begin is corrected behind them.
TEST(SynthPipeline, CorrectsWhoeverProposes) {
  Pattern p = pattern(convText("Conv(x, w) pads=[P, Q, P, Q]"));
  auto m = mutantOf(convText("Conv(x, w) pads=[P, Q, P, Q]"), "n.in2-outer1_conv");
  ASSERT_TRUE(m);
  Proposal proposed{.name = "guess",
                    .family = "test",
                    .where = m->where,
                    .shapes = m->shapes,
                    .program = m->program,
                    .main = m->main};
  EXPECT_EQ(textOf(judged(p, proposed)), "kept with 2 boxes");
  proposed.main = std::nullopt;
  EXPECT_EQ(textOf(judged(p, proposed)), "kept with 2 boxes");
}

/// Where no strips mend it, the class is made smaller, as long as it holds usual shapes: a pad is usually 1, T is
/// then 1.
TEST(SynthPipeline, RestrictsTheClassToUsualShapes) {
  for (const auto& [pad, verdict] : {std::pair("T - 1", "kept"), {"T", "no correction: wrong at borders"}}) {
    Pattern p = pattern(
        fmt::format("pattern p {{ shape N W T : 1 <= N, 1 <= W, 1 <= T\n x: [N, W]\n t = Pad(x) pads=[0, {}, 0, 0]\n"
                    " y = Exp(t) }}",
                    pad));
    const Judged one = judged(p, proposal(p, fmt::format("a = Exp(x)\n y = Pad(a) pads=[0, {}, 0, 0]", pad)));
    EXPECT_EQ(textOf(one), verdict) << pad;
    if (!one.isRule()) continue;
    const ShapeClass& shapes = std::get<Rule>(one.verdict).shapes;
    EXPECT_TRUE(shapes.contains({{"N", 2}, {"W", 3}, {"T", 1}}));
    EXPECT_FALSE(shapes.contains({{"N", 2}, {"W", 3}, {"T", 2}}));
  }
}

// --- The last step ---

TEST(SynthPipeline, TheCheckerHasTheLastWord) {
  Pattern p = pattern(kConv);
  auto m = mutantOf(kConv, "convtranspose");
  ASSERT_TRUE(m);
  const Proposal proposed{.name = "guess", .family = "test", .where = {}, .shapes = m->shapes, .program = m->program};
  const Judged one = judged(p, proposed, {.check = false});
  ASSERT_TRUE(one.isRule()) << textOf(one);
  EXPECT_EQ(one.seconds.check, 0);
  Rule rule = std::get<Rule>(one.verdict);
  EXPECT_EQ(objectionOfChecker(p, rule), "");
  Rule damaged = rule;
  damaged.proofs.at(0).backward.clear();
  EXPECT_NE(objectionOfChecker(p, damaged), "");
  Rule bold = rule;
  bold.numerics = {Numerics::Kind::kBitEqual, 1, false};
  EXPECT_NE(objectionOfChecker(p, bold), "");
}

}  // namespace
}  // namespace pet::synth_pipeline_test
