#pragma once

#include <string>

#include "tools/common/tool.h"

namespace pet::tool {

/// The arguments of `pet-synth free`.
struct FreeOptions {
  std::string vocabulary, output, report, memory, pass, checkpoint;
  int depth = 3, threads = 0;
  bool quiet = false, resume = false;
};

void declareFree(CLI::App& app, FreeOptions& options);

/// Enumerates, compares, prunes, proves; writes the pack and the report that were asked for. Errors: what cannot be
/// read or written, a limit or pass that means nothing, no memory left.
Expected<void> free(const FreeOptions& options);

}  // namespace pet::tool
