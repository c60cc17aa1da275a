#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/error.h"

// The processes that run models for us: which command starts the one of a device.
namespace pet::tool {

struct RunnerChoice {
  std::string name = "ort-cpu";  ///< a device, or its runner's short name: "ort", "onednn", "openvino"
  std::string python;            ///< the interpreter that has the engine; else one is looked for
  std::string path;              ///< the script, or the executable; else the one that comes with the tools
};

/// The program and its arguments. kUsage: there is no such device; the share folder is missing.
Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice);

/// The devices that pet can run models on.
std::set<std::string> devices();

}  // namespace pet::tool
