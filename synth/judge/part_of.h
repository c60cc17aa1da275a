#pragma once

#include "ir/shape.h"

namespace pet {

/// True if every shape of `part` is one of `whole`. False where it is not, where the classes have different symbols,
/// and where isl does not find out within a budget.
bool isPartOf(const ShapeClass& part, const ShapeClass& whole);

}  // namespace pet
