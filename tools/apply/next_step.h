#pragma once

#include <string>
#include <vector>

#include "applier/apply.h"
#include "tools/apply/arguments.h"

namespace pet::tool {

/// Why a model was left as it is, in one line, and the commands that are to be tried next.
struct NextStep {
  std::string why;
  std::vector<std::string> commands;
  double saves = 0;  ///< seconds of a run that they are expected to save, at most; 0: not known
};

/// For a run in which nothing fired.
NextStep nextStep(const ApplyReport& report, const ApplyArguments& o);

/// The search of the model's own patterns, and the run with what it found. Empty where it was that run, and where there
/// is nothing to search.
std::vector<std::string> searchOf(const ApplyReport& report, const ApplyArguments& o);

/// The commands that let a refused rule be tried again; empty: there are none.
std::vector<std::string> commandsFor(const Refused& refused, const ApplyArguments& o);

/// "Next: pet-bench …", a line for each command, as a shell finds it; and where one is from that is not installed.
/// Empty without commands.
std::string nextText(const std::vector<std::string>& commands);

/// Two digits: "2.1 ms".
std::string duration(double seconds);

/// "1 site", "2 sites".
std::string counted(size_t count, std::string_view noun);

}  // namespace pet::tool
