#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/text.h"
#include "synth/analysis/axes.h"
#include "synth/propose/plans/plan.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/text_file.h"

namespace pet::testing_support {

/// "conv": a canonical pattern by its name; else the text of one.
inline Pattern pattern(const std::string& nameOrText) {
  bool text = nameOrText.find('{') != std::string::npos;
  std::string path = std::string(PET_SOURCE_DIR) + "/rules/patterns/" + nameOrText + ".pet";
  auto set = parseRules(text ? nameOrText : textOf(path), "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return set && set->patterns.size() == 1 ? set->patterns[0] : Pattern();
}

inline std::vector<std::string> namesOf(const std::vector<Template>& templates) {
  std::vector<std::string> names;
  for (const Template& t : templates)
    names.push_back(t.name);
  return names;
}

/// A pattern of x: [N, C, H, W] and w with the given statement and shapes.
inline std::string convText(const std::string& statement,
                            const std::string& w = "[F, C, R, S]",
                            const std::string& x = "[N, C, H, W]") {
  return "pattern p { shape N C H W F R S P Q G : 1 <= R, 1 <= S, 0 <= P, 0 <= Q, 1 <= G\n x: " + x + "\n w: const " +
         w + "\n y = " + statement + " }";
}

/// The plan of a name; a missing one fails the test.
inline std::optional<Plan> planNamed(const MainOperator& op, const std::string& name) {
  for (const Plan& p : enumeratePlans(op)) {
    if (planName(op, p) == name) return p;
  }
  ADD_FAILURE() << "no plan " << name;
  return std::nullopt;
}

/// What a plan makes of a pattern.
inline tl::expected<Mutant, PlanFailure> mutantOf(const std::string& nameOrText, const std::string& planName) {
  Pattern p = pattern(nameOrText);
  auto op = analyse(p.program);
  EXPECT_TRUE(op) << nameOrText;
  auto plan = op ? planNamed(*op, planName) : std::nullopt;
  if (!plan) return tl::unexpected(PlanFailure{PlanFailure::Why::kNotApplicable, "no plan"});
  VoteTable votes;
  return buildMutant(p, *op, *plan, votes);
}

}  // namespace pet::testing_support
