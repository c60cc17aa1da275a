#pragma once

#include <functional>
#include <string>
#include <vector>

#include "applier/measure/turns.h"
#include "applier/onnx/model.h"
#include "ir/progress.h"

namespace pet {

/// A model as it would be written.
struct Variant {
  Model model;
  std::vector<std::string> rules;  ///< that fired, each once
};
/// What `progress` is told; how far it is, who times has to tell.
inline constexpr std::string_view kTimingWhole = "timing the whole model";

/// The model without these rules.
using MakeVariant = std::function<Expected<Variant>(const std::vector<std::string>& without)>;

/// Sizes at which whole models are timed.
struct TimedSizes {
  std::string text;     ///< timedAtText()
  OpenExtents extents;  ///< of the model's inputs
};

/// Times the whole model as it would be written, and without each of the rules that fired, at each of `sizes`, of which
/// there is one at least. The rules to leave out: those without which it is faster at some size, beyond noise, or all
/// of them ("*") where it is not faster than the original at some size. Sites that gain by themselves can still lose in
/// the whole: caches and the engine's own fusions are shared. `progress` may be null; `lines` get what was timed.
Expected<std::vector<std::string>> rulesThatLose(const Model& original,
                                                 const MakeVariant& make,
                                                 const std::vector<TimedSizes>& sizes,
                                                 const TimeModels& time,
                                                 const ReportProgress& progress,
                                                 std::vector<Measured>& lines);

}  // namespace pet
