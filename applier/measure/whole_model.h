#pragma once

#include <functional>
#include <string>
#include <vector>

#include "applier/measure/turns.h"
#include "ir/progress.h"

namespace pet {

/// A model as it would be written.
struct Variant {
  std::string bytes;
  std::vector<std::string> rules;  ///< that fired, each once
};
/// What `progress` is told; how far it is, who times has to tell.
inline constexpr std::string_view kTimingWhole = "timing the whole model";

/// The model without these rules.
using MakeVariant = std::function<Expected<Variant>(const std::vector<std::string>& without)>;

/// Times the whole model as it would be written, and without each of the rules that fired. The rules to leave out:
/// those without which it is faster beyond noise, or all of them ("*") where it is not faster than the original. Sites
/// that gain by themselves can still lose in the whole: caches and the engine's own fusions are shared. `progress` may
/// be null; `lines` get what was timed.
Expected<std::vector<std::string>> rulesThatLose(const std::string& original,
                                                 const MakeVariant& make,
                                                 const TimeModels& time,
                                                 const ReportProgress& progress,
                                                 std::vector<Measured>& lines);

}  // namespace pet
