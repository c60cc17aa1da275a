#pragma once

#include "runtime/onednn/lowerings.h"
#include "runtime/plan/window.h"

namespace pet::onednn {

/// A convolution by Winograd's algorithm, if that computes it, and faster. False: not this one, or not with this
/// epilogue.
bool lowerAsWinograd(Planner& p, int n, const Window& w, const Epilogue& e);

}  // namespace pet::onednn
