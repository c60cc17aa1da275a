#pragma once

#include "applier/view/view.h"

namespace pet {

/// The view with what rewriting left behind cleaned up, by a fixed list of steps that change no value (docs/applier.md,
/// Clean-up). Only new nodes, and layout operators next to them, are touched:
/// - a Layout, Slice, Pad, Concat or Transpose that changes nothing goes;
/// - a Layout of a Layout, also across two sites, becomes one, or none;
/// - empty operands of a Concat go, and with them what computed them;
/// - a Slice of a Concat that reads one operand only reads that operand;
/// - a Concat of Slices that are neighbours in one value is a Slice of it, or the value;
/// - an element-wise function or an addition of per-channel constants behind a closing Layout (Concat, Slice,
///   DepthToSpace) moves in front of it, to the operators that compute: so that engines fuse it there, and closing and
///   opening layouts of neighbours meet.
View simplify(const View& view);

}  // namespace pet
