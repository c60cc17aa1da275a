#include <gtest/gtest.h>

#include "tools/tune/jobs.h"

namespace pet::tune_jobs_test {
namespace {

TEST(TuneJobs, RulesThatRoundTooMuchAtADevicesPrecisionAreLeftOut) {
  struct Case {
    const char* device;
    Numerics::Kind kind;
    double kappa;
    bool isTooMuch;
  };
  constexpr auto kConditioned = Numerics::Kind::kConditioned;
  for (const Case& c :
       {Case{"ort-cpu", kConditioned, 1000, false}, Case{"cuda:h100", kConditioned, 1000, false},
        Case{"cuda:h100:tf32", kConditioned, 16, false}, Case{"cuda:h100:tf32", kConditioned, 32, true},
        Case{"cuda:h100:fp16", kConditioned, 32, true}, Case{"cuda:0:bf16", kConditioned, 16, true},
        Case{"cuda:0:bf16", kConditioned, 8, false}, Case{"cuda:h100:tf32", Numerics::Kind::kSameTerms, 1000, false}}) {
    Rule rule;
    rule.numerics = {.kind = c.kind, .kappa = c.kappa};
    tune::Options options;
    options.device = c.device;
    EXPECT_EQ(tune::roundsTooMuch(rule, options), c.isTooMuch) << c.device << " " << c.kappa;
  }
}

}  // namespace
}  // namespace pet::tune_jobs_test
