#pragma once

#include <string>
#include <vector>

#include "applier/apply.h"
#include "tools/apply/arguments.h"
#include "tools/apply/node_names.h"

namespace pet::tool {

/// What happened at the nodes or with the rules of a name or glob (`o.explain`): which rules fired, which did not, the
/// nearest first, and what would let them fire. `nodes`: of the model.
std::string explanation(const ApplyReport& report, const std::vector<NodeName>& nodes, const ApplyArguments& o);

}  // namespace pet::tool
