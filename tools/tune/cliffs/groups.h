#pragma once

#include <vector>

#include "tools/tune/cliffs/subject.h"

namespace pet::tune {

struct Groups {
  std::vector<std::vector<int>> nodes;  ///< each ascending; small ones first, then in the order of the graph
  bool complete = true;                 ///< false: there were more than are listed
};

/// The groups of 2 to `size` mined nodes of a model that hand values on to each other and can be computed in one step:
/// no path leads out of a group and back. At least two of its nodes are not
/// free.
Groups groupsOf(const Subject& subject, size_t size);

}  // namespace pet::tune
