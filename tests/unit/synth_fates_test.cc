#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/text.h"
#include "synth/judge/filter.h"
#include "synth/synthesize.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_fates_test {
namespace {

using testing_support::convText;
using testing_support::mutantOf;
using testing_support::pattern;

// Quick, and it meets nearly every fate.
const std::string kShortcut = convText("Conv(x, w) strides=[2, 2]", "[F, C, 1, 1]");
const std::string kPointwise = convText("Conv(x, w)", "[F, C, 1, 1]");
const std::string kMatMul = "pattern p { shape B M K N : 1 <= B\n x: [B, M, K]\n w: const [K, N]\n y = MatMul(x, w) }";

Synthesis synthesised(const std::string& patternText, const JudgeOptions& options, const RunOptions& run = {}) {
  auto s = synthesize({pattern(patternText)}, options, run);
  EXPECT_TRUE(s) << (s ? "" : s.error().message());
  return s ? std::move(*s) : Synthesis{};
}

std::string textOf(const Drop& drop) {
  return fmt::format("{}{}{}", dropName(drop.reason), drop.detail.empty() ? "" : ": ", drop.detail);
}

/// "cost: detail" of every plan.
std::map<std::string, std::string> fatesOf(const Synthesis& s) {
  std::map<std::string, std::string> fates;
  for (const CandidateOutcome& c : s.reports.at(0).candidates)
    fates[c.name] = c.drop() ? textOf(*c.drop()) : "kept";
  return fates;
}

std::string textOf(const RuleSet& rules) {
  std::string text;
  for (const Rule& r : rules.rules)
    text += print(r);
  return text;
}

const std::pair<std::string, std::string> kFates[] = {
    {"conv", "identity"},
    {"matmul", "not applicable: the target does not slide"},
    {"h.in2-inner0_conv", "no vote: h: the number of slots is piecewise"},
    {"h.whole_w.whole_conv", "cost: computes much more at all shapes tried"},  // a dense matrix for a shortcut
    {"h.in4-batch-s2_w.in4-batch-s2_conv", "fingerprint"},
    {"h.in2-batch-s2_conv", "no correction: the mismatch covers whole dimensions"},
    {"exchange_conv+offset", "composition: of exchange_conv"},
    {"h.in2-chi-d2_w.in2-chi-d2_matmul",
     "duplicate: of h.in2-chi_w.in2-chi_matmul"},  // with one tap a dilation changes nothing
    {"h.in2-chi_w.in2-chi_matmul", "kept"},
    {"h.in2-chi_w.in2-chi_conv", "kept"},
};

TEST(SynthFates, OneOfEach) {
  auto fates = fatesOf(synthesised(kShortcut, {.check = false}));
  for (const auto& [plan, fate] : kFates) {
    ASSERT_TRUE(fates.contains(plan)) << plan;
    EXPECT_EQ(fates[plan], fate) << plan;
  }
}

/// The unit of a search with this name; a missing one fails the test.
UnitOutcome unitNamed(const Search& search, const std::string& name) {
  for (size_t u = 0; u < search.size(); ++u) {
    if (search.name(u) == name) return search.run(u);
  }
  ADD_FAILURE() << "no unit " << name;
  return {};
}

// A Conv that is a ConvTranspose has pads below the kernel's extent; the ConvTranspose of two images at once has any.
TEST(SynthFates, ACompositionOverMoreShapesIsARule) {
  auto search = Search::create({pattern("convtranspose")}, {});
  ASSERT_TRUE(search) << search.error().message();
  const UnitOutcome outcome = unitNamed(*search, "convtranspose/n.in2-inner0_conv");
  std::set<std::string> kept;
  for (const CandidateOutcome& c : outcome.candidates) {
    if (c.rule()) kept.insert(c.name);
  }
  EXPECT_THAT(kept, testing::ElementsAre("n.in2-inner0_conv", "n.in2-inner0_convtranspose"));
}

TEST(SynthFates, DoNotDependOnThreads) {
  Synthesis one = synthesised(kPointwise, {.check = false}, {.threads = 1}),
            two = synthesised(kPointwise, {.check = false}, {.threads = 2});
  EXPECT_GT(one.rules.rules.size(), 10U);
  EXPECT_EQ(textOf(one.rules), textOf(two.rules));
  EXPECT_EQ(fatesOf(one), fatesOf(two));
}

struct Needed {
  const char* unit;
  int depth;
  Source source;
};
const std::map<std::string, std::vector<Needed>> kNeeded = {
    {"conv",
     {{"exchange_conv", 1, Source::kMoves},                      // a Conv between layouts
      {"rows-as-channels-1", 1, Source::kTemplate},              // and an OffsetReduce, which ends its sum
      {"sum(conv(pieces-2(x)))", 2, Source::kSkeleton},          // Convs and a sum
      {"winograd-2-3", 3, Source::kTemplate}}},                  // a transform, products, a transform
    {"averagepool", {{"matrix-2_matrix-3", 2, Source::kAxes}}},  // a product along each axis
    // As many as the pattern has, in full: Relu, Clip, Mul, Add.
    {"prelu", {{"exchanges", 1, Source::kExchange}}},
};

/// Depth bounds the operators that compute, of what a search proposes by any generator, and nothing else: units are the
/// same at every depth.
TEST(SynthFates, DepthBoundsWhatEveryGeneratorProposes) {
  for (const auto& [name, all] : kNeeded) {
    std::set<size_t> sizes;
    for (int depth = 1; depth <= 4; ++depth) {
      auto search = Search::create({pattern(name)}, {.depth = depth, .check = false});
      ASSERT_TRUE(search) << search.error().message();
      sizes.insert(search->size());
      for (const auto& [unit, needed, source] : all) {
        if (depth > needed) continue;
        const UnitOutcome outcome = unitNamed(*search, fmt::format("{}/{}", name, unit));
        EXPECT_EQ(outcome.source, source) << unit;
        ASSERT_FALSE(outcome.candidates.empty()) << unit;
        auto kept = std::find_if(outcome.candidates.begin(), outcome.candidates.end(),
                                 [](const CandidateOutcome& c) { return c.rule(); });
        const Drop* drop = kept == outcome.candidates.end() ? outcome.candidates[0].drop() : nullptr;
        EXPECT_EQ(drop ? textOf(*drop) : "kept", depth < needed ? "too deep" : "kept") << unit << " " << depth;
      }
    }
    EXPECT_EQ(sizes.size(), 1U) << name;
  }
}

TEST(SynthFates, ABudgetThatIsSpentIsUnknown) {
  auto fates = fatesOf(synthesised(kMatMul, {.operations = 1}));
  EXPECT_EQ(fates.at("b.to0_conv").substr(0, 8), "unknown:") << fates.at("b.to0_conv");
}

TEST(SynthFates, ProgressCountsEveryUnit) {
  std::vector<size_t> done, all;
  auto s = synthesize({pattern(kMatMul)}, {.check = false}, {.threads = 2}, [&](size_t now, size_t of) {
    done.push_back(now);
    all.push_back(of);
  });
  ASSERT_TRUE(s);
  size_t units = Search::create({pattern(kMatMul)}, {})->size();
  ASSERT_GT(units, 10U);
  EXPECT_EQ(all, std::vector<size_t>(units, units));
  for (size_t i = 0; i < done.size(); ++i)
    EXPECT_EQ(done[i], i + 1);
}

TEST(SynthFates, APatternThatNoGeneratorTakesIsAnErrorBeforeAnySearch) {
  size_t searched = 0;
  auto scaled =
      pattern("pattern q { shape N A B\n x: [N, (A B)]\n s: const [(A B)]\n y = LayerNormalization(x, s) axis=1 }");
  auto s = synthesize({pattern(kMatMul), scaled}, {}, {}, [&](size_t, size_t) { ++searched; });
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(s.error().where, "pattern q");
  EXPECT_EQ(searched, 0U);
}

TEST(SynthFates, APatternMayHaveNoRule) {
  auto s = synthesize({pattern("pattern q { shape N\n x: [N]\n y = Relu(x) }")});
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->rules.rules.empty());
}

// --- The filter by itself ---

const std::pair<std::string, std::string> kFilter[] = {
    {"conv", "passes"},
    {"h.in2-chi_w.in2-chi_conv", "passes"},
    {"h.whole_w.whole_matmul", "cost"},
    {"h.in2-batch-s2_conv", "passes"},                      // three rows of five agree
    {"h.in2-batch-s2_w.in2-batch-s2_conv", "fingerprint"},  // nine positions of 25
    {"h.in4-batch-s2_w.in4-batch-s2_conv", "fingerprint"},  // a few
};

TEST(SynthFilter, OnConcreteShapes) {
  for (const auto& [plan, fate] : kFilter) {
    auto m = mutantOf(kShortcut, plan);
    ASSERT_TRUE(m) << plan << ": " << m.error().detail;
    const poly::Context context(m->shapes);
    const PatternInstance source(m->source);
    auto dropped = tooExpensive(context, source, m->program);
    if (!dropped) dropped = differs(context, source, m->program);
    EXPECT_EQ(dropped ? dropName(dropped->reason) : "passes", fate) << plan;
  }
}

TEST(SynthFates, AConvWithTapsThatSeeNothingIsTheOneWithoutThem) {
  EXPECT_EQ(fatesOf(synthesised("conv-beyond", {})), (std::map<std::string, std::string>{{"seeing-taps", "kept"}}));
}

TEST(SynthFilter, AClassWithoutShapesIsEmpty) {
  auto m = mutantOf(kShortcut, "h.in2-chi_w.in2-chi_conv");
  ASSERT_TRUE(m);
  m->shapes.require(Constraint::le(Expr::variable("N"), 0));
  const poly::Context context(m->shapes);
  const PatternInstance source(m->source);
  for (const auto& dropped : {tooExpensive(context, source, m->program), differs(context, source, m->program)}) {
    ASSERT_TRUE(dropped);
    EXPECT_EQ(dropped->reason, DropReason::kEmptyClass);
  }
}

}  // namespace
}  // namespace pet::synth_fates_test
