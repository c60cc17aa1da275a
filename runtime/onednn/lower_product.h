#pragma once

#include "runtime/onednn/lowerings.h"
#include "runtime/plan/window.h"

namespace pet::onednn {

/// A product with all taps at once, and a sum of its columns. False: not with this epilogue.
bool lowerAsProduct(Planner& p, int n, const Window& w, const Epilogue& e);

}  // namespace pet::onednn
