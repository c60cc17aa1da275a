#include <algorithm>

#include <gtest/gtest.h>

#include "synth/cover/known_equations.h"
#include "synth/judge/decide.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/rewrite_support.h"
#include "tests/unit/text_file.h"

namespace pet::rewrite_property_test {
namespace {

using rewrite::Equation;

/// What is proved in tests/prove, by file.
std::vector<Equation> provedEquations() {
  std::vector<Equation> result;
  for (const auto& file : testing_support::proveCases()) {
    std::string text = testing_support::textOf(file.string());
    if (text.find("# expect: proved\n") == std::string::npos) continue;
    RuleSet set = testing_support::ruleSet(text);
    auto e = rewrite::equationOf(set.patterns.at(0), set.rules.at(0));
    EXPECT_TRUE(e) << file;
    e->name = file.stem();
    result.push_back(std::move(*e));
  }
  return result;
}

/// One rewrite of one case by another.
struct Rewritten {
  Equation step;
  std::string by;
};

std::vector<Rewritten> rewrittenCases() {
  std::vector<Equation> cases = provedEquations();
  EXPECT_GT(cases.size(), 200U);
  cover::KnownEquations known;
  for (const Equation& e : cases)
    known.add(e);
  std::vector<Rewritten> result;
  for (const Equation& e : cases) {
    cover::ClassFacts facts(e.shapes);
    auto implied = [&](const Constraint& c) { return facts.implies(c); };
    for (const Program* side : {&e.left, &e.right}) {
      rewrite::Terms terms(*side);
      auto outputs = terms.add(*side, terms.inputs());
      for (const auto& use : known.candidates(terms, {terms, *outputs})) {
        const Equation& law = known.all()[use.equation];
        if (law.name == e.name) continue;
        for (const rewrite::Rewrite& r : rewrite::rewrites(terms, {terms, *outputs}, law, use.direction, implied)) {
          if (r.outputs != *outputs)
            result.push_back({{e.name, terms.extract(*outputs), terms.extract(r.outputs), e.shapes}, law.name});
        }
      }
    }
  }
  return result;
}

TEST(RewriteProperty, WhatOneProvedCaseMakesOfAnotherIsProved) {
  std::vector<Rewritten> all = rewrittenCases();
  EXPECT_GT(all.size(), 500U);
  size_t unknown = 0;
  // To take a second or two. Of all of them 25 are unknown: 22 put in a partial function that the law's other side has
  // no more; the others are -inf in a product, twice, and a sum of very many products.
  constexpr size_t kStride = 7;
  for (size_t i = 0; i < all.size(); i += kStride) {
    rewrite::Claim claim = rewrite::claimOf(all[i].step);
    Decision d = decide(claim.pattern, claim.rule);
    const Unknown* u = std::get_if<Unknown>(&d);
    unknown += u && u->reason.find("may have no value where the pattern has one") == std::string::npos;
    EXPECT_TRUE(std::holds_alternative<Proved>(d) || std::holds_alternative<Unknown>(d))
        << all[i].step.name << " by " << all[i].by << "\n"
        << print(claim.pattern) << print(claim.rule) << explain(d);
  }
  EXPECT_LE(unknown, 3U);
}

}  // namespace
}  // namespace pet::rewrite_property_test
