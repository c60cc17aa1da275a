#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/ops/resize.h"
#include "runtime/plan/planner.h"

namespace pet::plan {

/// Dimension d of the Resize `n`.
ResizeAxis resizeAxisOf(const Planner& p, int n, size_t d);

/// A Resize along one dimension: y[i] = Σ_t weights[t][i] x[positions[t][i]].
struct InterpolationTaps {
  std::vector<std::vector<int64_t>> positions;
  std::vector<std::vector<float>> weights;
};

/// Of the Resize `n` along dimension d; nothing where it leaves that as it is. Throws NotLowered: weights that are no
/// small fractions.
std::optional<InterpolationTaps> interpolationTaps(const Planner& p, int n, size_t d);

}  // namespace pet::plan
