#pragma once

#include "ir/shape.h"
#include "synth/judge/proposal.h"

namespace pet {

/// True if every shape of `part` is one of `whole`. False where it is not, where the classes have different symbols,
/// and where isl does not find out within a budget.
bool isPartOf(const ShapeClass& part, const ShapeClass& whole);

/// True if `part` is proved to compute what `whole` does at every shape of its class, which is part of the other's:
/// then it is right wherever `whole` is, and wrong where that is wrong. Looked at is only what the two differ in
/// (difference.h), first whatever the divisions of symbols are (undivided.h). False where this is not found out.
bool computesAlike(const Proposal& part, const Proposal& whole);

}  // namespace pet
