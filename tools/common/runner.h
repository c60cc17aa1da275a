#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"

// The processes that run models for us: which command starts the one of a device.
namespace pet::tool {

struct RunnerChoice {
  std::string device = "ort-cpu";
  std::string python;  ///< the interpreter that has the engine; else one is looked for
  std::string path;    ///< the script, or the executable; else the one that comes with the tools
};

/// The program and its arguments. kUsage: there is no such device; the share folder is missing. Any GPU's name will do:
/// whether it is there says the runner.
Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice);

/// The device of this name, or of a runner's short one: "ort". kUsage: there is none.
Expected<std::string> deviceNamed(const std::string& name);

/// Whether what the device computes, it computes on processors: those are named so.
bool isProcessor(std::string_view device);

/// The devices that pet can run models on; of GPUs those that it comes with properties of, in the usual precision.
std::set<std::string> devices();

}  // namespace pet::tool
