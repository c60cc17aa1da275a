#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/expr.h"
#include "rules/pack/timings.h"
#include "rules/surroundings.h"

namespace pet::tool {

/// A rule at a site of a model, as pet-tune --points reads it.
struct RulePoint {
  std::string rule;  ///< its name
  Bindings shapes;   ///< the pattern's symbols
  Surroundings beside = {};
  int opset = kUsualOpset;  ///< the model's
  friend bool operator==(const RulePoint&, const RulePoint&) = default;
};

/// JSON lines: {"rule": "conv/winograd-2-3", "shapes": {"N": 1, …}, "place": "between", "opset": 17}.
std::string print(const std::vector<RulePoint>& points);
/// The same; place and opset may be left out. kUsage, with file:line: a line is something else.
Expected<std::vector<RulePoint>> parsePoints(std::string_view text, const std::string& file);

}  // namespace pet::tool
