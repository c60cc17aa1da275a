#pragma once

#include "synth/propose/plans/axis_parts.h"

namespace pet {

struct Assembled {
  Program program;
  std::string main;  ///< name of the main operator's output
};

/// The mutant from its parts: pad, slice or tile x; lay it out; the main operator on the derived weights; lay out back
/// and crop. Throws PlanStops where shapes do not fit.
Assembled assemble(const Specialised& pattern, Target target, Parts parts);

}  // namespace pet
