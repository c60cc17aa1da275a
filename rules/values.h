#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// What a pattern asks of values that a model has as constants, as its statements say it: constants that are made of
/// others by more than a rearrangement ("s = Clip(w) min=0 max=1": a slope from 0 to 1), tables of positions and
/// exponents, which ONNX has as tensors; then "any 0.2 > 0" of numbers that stand for others. The rule holds for models
/// that have such values. Empty: it holds whatever they are.
std::vector<std::string> valuesAsked(const Pattern& pattern);

}  // namespace pet
