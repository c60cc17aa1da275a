#pragma once

#include <functional>

#include "ir/progress.h"
#include "synth/mine/generalise.h"
#include "synth/mine/subgraphs.h"

namespace pet::mine {

struct Mined {
  Pattern pattern;
  size_t count = 0;                 ///< subgraphs of the models that it is of
  std::vector<std::string> pinned;  ///< "C = 64": extents that kept their numbers
  std::string known;                ///< the known pattern that it is an instance of; empty: it is new
};

struct Mine {
  std::vector<Mined> patterns;      ///< most frequent first, then by operators and name
  size_t subgraphs = 0;             ///< of all programs
  size_t distinct = 0;              ///< with their numbers
  size_t wide = 0;                  ///< subgraphs with too many inputs, besides
  std::vector<std::string> failed;  ///< why a subgraph gave no pattern: "Reshape: …", sorted
  bool complete = true;             ///< false: a program has more sets of operators than are looked at
};

/// The patterns that programs without symbols consist of. A subgraph with kernels of extent 1 gives two: one in which
/// they stay 1, and one in which they are kernels like others. `progress` may be null.
Mine mine(const std::vector<Program>& programs,
          const std::vector<Pattern>& known,
          const SubgraphLimits& limits,
          const ReportShare& progress = nullptr);

}  // namespace pet::mine
