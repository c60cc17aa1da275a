#pragma once

#include <string>
#include <vector>

#include "ir/error.h"

// The processes that run models for us: which command starts the one of a name.
namespace pet::tool {

struct RunnerChoice {
  std::string name = "ort";  ///< "ort": ONNX Runtime; "onednn": the library itself
  std::string python;        ///< the interpreter that has ONNX Runtime; else one is looked for
  std::string path;          ///< the script, or the executable; else the one that comes with the tools
};

/// The program and its arguments. kUsage: there is no runner of that name; the share folder is missing.
Expected<std::vector<std::string>> runnerCommand(const RunnerChoice& choice);

}  // namespace pet::tool
