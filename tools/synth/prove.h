#pragma once

#include <string>
#include <vector>

#include "tools/common/tool.h"

namespace pet::tool {

/// The arguments of `pet-synth prove`.
struct ProveOptions {
  std::vector<std::string> files;
  std::string output;
  bool json = false;
};

void declareProve(CLI::App& app, ProveOptions& options);

/// Decides every candidate of the files and prints the verdicts. Errors: what cannot be read or written; kCheck where a
/// candidate is not proved.
Expected<void> prove(const ProveOptions& options);

}  // namespace pet::tool
