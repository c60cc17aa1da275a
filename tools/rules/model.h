#pragma once

#include <string>

#include "rules/rule.h"

namespace pet::rules {

/// An ONNX model of the rule's pattern, at a small shape of the rule's class: no extent is 1 where that can be avoided,
/// and boxes hold positions where they can; in the least opset from 18 on that has the replacement's operators.
/// kUnsupported: the class has no small shape, or ONNX has no such operator.
Expected<void> writeModelOf(const Pattern& pattern, const Rule& rule, const std::string& path);

}  // namespace pet::rules
