#pragma once

#include "ir/ops/op.h"

namespace pet {

/// The operator's only result is its first operand, every element in its place: Identity, a Pad of nothing, a Slice,
/// Expand, Tile, Resize or regrouping that keeps the shape, a Transpose that keeps the order, a Concat of one, a Clip
/// without bounds. `view` has the shapes of the results, too.
bool isNoOp(const OpRow& op, const OpView& view);
/// False: isNoOp() is false whatever the shapes and attributes are.
bool mayBeNoOp(std::string_view op);

}  // namespace pet
