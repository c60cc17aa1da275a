#pragma once

#include "tools/tune/cliffs/subject.h"

namespace pet::tune {

/// What a node computes, a multiply-add being two: by the operator table (ir/work.h) where pet knows all of it, else by
/// its ONNX operator and its extents.
double flopsOf(const Subject& subject, int node);

/// Bytes that these nodes (ascending) must read and write: values from outside, constants too, and values that are read
/// outside. Of what is sliced or gathered from, as much as comes out.
double compulsoryBytes(const Subject& subject, const std::vector<int>& nodes);

}  // namespace pet::tune
