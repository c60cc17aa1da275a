// Rules with several outputs on random models: whichever sites are rewritten, in however many rounds, the values stay.

#include <algorithm>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "applier/apply.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/least_share.h"
#include "tests/unit/random_programs.h"

namespace pet::applier_branches_test {
namespace {

using namespace testing_support;

/// Products with one left side, whatever the right ones depend on.
const char* const kProducts = R"(
pattern products {
  shape M K A B
  w: const [M, K]
  a: [K, A]
  b: [K, B]
  y = MatMul(w, a)
  z = MatMul(w, b)
  return y, z
}
rule products/merged of products {
  depth 1
  class M K A B : 1 <= M, 1 <= K, 1 <= A, 1 <= B
  replacement {
    c = Concat(a, b) axis=1
    t = MatMul(w, c)
    y, z = Split(t) axis=1 split=[A, B]
  }
})";

/// Matrices of 3 x 3 from each other: products with one of two weights, sums, functions.
std::string randomModel() {
  std::vector<std::string> values{"x"};
  std::string text = "x: [3, 3]  v: const [3, 3]  w: const [3, 3]  ";
  for (int64_t n = draw(3, 12), i = 0; i < n; ++i) {
    std::string name = "t" + std::to_string(i), from = drawFrom(values);
    text += name + " = ";
    switch (draw(0, 4)) {
      case 0:
        text += "Relu(" + from + ")  ";
        break;
      case 1:
        text += "Add(" + from + ", " + drawFrom(values) + ")  ";
        break;
      default:
        text += "MatMul(" + drawFrom<std::string>({"v", "w"}) + ", " + from + ")  ";
    }
    values.push_back(name);
  }
  text += "return " + values.back();
  for (size_t i = 1; i + 1 < values.size(); ++i) {
    if (draw(0, 3) == 0) text += ", " + values[i];
  }
  return text;
}

struct Fired {
  static constexpr int kLeastPercent = 30;
  static constexpr const char* kWhat = "have a site where the rule fires";
};
using BranchesProperty = testing_support::LeastShare<Fired>;

RC_GTEST_FIXTURE_PROP(BranchesProperty, RewrittenModelsComputeTheSame, ()) {
  std::string text = randomModel();
  RC_LOG() << text << "\n";
  Model model = modelOf(text);
  RuleSet rules = rulesOf(kProducts);
  Costs costs = costsOf({{"products/merged", ratioOf(1.5, 1.4)}});
  for (bool all : {true, false}) {
    ApplyOptions options;
    options.policy.all = all;
    options.check = ApplyOptions::Check::kNone;  // it is done here
    auto applied = apply(model, rules, costs, options);
    RC_ASSERT(applied.has_value());
    auto rewritten = parseModel(bytesOf(*applied), "rewritten");
    RC_ASSERT(rewritten.has_value());
    RC_ASSERT(results(rewritten->graph) == results(model.graph));
    count(!applied->report.fired.empty());
    RC_CLASSIFY(applied->report.fired.size() > 1, all ? "fired twice" : "fired twice by gain");
    RC_CLASSIFY(
        std::any_of(applied->report.refused.begin(), applied->report.refused.end(),
                    [](const Refused& r) { return r.reason.detail.find("need each other") != std::string::npos; }),
        "sites that need each other");
  }
}

}  // namespace
}  // namespace pet::applier_branches_test
