#include <gtest/gtest.h>

#include "ir/text.h"
#include "synth/select.h"
#include "tests/unit/synth_support.h"

namespace pet {
namespace {

Program program(const std::string& statements) {
  auto p = parseProgram(
      "x: [N, C, H, W]\n w: const [F, C, 3, 3]\n v: const [F, C, 3, 3]\n k: const [C, F, 3, 3]\n" + statements, "test");
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return *p;
}

// --- Programs that are the same but for names ---

struct Pair {
  std::string a, b;
  bool same;
};

const Pair kPairs[] = {
    {"y = Conv(x, w)", "z = Conv(x, w)", true},
    {"a = Relu(x)\n y = Conv(a, w)", "v0 = Relu(x)\n a = Conv(v0, w)", true},
    {"a = Relu(x)\n y = Conv(a, w)", "a = Relu(x)\n y = Conv(x, w)", false},
    {"y = Conv(x, w)", "y = Conv(x, v)", false},  // inputs keep their names
    {"y = Conv(x, w)", "y = Conv(x, w) pads=[1, 1, 1, 1]", false},
    {"y = Conv(x, w) pads=[0, 0, 0, 0]", "y = Conv(x, w)", true},  // the default
    {"y = Conv(x, w)", "y = ConvTranspose(x, k)", false},
    {"a = Relu(x)\n b = Neg(x)\n y = Add(a, b)", "b = Relu(x)\n a = Neg(x)\n y = Add(b, a)", true},
    {"a = Relu(x)\n b = Neg(x)\n y = Add(a, b)", "a = Relu(x)\n b = Neg(x)\n y = Add(b, a)", false},
};

TEST(SynthSelect, CanonicalTextIsBlindToNames) {
  for (const Pair& c : kPairs)
    EXPECT_EQ(canonicalText(program(c.a)) == canonicalText(program(c.b)), c.same) << c.a << "\n" << c.b;
}

// --- Duplicates ---

Candidate candidate(const std::string& statements, Fate fate = Fate::kKept) {
  Candidate c;
  c.fate = fate;
  c.rule.replacement = program(statements);
  return c;
}

TEST(SynthSelect, OneOfEqualProgramsIsKept) {
  std::vector<Candidate> all;
  all.push_back(candidate("y = Conv(x, w)"));
  all.push_back(candidate("y = Neg(x)", Fate::kUnknown));  // has no rule, so it takes no place
  all.push_back(candidate("y = Neg(x)"));
  all.push_back(candidate("z = Neg(x)"));
  all.push_back(candidate("z = Conv(x, w)"));
  all.push_back(candidate("q = Neg(x)"));
  Duplicates duplicates;
  duplicates.drop({0, 1, 2, 3}, all);
  EXPECT_EQ(all[4].fate, Fate::kKept);  // was not asked for
  duplicates.drop({4, 5}, all);         // remembers the first call
  std::vector<Fate> fates;
  fates.reserve(all.size());
  for (const Candidate& c : all)
    fates.push_back(c.fate);
  EXPECT_EQ(fates, (std::vector<Fate>{Fate::kKept, Fate::kUnknown, Fate::kKept, Fate::kDuplicate, Fate::kDuplicate,
                                      Fate::kDuplicate}));
}

// --- Compositions ---

struct Smaller {
  std::string pattern, plan, smaller;  ///< "" where there is none
};

const Smaller kSmaller[] = {
    {"conv", "conv", ""},
    {"conv", "convtranspose", "conv"},
    {"conv", "conv+offset", "conv"},
    {"conv", "matmul+offset", "conv"},
    {"conv", "matmul", ""},  // a Conv is no MatMul in general: nothing to compose
    {"conv", "exchange_convtranspose", "exchange_conv"},
    {"conv", "n.in2-outer1_conv", ""},
    {"conv", "n.in2-outer1_conv+offset", "n.in2-outer1_conv"},
    {"conv", "h.in2-chi-s2_w.in2-chi-s2_convtranspose", "h.in2-chi-s2_w.in2-chi-s2_conv"},
    {"conv-1x1", "matmul-left", ""},
    {"matmul", "k.pad4_convtranspose", "k.pad4_conv"},
};

TEST(SynthSelect, ThePlanThatAnotherFollowsFrom) {
  for (const Smaller& c : kSmaller) {
    auto op = analyse(testing_support::pattern(c.pattern).program);
    ASSERT_TRUE(op);
    auto plans = enumeratePlans(*op);
    auto smaller = smallerPlans(plans);
    ASSERT_EQ(smaller.size(), plans.size());
    size_t found = 0;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (planName(*op, plans[i]) != c.plan) continue;
      ++found;
      EXPECT_EQ(smaller[i] ? planName(*op, plans[*smaller[i]]) : "", c.smaller) << c.pattern << "/" << c.plan;
    }
    EXPECT_EQ(found, 1U) << c.pattern << "/" << c.plan;
  }
}

}  // namespace
}  // namespace pet
