#pragma once

#include "runtime/onednn/lowerings.h"
#include "runtime/plan/attention.h"

namespace pet::onednn {

/// Attention of so many queries and keys that its scores fit no cache, in blocks of queries. False: it is not computed
/// so.
bool isLargeAttention(const Planner& p, const Attention& attention);
bool lowerAttention(Planner& p, const Attention& attention);

}  // namespace pet::onednn
