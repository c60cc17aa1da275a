#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "applier/onnx/graph.h"
#include "rules/rule.h"

namespace pet {

/// Bytes of weights that are not worth counting.
inline constexpr double kSmallWeights = 1 << 20;

/// How far rounding may take a result, relative to the largest one, for each type that pet computes with.
using ErrorLimits = std::map<ElementType, double>;
inline const ErrorLimits kErrorLimits{{ElementType::kDouble, 1e-4},
                                      {ElementType::kFloat, 1e-4},
                                      {ElementType::kFloat16, 0.01},
                                      {ElementType::kBfloat16, 0.05}};

/// Which candidates are wanted.
struct Policy {
  std::vector<std::string> sites;       ///< by name, if given
  std::vector<std::string> only, skip;  ///< rules by name; * and ? as in a shell
  bool all = false;                     ///< whatever the gain
  double minGain = 1.05;                ///< the least ratio that counts as a gain
  double maxGrowth = 4;                 ///< so many times as large may a site's weights become, and kSmallWeights more
  bool unbounded = false;               ///< rules whose rounding is unbounded, too
  ErrorLimits maxRelativeError = kErrorLimits;   ///< no rules whose kappa times the unit roundoff is more
  ElementType computedIn = ElementType::kFloat;  ///< what the engine rounds floats to: computedAt()
  std::string whyNotConditioned = {};            ///< if given: no rules that are `conditioned`, for this reason
  bool isMeasured = false;                       ///< what is chosen is timed on an engine, which has the last word
};

/// The type whose roundings those of floats are at an engine's precision: "tf32" has the digits of fp16.
ElementType computedAt(std::string_view precision);
/// The relative error that a rule may add where values of this type are computed; 0 for most.
double relativeError(const Numerics& numerics, ElementType type);

/// The text is described by the pattern, in which * stands for any text and ? for any character.
bool matchesGlob(std::string_view text, std::string_view pattern);
bool matchesAny(std::string_view text, const std::vector<std::string>& patterns);

}  // namespace pet
