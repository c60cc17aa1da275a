#include "ir/pieces.h"

#include "ir/ops/op.h"

namespace pet {

bool repeats(const Node& node) {
  return node.is(ops::kExpand) || node.is(ops::kTile);
}

bool isPiece(const Node& node) {
  return !node.is(ops::kInput) && (!node.op->layout || repeats(node));
}

}  // namespace pet
