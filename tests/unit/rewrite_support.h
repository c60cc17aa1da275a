#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/rewrite/match.h"
#include "rules/text.h"

namespace pet::testing_support {

/// A pattern `name` and the rule `name`/r of it, over the class of a line "M N : 1 <= M".
inline std::string ruleText(const std::string& name,
                            const std::string& shapes,
                            const std::string& inputs,
                            const std::string& left,
                            const std::string& right,
                            const std::string& patternShapes = "") {
  const std::string& own = patternShapes.empty() ? shapes : patternShapes;
  return fmt::format(
      "pattern {0} {{\nshape {1}\n{3}{4}}}\nrule {0}/r of {0} {{\nclass {2}\nreplacement {{\n{5}}}\n}}\n", name, own,
      shapes, inputs, left, right);
}

inline RuleSet ruleSet(const std::string& text) {
  auto set = parseRules(text, "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message()) << "\n" << text;
  return set ? std::move(*set) : RuleSet();
}

inline rewrite::Equation equation(const std::string& shapes,
                                  const std::string& inputs,
                                  const std::string& left,
                                  const std::string& right) {
  RuleSet set = ruleSet(ruleText("p", shapes, inputs, left, right));
  auto e = rewrite::equationOf(set.patterns.at(0), set.rules.at(0));
  EXPECT_TRUE(e) << (e ? "" : e.error().message());
  return *e;
}

/// "a = Relu(x); b = Neg(a)".
inline std::string oneLine(const Program& p) {
  std::string text = printStatements(p, ""), line;
  for (char c : text.substr(0, text.size() - 1))
    line += c == '\n' ? "; " : std::string(1, c);
  return line;
}

}  // namespace pet::testing_support
