#pragma once

#include "ir/ops/op.h"

namespace pet {

/// The attributes of an operator on another operand with other channels: sizes that speak of them follow.
Attributes onOperand(const OpRow& op, Attributes attributes, const Shape& operand);

/// The map takes every element to its own position.
bool isIdentity(const IndexMapSpec& map, const Shape& shape);

}  // namespace pet
