#pragma once

#include <algorithm>
#include <string>

#include "rules/gain/gain.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

// A rule of a Conv, and samples of it.
namespace pet::gain_support {

inline RuleSet convRules() {
  return parseRules(testing_support::textOf(std::string(PET_SOURCE_DIR) + "/tests/data/conv.pet"), "conv.pet").value();
}

inline const Rule& transposed(const RuleSet& rules) {
  return *std::find_if(rules.rules.begin(), rules.rules.end(),
                       [](const Rule& r) { return r.name == "conv/transposed"; });
}

inline Bindings conv(int64_t channels, int64_t filters, int64_t height, int64_t kernel) {
  return {{"N", 1},      {"C", channels}, {"F", filters},    {"H", height},    {"W", height},
          {"R", kernel}, {"S", kernel},   {"P", kernel / 2}, {"Q", kernel / 2}};
}

inline TimingSample sampleOf(const RuleSet& rules, Bindings shapes, double ratio, double spread = 0.02) {
  const Rule& rule = transposed(rules);
  double work = 1;
  for (const auto& [symbol, value] : shapes)
    work *= symbol == "P" || symbol == "Q" ? 1 : static_cast<double>(value);
  return {.rule = ruleHash(*rules.findPattern(rule.pattern), rule),
          .name = rule.name,
          .device = "cpu",
          .shapes = std::move(shapes),
          .engine = "e",
          .version = "1",
          .isa = "avx512",
          .threads = 1,
          .pattern = work * 1e-11,
          .replacement = work * 1e-11 / ratio,
          .spread = spread,
          .date = "2026-11-21"};
}

}  // namespace pet::gain_support
