#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "applier/apply.h"
#include "ir/progress.h"
#include "tools/apply/arguments.h"
#include "tools/apply/node_names.h"

namespace pet::tool {

/// The name of a file that stands for standard output.
inline constexpr const char* kStandardOutput = "-";

/// What rewriteModel() did.
struct Rewriting {
  ApplyReport report;
  std::map<std::string, std::string> reports;  ///< texts by file, all written but that of kStandardOutput
  std::vector<NodeName> nodes;                 ///< of the original model
};

/// The model of the arguments, with the extents that they give it.
Expected<Model> loadModel(const ApplyArguments& o);

/// All that pet-apply and the library do: reads model, rules and timings, rewrites, checks, and writes the model and
/// the reports. `o` becomes what was done: `output` the path of the model. `prepare` is called before anything is
/// written, for what takes memory. Errors as docs/command-line.md says; then nothing was written.
Expected<Rewriting> rewriteModel(ApplyArguments& o,
                                 const ReportProgress& show,
                                 const std::function<void(const Rewriting&)>& prepare = {});

}  // namespace pet::tool
